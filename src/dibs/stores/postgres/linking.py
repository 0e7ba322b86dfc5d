"""Changing tasks that wait: new edges into them, another priority."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.stores.postgres.rows import tasks_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.task import Task
    from dibs.stores.postgres.engine import Engine
    from dibs.stores.values import Dependency

_LINK = "SELECT at, whole FROM dibs.link($1, $2, $3, $4)"
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
