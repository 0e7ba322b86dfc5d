"""The timer behind everything that must happen on time.

A `Keeper` runs the due duties once a second inside a worker. Any number of keepers may run on one store: a duty is
elected by compare-and-set, and each is safe to run twice. Where no keeper runs, `Queue.claim` does the same; where one
does, claims of its queue need not wait for duties.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from dibs.errors import Unavailable

if TYPE_CHECKING:
    from dibs.queue import Queue

log = logging.getLogger("dibs.keeper")

TICK_S = 1.0
LATE_S = 3.0
"""A keeper that comes so late is not relied upon: claims look after the duties until it is back."""


class Keeper:
    """Runs the duties of a queue's store on a timer until it is cancelled."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self.ran_at: float | None = None
        """When the duties were last looked after, by the monotonic clock; None: not yet."""

    async def run(self) -> None:
        """Keep time until cancelled. A store that is away, or a duty that fails, is tried again at the next tick."""
        try:
            while True:
                self._queue.kept_until = time.monotonic() + LATE_S
                await self._tick()
                await asyncio.sleep(TICK_S)
        finally:
            self._queue.kept_until = 0.0

    async def _tick(self) -> None:
        try:
            await self._queue.run_duties()
            self.ran_at = time.monotonic()
        except Unavailable:
            pass
        except Exception:
            log.exception("a duty failed; it is tried again")
