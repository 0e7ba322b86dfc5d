"""Work that was handed in: each step is one call of a function in `functions/validating.sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine

_AWAIT = "SELECT dibs.await_verdict($1, $2, $3, $4)"
_HANDED_IN = "SELECT dibs.handed_in($1)"


async def await_verdict(engine: Engine, task_id: str, fence: int, judge_id: str) -> bool:
    """Let work that was handed in wait for the end of its judge's task; whether it does."""
    waits = bool(await engine.value(_AWAIT, engine.at, task_id, fence, judge_id))
    engine.changed()
    return waits


async def handed_in(engine: Engine, limit: int) -> list[str]:
    """Tasks whose work waits for a decision, and for nobody."""
    return list(await engine.value(_HANDED_IN, limit))
