"""From a queue to Loki's files. Each task is written as it was when it was read: stop the workers for one moment's
picture."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec import json

from dibs.errors import Invalid
from dibs.loki import breakers
from dibs.loki.folder import find_folder
from dibs.loki.format import PENDING, QUEUES, file_of
from dibs.loki.mapping import KEY, QUEUE_OF, to_loki
from dibs.loki.writing import refuse_overwriting, write_folder
from dibs.model.status import FINAL, Status
from dibs.rules.large import OUTPUT, PAYLOAD, named

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.model.attempt import Attempt
    from dibs.model.task import Task
    from dibs.sync import SyncQueue

PAGE = 500
"""How many tasks are read at a time."""


def export(
    queue: SyncQueue,
    path: str,
    *,
    force: bool = False,
    progress: Callable[[int], None] = lambda _: None,
    **wanted: Any,
) -> dict[str, int]:
    """Write the queue's tasks (those that `find(**wanted)` finds) to Loki's files at `path`; how many in each file. And
    how its circuit breakers are set, if somebody set any.

    Files that are there are replaced only by `force` (else `Conflict`). A task that waits for one that is not wanted is
    `Invalid`: Loki would never run it.
    """
    if os.path.exists(path) and not os.path.isdir(path):
        raise Invalid(f"{path!r} is not a folder; name the .loki folder.", field="dir")
    folder = find_folder(path)
    settings, _ = breakers.written(queue.breakers())
    if not force:
        refuse_overwriting(folder, settings)
    tasks = _read(queue, progress, wanted)
    names = loki_ids(tasks)
    kinds = _Kinds(queue)
    files: dict[str, list[bytes]] = {name: [] for name in QUEUES}
    for task in _in_order(tasks):
        parents, ended = _dependencies(task, names, kinds, wanted)
        if _is_listed(task):
            whole = queue.get(task.id)
            task.payload, task.output = whole.payload, whole.output
        written = to_loki(task, names[task.id], dependencies=parents, after_ended=ended, history=_history(queue, task))
        files[QUEUE_OF[task.status]].append(json.encode(written))
    write_folder(folder, files, force=force, settings=settings)
    return {file_of(name): len(files[name]) for name in QUEUES}


def loki_ids(tasks: list[Task]) -> dict[str, str]:
    """What each task is called in Loki: by the id it came with, else by its own. No name is given twice."""
    names = {task.id: task.id for task in tasks}
    taken = set(names)
    for task in tasks:
        came_as = (task.key or "").removeprefix(KEY)
        if came_as and came_as != task.key and came_as not in taken:
            names[task.id] = came_as
            taken.add(came_as)
    return names


def _read(queue: SyncQueue, progress: Callable[[int], None], wanted: dict[str, Any]) -> list[Task]:
    tasks: dict[str, Task] = {}
    cursor = None
    while True:
        page = queue.find(limit=PAGE, cursor=cursor, **wanted)
        tasks |= {task.id: task for task in page.items}
        progress(len(tasks))
        cursor = page.cursor
        if cursor is None:
            return list(tasks.values())


def _is_listed(task: Task) -> bool:
    """Whether a list has named something of it that is too large to be carried."""
    return bool(task.payload == named(task.id, PAYLOAD) or task.output == named(task.id, OUTPUT))


def _in_order(tasks: list[Task]) -> list[Task]:
    """Most urgent first, then oldest: not all of Loki's tools sort before they take the first."""
    oldest_first = tasks[::-1]
    return sorted(oldest_first, key=lambda task: task.priority if QUEUE_OF[task.status] == PENDING else 0)


def _dependencies(
    task: Task, names: dict[str, str], kinds: _Kinds, wanted: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """What it waits for by Loki's ids, and what of that needs only end; once it has ended, what it waited for."""
    if task.status in FINAL:
        return [names.get(id, id) for id in task.depends_on], []
    for id in task.blocked_by:
        if id not in names:
            raise Invalid(
                f"{task.id} waits for {id}, which is not exported, and Loki would never run it; ask for both.",
                field=next(iter(wanted), "dir"),
            )
    need_only_end = kinds.need_only_end(task)
    return [names[id] for id in task.blocked_by], [names[id] for id in task.blocked_by if id in need_only_end]


def _history(queue: SyncQueue, task: Task) -> list[Attempt]:
    """The attempts of a task whose end is still open, or went wrong; the others' are of no use to anybody."""
    if not task.fence or task.status in (Status.COMPLETED, Status.CANCELLED):
        return []
    return queue.history(task.id)


class _Kinds:
    """Which edges into a task need only an end. Only its dag knows; each is read once."""

    def __init__(self, queue: SyncQueue) -> None:
        self._queue = queue
        self._seen: set[str] = set()
        self._found: dict[str, set[str]] = {}

    def need_only_end(self, task: Task) -> set[str]:
        if not task.blocked_by:
            return set()
        if task.dag_id not in self._seen:
            self._seen.add(task.dag_id)
            for edge in self._queue.get_dag(task.dag_id).edges:
                if edge.kind != "after":
                    self._found.setdefault(edge.child, set()).add(edge.parent)
        return self._found.get(task.id, set())
