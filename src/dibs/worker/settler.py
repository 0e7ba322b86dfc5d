"""Writes outcomes in batches: whatever ended while the last batch was being committed goes into the next one.

So an outcome waits for at most one commit, and nothing waits for a timer. A store that is away is tried again:
settling twice is answered once.
"""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING

from dibs.errors import DibsError, Unavailable
from dibs.model.status import Status
from dibs.worker.telling import tell_settled
from dibs.worker.work import Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.model.claim import Settled
    from dibs.queue import Queue
    from dibs.stores.values import Settlement
    from dibs.worker.work import Work

log = logging.getLogger("dibs.worker")

MAX_BATCH = 1_000
MAX_GATHER_S = 0.003
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 5.0


class Settler:
    """The one writer of a worker's outcomes. `settled` is called with each batch of work that needs no more care.

    With `tells`, each outcome is told once it is written.
    """

    def __init__(self, queue: Queue, settled: Callable[[list[Work]], None], tells: bool) -> None:
        self._queue = queue
        self._settled = settled
        self._tells = tells
        self._works: list[Work] = []
        self._settlements: list[Settlement] = []
        self._waiting: asyncio.Event = asyncio.Event()

    def add(self, work: Work, settlement: Settlement) -> None:
        """Hand over an outcome; it is on its way to the store in the next turn of the loop."""
        self._works.append(work)
        self._settlements.append(settlement)
        self._waiting.set()

    async def run(self) -> None:
        """Write what is handed over, for ever."""
        while True:
            await self._waiting.wait()
            await self._gather()
            works, self._works = self._works[:MAX_BATCH], self._works[MAX_BATCH:]
            batch, self._settlements = self._settlements[:MAX_BATCH], self._settlements[MAX_BATCH:]
            if not self._works:
                self._waiting.clear()
            answers = await self._write(batch)
            for work, settlement, answer in zip(works, batch, answers, strict=True):
                if isinstance(answer, DibsError):
                    _report(work, answer)
                elif answer.status != Status.DEAD_LETTERED and not self._tells:
                    continue
                tell_settled(work, settlement, answer)
            self._settled(works)

    async def _gather(self) -> None:
        """Let a burst of short handlers come to its end, as long as every turn of the loop brings more of it."""
        latest, count = monotonic() + MAX_GATHER_S, 0
        while count < len(self._works) < MAX_BATCH and monotonic() < latest:
            count = len(self._works)
            await asyncio.sleep(0)

    async def _write(self, batch: list[Settlement]) -> list[Settled | DibsError]:
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return await self._queue.settle(batch)
            except Unavailable as error:
                log.warning("outcomes of %d tasks wait for the store: %s", len(batch), error)
            except Exception:
                if len(batch) > 1:
                    # One of them upsets the store; the others must not suffer for it.
                    return [answer for one in batch for answer in await self._write([one])]
                log.exception("the outcome of %s could not be written", batch[0].task_id)
                return [DibsError("its outcome could not be written")]
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)


def _report(work: Work, error: DibsError) -> None:
    """One line for an outcome that no longer counts; none after a cancel, which the store has on record."""
    if work.stopped is not Stop.CANCELLED:
        log.warning("the outcome of %s was refused: %s", work.claim.task.id, error)
