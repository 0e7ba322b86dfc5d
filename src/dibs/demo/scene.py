"""What the demo shows at one moment, and how its events are put into words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from dibs.demo.fleet import Fleet
from dibs.demo.look import brief
from dibs.model.dag import Dag
from dibs.model.task import Task

if TYPE_CHECKING:
    from datetime import datetime

    from dibs.model.event import Event


class Happening(Struct):
    """One line of the story: when (seconds since the curtain rose), what, and in which colour."""

    at_s: float
    text: str
    style: str = ""


class Scene(Struct):
    """Everything the view needs, read together."""

    dag: Dag
    fleet: Fleet
    elapsed_s: float
    story: list[Happening] = field(default_factory=list)


class Row(Struct):
    """One task in the tree: the bars that lead to it, and the task."""

    bars: str
    task: Task


def rows(dag: Dag) -> list[Row]:
    """The graph as a tree, each task once: below the last of its deepest parents, a spawned one below its spawner."""
    tasks = {task.id: task for task in dag.tasks}
    parents = {
        task.id: [id for id in (*task.depends_on, task.parent_id) if id is not None and id in tasks]
        for task in dag.tasks
    }
    depth: dict[str, int] = {}

    def depth_of(id: str) -> int:
        if id not in depth:
            depth[id] = 1 + max((depth_of(parent) for parent in parents[id]), default=-1)
        return depth[id]

    below: dict[str | None, list[str]] = {}
    for id, above in parents.items():
        home = max(reversed(above), key=depth_of, default=None)
        below.setdefault(home, []).append(id)

    def branch(id: str, bars: str, inner: str) -> list[Row]:
        found = [Row(bars, tasks[id])]
        children = below.get(id, [])
        for place, child in enumerate(children):
            last = place == len(children) - 1
            found += branch(child, inner + ("└─ " if last else "├─ "), inner + ("   " if last else "│  "))
        return found

    return [row for root in below.get(None, []) for row in branch(root, "", "")]


def happening(event: Event, dag: Dag, begun: datetime) -> Happening | None:
    """The event in words, if it is worth a line."""
    titles = {task.id: task.title or task.type for task in dag.tasks}
    title = titles.get(event.task_id or "", "")
    told = _told(event, title, dag, titles)
    if told is None:
        return None
    return Happening((event.at - begun).total_seconds(), *told)


def _told(event: Event, title: str, dag: Dag, titles: dict[str, str]) -> tuple[str, str] | None:
    match event.type:
        case "task.added":
            spawner = next((task.parent_id for task in dag.tasks if task.id == event.task_id), None)
            return (f"a child was spawned: “{title}”", "magenta") if spawner in titles else None
        case "task.started":
            return f"{event.agent} took “{title}”", "yellow"
        case "task.completed":
            return f"{event.agent} finished “{title}”", "green"
        case "task.retrying":
            return f"“{title}” failed: {brief(str(event.data.get('error')), 48)}; it will be retried", "dark_orange3"
        case "task.expired":
            return f"{event.agent}'s lease on “{title}” ended; others may take it", "red"
        case "task.released" if event.reason == "suspended":
            return f"“{title}” waits for it; {event.agent} is free", "magenta"
        case "task.dead_lettered" | "task.cancelled":
            return f"“{title}” ended {event.type.removeprefix('task.')} ({event.reason})", "red"
        case _:
            return None
