"""One look, twice a second, at everything that runs: timeouts, leases, cancels, log lines, and work that does not end.

So no task needs a timer of its own. A timeout that comes sooner brings the next look forward.
"""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING

from dibs.errors import LeaseLost, Unavailable
from dibs.model.status import Status
from dibs.worker.executors.groups import GRACE_S
from dibs.worker.line import write_lines
from dibs.worker.patience import patiently
from dibs.worker.work import NEVER, Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.queue import Queue
    from dibs.worker.work import Work

log = logging.getLogger("dibs.worker")

SWEEP_S = 0.5
STUCK_S = GRACE_S * 2 + 1.0
"""How long stopped work may take to end before its attempt is settled without it."""
MAX_ASKED = 100
"""How many running tasks are asked about in one look."""
FAR_LOOK_S = 2.0
"""How often a server is asked whether one of them was cancelled."""
MAX_WAIT_FOR_LINES_S = 10.0
"""How long an outcome waits for the last log lines of its attempt while the store is away."""


class Sweep:
    """Looks after the works in `running`. `give_up` settles one that was stopped and does not end."""

    def __init__(self, queue: Queue, running: set[Work], give_up: Callable[[Work], None]) -> None:
        self._queue = queue
        self._running = running
        self._give_up = give_up
        self._next_at = NEVER
        self._sooner = asyncio.Event()
        self._seen: int | None = None
        self._look_at = 0.0

    def expect(self, ends_at: float) -> None:
        """A timeout ends then."""
        if ends_at < self._next_at:
            self._next_at = ends_at
            self._sooner.set()

    def hurry(self) -> None:
        """Look now."""
        self._sooner.set()

    async def run(self) -> None:
        """Look again and again, for ever."""
        while True:
            now = monotonic()
            self._next_at = now + SWEEP_S
            for work in [work for work in self._running if not work.over]:
                self._judge(work, now)
            await self._care()
            self._sooner.clear()
            delay_s = self._next_at - monotonic()
            if delay_s > 0:
                try:
                    # Not wait_for: before Python 3.12 it may swallow a cancel that comes with the event.
                    async with asyncio.timeout(delay_s):
                        await self._sooner.wait()
                except TimeoutError:
                    pass

    def _judge(self, work: Work, now: float) -> None:
        if work.stopped is None:
            if now >= work.ends_at:
                work.stop(Stop.TIMEOUT)
            elif now >= work.lease_until:
                log.warning("stopping %s: its lease has ended", work.claim.task.id)
                work.stop(Stop.LOST)
            else:
                self._next_at = min(self._next_at, work.ends_at)
        elif now >= work.stopped_at + STUCK_S:
            log.warning("%s does not stop (%s); going on without it", work.claim.task.id, work.stopped.value)
            self._give_up(work)

    async def _care(self) -> None:
        """Write log lines, and find out which running tasks were cancelled: renewals would tell, but later."""
        now = monotonic()
        running = [work for work in self._running if not work.over and work.stopped is None]
        for work in running:
            if work.lines:
                await keep_lines(self._queue, work)
        long = [work for work in running if work.began is not None and now - work.began >= SWEEP_S]
        if not long or now < self._look_at:
            return
        if self._queue.far:
            self._look_at = now + FAR_LOOK_S
        try:
            news = await self._queue.store.news()
            if news == self._seen:
                return
            asked = long[:MAX_ASKED]
            tasks = await self._queue.store.get([work.claim.task.id for work in asked], listed=True)
        except Unavailable:
            return
        if len(asked) == len(long):
            self._seen = news
        for work, task in zip(asked, tasks, strict=True):
            if task is not None and task.status is Status.CANCELLED and task.fence == work.claim.fence:
                work.stop(Stop.CANCELLED)


async def keep_lines(queue: Queue, work: Work) -> None:
    """Write a task's log lines; that they could not be written is no reason to fail it."""
    try:
        await write_lines(queue, work)
    except LeaseLost:
        pass
    except Unavailable:  # they are kept; the next look tries again
        pass
    except Exception as error:
        log.warning("log lines of %s were not written: %s", work.claim.task.id, error)


async def keep_last_lines(queue: Queue, work: Work) -> None:
    """Write the lines of work that has ended, waiting for the store for a while.

    Not for long, and at most half of what is left of the lease: the outcome needs the rest.
    """
    now = monotonic()
    latest = now + min((work.lease_until - now) / 2, MAX_WAIT_FOR_LINES_S)
    try:
        await patiently(lambda: write_lines(queue, work), lambda: monotonic() < latest)
    except LeaseLost:
        pass
    except Exception as error:
        log.warning("log lines of %s were not written: %s", work.claim.task.id, error)
