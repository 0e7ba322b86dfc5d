"""What time does to tasks: duties and whose turn they are, due work, expired leases, ranks, deadlines."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dibs.model.instants import seconds
from dibs.stores import refusals
from dibs.stores.postgres import windows
from dibs.stores.postgres.cascade import spread_after
from dibs.stores.postgres.rows import expired_from

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.stores.postgres.engine import Engine
    from dibs.stores.values import Expired

_ELECT = "SELECT won, due_at FROM dibs.elect($1, $2, $3)"
_POSTPONE = "SELECT dibs.postpone($1, $2, $3)"
_PROMOTE = """
SELECT dibs.promote($1, $2, $3),
    EXISTS (SELECT 1 FROM dibs.budgets b WHERE b.ends_at <= coalesce($1::bigint, dibs.micros()))
"""
_EXPIRED = "SELECT at, written, over FROM dibs.expired($1, $2, $3)"
_RERANK = "SELECT dibs.rerank($1, $2)"
_OVERDUE = "SELECT ids, marked FROM dibs.overdue($1, $2, $3)"
_WRITTEN_AT_ONCE = 1_000
_ON_ITS_WAY_S = 5.0
_WHOLE_EVERY_S = 60.0


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


class Swept:
    """Up to when nothing is due any more, so that nobody reads the index entries of what was due long ago: they stay,
    dead, by the million, while somebody holds an old snapshot.

    Whatever becomes due later is written with a time to come. It may be on its way to its commit for a moment, and
    clocks may be put back: hence a margin, and from time to time a look at everything.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._since = 0
        self._whole_at = 0.0

    def since(self) -> int:
        """Nothing is due from before this."""
        now = time.monotonic()
        if now >= self._whole_at or self._since > self._engine.now():
            self._whole_at = now + _WHOLE_EVERY_S
            self._since = 0
        return self._since

    def nothing_before(self, instant: int) -> None:
        """Somebody looked at this time, and nothing was due."""
        self._since = instant - seconds(_ON_ITS_WAY_S)


async def promote(engine: Engine, swept: Swept, limit: int) -> int:
    """Make due scheduled and retrying tasks ready, oldest due first, and note what time opened."""
    now = engine.now()
    [(promoted, over)] = await engine.fetch(_PROMOTE, engine.at, limit, swept.since())
    begun = await windows.roll(engine) if over else 0
    if promoted is None:
        swept.nothing_before(now)
        return begun
    if promoted:
        engine.changed()
    return int(promoted) + begun


async def expired(engine: Engine, swept: Swept, limit: int) -> list[Expired]:
    """Held tasks whose time is over. Cancelled ones whose lease is over get their attempt written."""
    while True:
        [(at, written, over)] = await engine.fetch(_EXPIRED, engine.at, limit, swept.since())
        if written:
            engine.changed()
        if written < _WRITTEN_AT_ONCE:
            break
    if over is not None:
        return expired_from(over, at)
    swept.nothing_before(at)
    return []


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
