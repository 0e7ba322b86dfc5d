"""Changing tasks: new edges into them, another priority, another assignee, other tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules.validation import MAX_NAMES
from dibs.stores.postgres.rows import tasks_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.task import Task
    from dibs.stores.postgres.engine import Engine
    from dibs.stores.values import Dependency

_LINK = "SELECT at, whole FROM dibs.link($1, $2, $3, $4)"
_REASSIGN = "SELECT at, whole FROM dibs.reassign_to($1, $2, $3)"
_RETAG = "SELECT at, whole FROM dibs.retag($1, $2, $3, $4, $5)"
_REPRIORITISE = "SELECT at, whole FROM dibs.reprioritise($1, $2, $3)"


async def link(engine: Engine, task_id: str, dependencies: Sequence[Dependency]) -> Task:
    """Add edges into a task that has not started; with an open one it becomes pending."""
    parents = [dependency.parent for dependency in dependencies]
    kinds = [dependency.kind for dependency in dependencies]
    [[at, whole]] = await engine.fetch(_LINK, engine.at, task_id, parents, kinds)
    engine.changed()
    [task] = tasks_from(whole, at)
    return task


async def reprioritise(engine: Engine, task_id: str, priority: float) -> Task:
    """Change the priority of a task that is not final; its rank follows."""
    [[at, whole]] = await engine.fetch(_REPRIORITISE, engine.at, task_id, float(priority))
    engine.changed()
    [task] = tasks_from(whole, at)
    return task


async def reassign(engine: Engine, task_id: str, assignee: str | None) -> Task:
    """Move a task that nobody holds to the lane of an agent, of agents of a type, or of anybody (None)."""
    [[at, whole]] = await engine.fetch(_REASSIGN, engine.at, task_id, assignee)
    engine.changed()
    [task] = tasks_from(whole, at)
    return task


async def retag(engine: Engine, task_id: str, add: Sequence[str], remove: Sequence[str]) -> Task:
    """Change the tags of a task, whatever its status."""
    [[at, whole]] = await engine.fetch(_RETAG, engine.at, task_id, list(add), list(remove), MAX_NAMES)
    engine.changed()
    [task] = tasks_from(whole, at)
    return task
