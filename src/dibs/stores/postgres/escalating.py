"""Ladders as people set and see them. What failures take of them is in `functions/escalating.sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine

_SET = "SELECT dibs.set_ladder($1, $2, $3)"
_ALL = "SELECT scope, rungs FROM dibs.ladders WHERE project = $1"


async def set_ladder(engine: Engine, project: str, scope: str, ladder: str | None) -> bool:
    """Keep a ladder, or forget it; whether there was one."""
    [[known]] = await engine.once(_SET, project, scope, ladder)
    engine.changed()
    return bool(known)


async def ladders(engine: Engine, project: str) -> dict[str, str]:
    """Every ladder, by its scope."""
    return {row["scope"]: row["rungs"] for row in await engine.fetch(_ALL, project)}
