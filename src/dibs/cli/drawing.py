"""A dag as a tree: each task once, below the parent that keeps it waiting longest; the others are named beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli import wording
from dibs.cli.output import clean

if TYPE_CHECKING:
    from datetime import datetime

    from dibs.model.dag import Dag
    from dibs.model.task import Task

Part = tuple[str, str]
"""Text and its style."""

MAX_INDENT = 16
"""Deeper tasks are drawn at this depth: a chain of a thousand must not run off the screen."""
LONGEST = 40
"""How much of an error is worth a line of a tree."""
GOOD_NAME = 28
"""With so many columns a name is told from others; below that, remarks give way to it."""
LEAST_NAME, LEAST_SAID, LEAST_ALSO = 12, 10, 24
"""Shorter than this a part says nothing any more."""
HELD = ("claimed", "running")


def heading(dag: Dag, width: int | None = None) -> list[Part]:
    """The line above the tree: sign, title, status, how many of its tasks have completed."""
    style = wording.STYLES.get(dag.status, "")
    total = sum(dag.counts.values()) or len(dag.tasks)
    title = clean(dag.title) if dag.title else dag.id
    state, count = f"  {dag.status}", f"  {dag.counts.get('completed', 0)}/{total}"
    id = f"  {dag.id}" if dag.title else ""
    if width is not None:
        title, _, _, id = _fitted(width - 2 - len(state + count), title, "", "", id)
    parts = [(f"{wording.SIGNS.get(dag.status, '')} ", style), (title, "bold"), (state, style)]
    parts.append((count + id, "bright_black"))
    return parts


def tree(dag: Dag, now: datetime, width: int | None = None) -> list[list[Part]]:
    """One line per task, parents before children. With a `width` each is cut to fit; without, nothing is cut."""
    tasks = {task.id: task for task in dag.tasks}
    parents = _parents(dag, tasks)
    level = _levels(dag, parents)
    home: dict[str, str | None] = {id: max(parents[id], key=lambda parent: level[parent], default=None) for id in tasks}
    below: dict[str | None, list[str]] = {}
    for task in dag.tasks:
        below.setdefault(home[task.id], []).append(task.id)
    lines: list[list[Part]] = []
    # (task, the bars left of it, whether it is its parent's last); a stack, for dags may be deeper than Python's.
    stack = [(id, "", place == 0, True) for place, id in enumerate(reversed(below.get(None, [])))]
    while stack:
        id, bars, last, root = stack.pop()
        branch = "" if root else ("└─ " if last else "├─ ")
        others = [tasks[parent] for parent in parents[id] if parent != home[id]]
        room = None if width is None else width - len(bars + branch)
        lines.append([(bars + branch, "bright_black"), *_task(tasks[id], others, now, room)])
        inner = bars if root else bars + ("   " if last else "│  ")
        if len(inner) > 3 * MAX_INDENT:
            inner = bars
        stack.extend((child, inner, place == 0, False) for place, child in enumerate(reversed(below.get(id, []))))
    return lines


def _parents(dag: Dag, tasks: dict[str, Task]) -> dict[str, list[str]]:
    """What each task waits for, or was spawned by, inside this dag."""
    parents: dict[str, list[str]] = {id: [] for id in tasks}
    for edge in dag.edges:
        # A spawner waits for its children; in the tree they stand below it all the same.
        if edge.kind != "child" and edge.parent in tasks and edge.child in tasks:
            parents[edge.child].append(edge.parent)
    for task in dag.tasks:
        if task.parent_id in tasks and not parents[task.id]:
            parents[task.id].append(task.parent_id)
    return parents


def _levels(dag: Dag, parents: dict[str, list[str]]) -> dict[str, int]:
    """How many tasks come before each one, on the longest way."""
    level: dict[str, int] = {}
    open_: dict[str, int] = {id: len(above) for id, above in parents.items()}
    below: dict[str, list[str]] = {}
    for id, above in parents.items():
        for parent in above:
            below.setdefault(parent, []).append(id)
    queue = [id for id, count in open_.items() if count == 0]
    for id in queue:
        level[id] = max((level[parent] + 1 for parent in parents[id]), default=0)
        for child in below.get(id, ()):
            open_[child] -= 1
            if open_[child] == 0:
                queue.append(child)
    return level


def _task(task: Task, others: list[Task], now: datetime, room: int | None) -> list[Part]:
    style = wording.STYLES.get(task.status, "")
    name, state, said = _name(task), f"  {task.status}", _said(task, now, None if room is None else LONGEST)
    also, id = _also(others, short=room is not None), f"  {task.id}"
    said = f"  {said}" if said else ""
    if room is not None:
        share = task.status in HELD or task.status == "retrying"
        name, said, also, id = _fitted(room - 2 - len(state), name, said, also, id, share=share)
    parts = [(f"{wording.SIGNS.get(task.status, ' ')} ", style), (name, ""), (state, style)]
    parts.append((said + also + id, "bright_black"))
    return parts


def _also(others: list[Task], *, short: bool) -> str:
    """The parents that a task does not stand below."""
    if not others:
        return ""
    if not short:
        return f"  (also after {', '.join(map(_name, others))})"
    names = [wording.brief(other.title or other.ref or other.type, 24) for other in others[:2]]
    more = f" and {len(others) - 2} more" if len(others) > 2 else ""
    return f"  (also after {', '.join(names)}{more})"


def _fitted(room: int, name: str, said: str, also: str, id: str, *, share: bool = False) -> tuple[str, str, str, str]:
    """The parts of a line, cut to this many columns: other parents give way first, then remarks, the name, the id.

    With `share` (something is happening to the task) a long name leaves two fifths to the remarks.
    """
    from rich.cells import cell_len

    if room - len(id) < LEAST_NAME:
        id = ""
    room -= len(id)
    fair = max(room * 3 // 5, LEAST_NAME) if share else GOOD_NAME
    name = _cut(name, min(max(room - cell_len(said), fair), max(room, 1)))
    said = _cut(said, room - cell_len(name), LEAST_SAID)
    also = _cut(also, room - cell_len(name + said), LEAST_ALSO)
    return name, said, also, id


def _cut(text: str, room: int, least: int = 1) -> str:
    """The beginning of a text, in so many columns; nothing at all where they are fewer than `least`."""
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= room:
        return text
    return set_cell_size(text, room - 1).rstrip() + "…" if room >= least else ""


def _name(task: Task) -> str:
    """Its type, and what a person calls it."""
    called = clean(task.title or task.ref or "")
    kind = clean(task.type)
    return f"{kind} · {called}" if called and called != kind else kind


def _said(task: Task, now: datetime, longest: int | None) -> str:
    """What is worth knowing about a task in its status."""
    parts = []
    if task.status in HELD:
        parts = [wording.percent(task.progress), task.agent or "", wording.elapsed(task, now), task.note or ""]
    elif task.status == "completed":
        parts = [wording.elapsed(task, now)]
    elif task.status == "retrying":
        tries = f"{task.attempts}/{task.max_attempts}"
        parts = [tries, wording.due(task.retry_at, now), wording.first_line(task.error, longest)]
    elif task.status == "scheduled":
        parts = [wording.due(task.run_after, now)]
    elif task.status in ("dead_lettered", "cancelled"):
        parts = [task.reason or "", wording.first_line(task.cancel_reason or task.error, longest)]
    return clean(" · ".join(part for part in parts if part)).strip()
