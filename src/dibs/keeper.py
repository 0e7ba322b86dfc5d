"""The timer behind everything that must happen on time.

A `Keeper` runs the due duties once a second inside a worker. Any number of keepers may run on one store: a duty is
elected by compare-and-set, and each is safe to run twice. Where no keeper runs, `Queue.claim` does the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import Unavailable
from dibs.rules import schedule

if TYPE_CHECKING:
    from dibs.queue import Queue

TICK_S = 1.0


class Keeper:
    """Runs the duties of a queue's store on a timer until it is stopped."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    async def run(self) -> None:
        """Keep time until cancelled. A store that is away is tried again at the next tick."""
        import asyncio
        import time

        last = time.time()
        while True:
            try:
                now = time.time()
                if now - last > (schedule.MISSED_INTERVALS + 1) * TICK_S:
                    # This machine slept, or the store was away: let workers renew before anything expires.
                    await self._queue.store.postpone("expire", schedule.GRACE_S)
                await self._queue.run_duties()
                last = now
            except Unavailable:
                pass
            await asyncio.sleep(TICK_S)
