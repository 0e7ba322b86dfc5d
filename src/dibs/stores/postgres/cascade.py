"""What follows when tasks end badly, in bounded steps: each is one call of `spread` in the database.

A step commits what it did; what is left stays marked there, so that anybody can go on with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.stores.postgres.engine import Engine

STEP = 500
"""Tasks that one transaction ends at most."""

_CANCEL = "SELECT ended, cause, more FROM dibs.cancel($1, $2, $3)"
_SPREAD = "SELECT ended, more FROM dibs.spread($1, $2, $3)"


async def cancel(engine: Engine, target: str, reason: str | None) -> list[str]:
    """Cancel a task or dag by request, and about as much of what follows as one step may."""
    [(found, cause, more)] = await engine.fetch(_CANCEL, engine.at, target, reason)
    ended: list[str] = list(found)
    while more and len(ended) < STEP:
        step, more = await _step(engine, STEP - len(ended), [target, cause])
        ended += step
    engine.changed()
    return ended


async def spread(engine: Engine, limit: int, cause: str | None) -> list[str]:
    """Go on with what is marked or closing, until something was ended or nothing is left."""
    ended: list[str] = []
    more = True
    while more and not ended:
        ended, more = await _step(engine, limit, None if cause is None else [cause])
    if ended:
        engine.changed()
    return ended


async def spread_after(engine: Engine, ids: Sequence[str]) -> None:
    """Apply all that follows from the bad ends of these tasks."""
    more = True
    while more:
        _, more = await _step(engine, STEP, list(ids))
    engine.changed()


async def _step(engine: Engine, limit: int, causes: list[str] | None) -> tuple[list[str], bool]:
    [(ended, more)] = await engine.fetch(_SPREAD, engine.at, limit, causes)
    return list(ended), more
