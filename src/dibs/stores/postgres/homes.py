"""Which project something is in, by its id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.ids import alone_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.stores.postgres.engine import Engine

_TASKS = "SELECT s.id, s.project, s.dag FROM dibs.specs s WHERE s.id = ANY ($1)"
_OTHERS = """
SELECT d.id, d.project FROM dibs.dags d WHERE d.id = ANY ($1)
UNION ALL SELECT q.id, q.project FROM dibs.questions q WHERE q.id = ANY ($1)
"""


async def projects(engine: Engine, ids: Sequence[str]) -> list[str | None]:
    """The project of each; None: nobody knows it. Most are tasks, so those come first."""
    found = {id: project for id, project, _ in await engine.fetch(_TASKS, list(ids))}
    rest = [id for id in ids if id not in found]
    if rest:
        found |= {id: project for id, project in await engine.fetch(_OTHERS, rest)}  # noqa: C416 - records
        # A task whose dag has no row is alone in it.
        alone = {task_id: id for id in rest if id not in found and id.startswith("dag_") for task_id in alone_in(id)}
        for task_id, project, dag in await engine.fetch(_TASKS, list(alone)) if alone else ():
            if dag is None or dag == alone[task_id]:
                found[alone[task_id]] = project
    return [found.get(id) for id in ids]
