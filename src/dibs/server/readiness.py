"""Whether this server does its work: the store answers, is nobody else's just now, and its duties are looked after.

Alive and ready are two things. `/healthz` says that the process answers; `/readyz` that work is handed out and things
happen on time. Whoever has no token may ask, so what is told is one of a few sentences, and never names the store.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from dibs.errors import DibsError
from dibs.stores.standing import OPEN

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.keeper import Keeper
    from dibs.queue import Queue

LATE_S = 10.0
"""After how long without its duties a server is not ready: they run every second."""
PATIENCE_S = 2.0
"""How long the store has to answer."""
KEPT_S = 1.0
"""For how long an answer holds: however often it is asked, the store is not."""


class Trouble(Struct, frozen=True):
    """One reason why nothing is handed out, or not on time."""

    code: str
    detail: str


LEAVING = Trouble("draining", "This server is leaving: it takes nothing new.")
AWAY = Trouble("store_away", "The store does not answer.")
MOVING = Trouble("migrating", "A migration of the store is under way.")
NOT_YET = Trouble("starting", "The duties have not run yet.")
LATE = Trouble("keeper_late", f"The duties have not run for more than {LATE_S:.0f} seconds.")


class Readiness:
    """What keeps this server from its work, looked up at most once a second."""

    def __init__(self, queue: Queue, keeper: Keeper, is_leaving: Callable[[], bool]) -> None:
        self._queue = queue
        self._keeper = keeper
        self._is_leaving = is_leaving
        self._looking: asyncio.Future[Trouble | None] | None = None
        self._looked_at = float("-inf")
        self._store_trouble: Trouble | None = None

    async def troubles(self) -> list[Trouble]:
        """Everything that is wrong; nothing, if it is ready."""
        found = [await self._of_store(), self._of_keeper(), LEAVING if self._is_leaving() else None]
        return [trouble for trouble in found if trouble is not None]

    def _of_keeper(self) -> Trouble | None:
        if self._keeper.ran_at is None:
            return NOT_YET
        return LATE if time.monotonic() - self._keeper.ran_at > LATE_S else None

    async def _of_store(self) -> Trouble | None:
        if time.monotonic() - self._looked_at < KEPT_S:
            return self._store_trouble
        if self._looking is None:
            self._looking = asyncio.ensure_future(self._look())
        # Whoever stops asking must not stop it for the others who wait for the same answer.
        return await asyncio.shield(self._looking)

    async def _look(self) -> Trouble | None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                standing = await self._queue.store.standing()
            trouble = None if standing.state == OPEN else MOVING
        except (DibsError, TimeoutError, OSError):
            trouble = AWAY
        finally:
            self._looking = None
        self._store_trouble, self._looked_at = trouble, time.monotonic()
        return trouble
