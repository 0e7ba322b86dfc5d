"""What time does to tasks: duties and whose turn they are, due work, expired leases, ranks, deadlines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.stores import refusals
from dibs.stores.postgres.cascade import spread_after
from dibs.stores.postgres.rows import expired_from

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.stores.postgres.engine import Engine
    from dibs.stores.values import Expired

_ELECT = "SELECT won, due_at FROM dibs.elect($1, $2, $3)"
_POSTPONE = "SELECT dibs.postpone($1, $2, $3)"
_PROMOTE = "SELECT dibs.promote($1, $2)"
_EXPIRED = "SELECT at, written, over FROM dibs.expired($1, $2)"
_RERANK = "SELECT dibs.rerank($1, $2)"
_OVERDUE = "SELECT ids, marked FROM dibs.overdue($1, $2, $3)"
_WRITTEN_AT_ONCE = 1_000


class Duties:
    """Whose turn it is. Every claim asks; the database is asked only when something may be due."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._asked_at = self._due_at = 0

    async def elect(self, intervals_s: Mapping[str, float]) -> list[str]:
        """The duties that are due and now the caller's."""
        now = self._engine.now()
        if self._asked_at <= now < self._due_at:
            return []
        # Whose answer was lost has lost its turn as well; the duty comes round again.
        [(won, due_at)] = await self._engine.fetch(
            _ELECT, self._engine.at, list(intervals_s), list(intervals_s.values())
        )
        self._asked_at, self._due_at = now, due_at
        return list(won)


async def postpone(engine: Engine, duty: str, delay_s: float) -> None:
    """Nobody shall run it before then."""
    await engine.fetch(_POSTPONE, engine.at, duty, delay_s)


async def promote(engine: Engine, limit: int) -> int:
    """Make due scheduled and retrying tasks ready, oldest due first."""
    promoted = int(await engine.value(_PROMOTE, engine.at, limit))
    if promoted:
        engine.changed()
    return promoted


async def expired(engine: Engine, limit: int) -> list[Expired]:
    """Held tasks whose time is over. Cancelled ones whose lease is over get their attempt written."""
    while True:
        [(at, written, over)] = await engine.fetch(_EXPIRED, engine.at, limit)
        if written:
            engine.changed()
        if written < _WRITTEN_AT_ONCE:
            return [] if over is None else expired_from(over, at)


async def rerank(engine: Engine, limit: int) -> int:
    """Refresh ranks that a deadline or the growth of a dag changed. How many tasks changed."""
    changed = int(await engine.value(_RERANK, engine.at, limit))
    if changed:
        engine.changed()
    return changed


async def overdue(engine: Engine, limit: int) -> list[str]:
    """Mark tasks whose deadline passed, once each; cancel those that asked for it."""
    late: list[str] = []
    while len(late) < limit:
        [(ids, marked)] = await engine.fetch(_OVERDUE, engine.at, limit - len(late), refusals.DEADLINE_PASSED)
        late += ids
        if ids:
            engine.changed()
        if marked is None:
            break
        await spread_after(engine, [marked])
    return late
