"""What of Loki's files is brought into dibs, in which order, and what is left out. Pure.

- Pending and in-progress tasks are added; what was in progress has no claim in dibs, and is ready again.
- Completed ones are over: a dependency on one is satisfied, and there is nothing to add.
- Dead letters wait for a person's decision, so they are left out unless asked for; then they start afresh. A task that
  waits for one, or for a cancelled one, could never run, and is left out with it.
- A task in two files was being moved when Loki's process died. The file further along counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from dibs.errors import CycleDetected, Invalid
from dibs.loki.format import CANCELLED, COMPLETED, DEAD_LETTER, IN_PROGRESS, PENDING, LokiTask
from dibs.loki.mapping import after_ended
from dibs.rules import graph

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_FURTHEST_FIRST = (COMPLETED, CANCELLED, DEAD_LETTER, IN_PROGRESS, PENDING)


class Wanted(Struct):
    """One task to add, and the tasks of the same plan that it waits for, by Loki's ids."""

    task: LokiTask
    after: list[str] = field(default_factory=list)
    after_ended: list[str] = field(default_factory=list)
    afresh: bool = False


class Plan(Struct, kw_only=True):
    """What an import will do. `adding` has parents before children; `stuck` wait for what is left out."""

    adding: list[Wanted] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    stuck: list[str] = field(default_factory=list)
    in_two_files: list[str] = field(default_factory=list)


def plan(files: Mapping[str, Iterable[LokiTask]], *, dead_letters: bool = False) -> Plan:
    """Decide about every task of the five files. Raises `Invalid` for a dependency that is in none of them, and
    `CycleDetected`; both name the task."""
    homes: dict[str, LokiTask] = {}
    for queue in _FURTHEST_FIRST:
        for task in files.get(queue, ()):
            homes.setdefault(task.id, task)
    twice = [task.id for tasks in files.values() for task in tasks if homes[task.id] is not task]
    live = (IN_PROGRESS, PENDING, DEAD_LETTER) if dead_letters else (IN_PROGRESS, PENDING)
    coming = [task for queue in live for task in files.get(queue, ()) if homes[task.id] is task]
    _refuse_unknown(coming, homes)
    stuck = _stuck(coming, homes, live)
    ordered = _ordered([task for task in coming if task.id not in stuck])
    counted: dict[str, int] = {}
    for task in homes.values():
        if task.queue not in live:
            counted[task.queue] = counted.get(task.queue, 0) + 1
    return Plan(
        adding=[_wanted(task, homes, live) for task in ordered],
        left_out={queue: counted.get(queue, 0) for queue in (COMPLETED, DEAD_LETTER, CANCELLED)},
        stuck=[task.id for task in coming if task.id in stuck],
        in_two_files=list(dict.fromkeys(twice)),
    )


def _open(task: LokiTask) -> tuple[str, ...]:
    """What it may still wait for. A task that was claimed once waits for nothing: Loki claims none before."""
    return task.dependencies if task.queue == PENDING else ()


def _refuse_unknown(coming: Iterable[LokiTask], homes: Mapping[str, LokiTask]) -> None:
    for task in coming:
        for id in _open(task):
            if id not in homes:
                raise Invalid(
                    f"{task.who} depends on {id!r}, which is in none of the five files; remove that from its "
                    "dependencies, or put the task where it belongs.",
                    field="dependencies",
                )


def _stuck(coming: Iterable[LokiTask], homes: Mapping[str, LokiTask], live: tuple[str, ...]) -> set[str]:
    """The tasks that wait for the completion of one that is left out, and those that wait for them in turn."""
    dependents: dict[str, list[str]] = {}
    reached: list[str] = []
    for task in coming:
        need_only_end = after_ended(task)
        for id in _open(task):
            dependents.setdefault(id, []).append(task.id)
            if homes[id].queue not in (*live, COMPLETED) and id not in need_only_end:
                reached.append(task.id)
    stuck: set[str] = set()
    while reached:
        id = reached.pop()
        if id not in stuck:
            stuck.add(id)
            reached += dependents.get(id, ())
    return stuck


def _ordered(tasks: list[LokiTask]) -> list[LokiTask]:
    """Parents before children; in the order of the files where nothing else decides."""
    by_id = {task.id: task for task in tasks}
    edges = [(id, task.id) for task in tasks for id in _open(task)]
    try:
        return [by_id[id] for id in graph.order(by_id, edges)]
    except CycleDetected as error:
        raise CycleDetected(error.message, field="dependencies") from None


def _wanted(task: LokiTask, homes: Mapping[str, LokiTask], live: tuple[str, ...]) -> Wanted:
    wanted = Wanted(task, afresh=task.queue == DEAD_LETTER)
    need_only_end = after_ended(task)
    for id in _open(task):
        if homes[id].queue in live:
            (wanted.after_ended if id in need_only_end else wanted.after).append(id)
    return wanted
