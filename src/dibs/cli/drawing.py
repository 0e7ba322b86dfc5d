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


def heading(dag: Dag) -> list[Part]:
    """The line above the tree: sign, title, status, how many of its tasks have completed."""
    style = wording.STYLES.get(dag.status, "")
    total = sum(dag.counts.values()) or len(dag.tasks)
    title = clean(dag.title) if dag.title else dag.id
    parts = [(f"{wording.SIGNS.get(dag.status, '')} ", style), (title, "bold"), (f"  {dag.status}", style)]
    parts.append((f"  {dag.counts.get('completed', 0)}/{total}", "bright_black"))
    if dag.title:
        parts.append((f"  {dag.id}", "bright_black"))
    return parts


def tree(dag: Dag, now: datetime, longest: int | None = 40) -> list[list[Part]]:
    """One line per task, parents before children; errors in at most `longest` characters (None: whole)."""
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
        others = [_name(tasks[parent]) for parent in parents[id] if parent != home[id]]
        lines.append([(bars + branch, "bright_black"), *_task(tasks[id], others, now, longest)])
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


def _task(task: Task, others: list[str], now: datetime, longest: int | None) -> list[Part]:
    style = wording.STYLES.get(task.status, "")
    parts = [(f"{wording.SIGNS.get(task.status, ' ')} ", style), (_name(task), ""), (f"  {task.status}", style)]
    said = _said(task, now, longest)
    if said:
        parts.append((f"  {said}", "bright_black"))
    if others:
        parts.append((f"  (also after {', '.join(others)})", "bright_black"))
    parts.append((f"  {task.id}", "bright_black"))
    return parts


def _name(task: Task) -> str:
    """Its type, and what a person calls it."""
    called = clean(task.title or task.ref or "")
    kind = clean(task.type)
    return f"{kind} · {called}" if called and called != kind else kind


def _said(task: Task, now: datetime, longest: int | None) -> str:
    """What is worth knowing about a task in its status."""
    parts = []
    if task.status in ("claimed", "running", "validating"):
        parts = [task.agent or "", wording.elapsed(task, now), wording.percent(task.progress), task.note or ""]
    elif task.status == "completed":
        parts = [wording.elapsed(task, now)]
    elif task.status == "retrying":
        tries = f"{task.attempts}/{task.max_attempts}"
        parts = [tries, wording.relative(task.retry_at, now), wording.first_line(task.error, longest)]
    elif task.status == "scheduled":
        parts = [wording.relative(task.run_after, now)]
    elif task.status in ("dead_lettered", "cancelled"):
        parts = [task.reason or "", wording.first_line(task.cancel_reason or task.error, longest)]
    return clean(" · ".join(part for part in parts if part))
