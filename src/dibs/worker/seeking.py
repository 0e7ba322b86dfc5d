"""How a worker comes to its claims: it asks as long as it has room, at once again while that brings something; else it
waits for news."""

from __future__ import annotations

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from dibs.errors import Unavailable
from dibs.stores.chances import Chance, wait_for_chance

if TYPE_CHECKING:
    from collections.abc import Callable, Set

    from dibs.model.claim import Claim
    from dibs.queue import Queue
    from dibs.worker.bell import Bell
    from dibs.worker.offers import Offers
    from dibs.worker.presence import Presence
    from dibs.worker.work import Work

log = logging.getLogger("dibs.worker")

POLL_S = 5.0
FAR_POLL_S = 25.0
"""How long a server keeps a worker waiting that has nothing to do."""
SHORTEST_POLL_S = 0.05
DRAIN_POLL_S = 1.0
MAX_CLAIM = 1_000
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0


class Seat(NamedTuple):
    """What a worker and whoever seeks work for it share."""

    stopping: Bell
    """Rung when nothing more is to be claimed."""
    room: asyncio.Event
    """Set when more is wanted again."""
    changed: Bell
    """Rung when something has ended."""
    held: Set[Work]
    wanted: Callable[[], int]
    """How many tasks to claim now."""
    accept: Callable[[list[Claim], float], None]
    """Here they are, and when they were asked for."""


class Seeker:
    """Seeks work for one worker."""

    def __init__(
        self, queue: Queue, agent: str, offers: Offers, presence: Presence, lease_s: float, seat: Seat
    ) -> None:
        self._queue = queue
        self._agent = agent
        self._offers = offers
        self._presence = presence
        self._lease_s = lease_s
        self._seat = seat
        self._due_in = POLL_S

    async def seek(self, drain: bool) -> None:
        """Until the worker is to stop; with `drain`, or until there is nothing left for it to do."""
        seat, store, seen, pause_s, away = self._seat, self._queue.store, None, FIRST_PAUSE_S, False
        # A server wakes one of those who wait for work, not all who wait for news.
        polls = self._queue.far and self._offers.are_one and not drain
        while not seat.stopping.is_set():
            if seat.wanted() < 1:
                seat.room.clear()
                await seat.room.wait()
                continue
            try:
                if not self._presence.announced:
                    await self._announce()
                if polls:
                    await self._poll()
                elif await self._claim():
                    seen = None
                    # What was taken begins before the next claim is prepared.
                    await asyncio.sleep(0)
                elif seen is None:
                    # Ask again knowing what was there before: only what comes after it is news.
                    seen = await store.news()
                elif drain and not seat.held and not await self._is_needed():
                    return
                else:
                    seat.changed.clear()
                    chance = None if drain else self._chance()
                    if chance is not None:
                        seen = await self._wait_for_chance(chance, seen)
                    else:
                        waiting = store.wait_for_news(seen, min(DRAIN_POLL_S if drain else POLL_S, self._due_in))
                        bell = seat.changed if drain and seat.held else seat.stopping
                        news = await bell.cuts_short(waiting)
                        seen = seen if news is None else news
                pause_s, away = FIRST_PAUSE_S, False
            except Unavailable as error:
                if not away:
                    log.warning("nothing can be claimed: %s", error)
                away = True
                await seat.stopping.cuts_short(asyncio.sleep(pause_s))
                pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    async def _poll(self) -> None:
        """Wait for work at the server, until there is some or this worker is to stop: then whatever it was given
        meanwhile has been given back."""
        polling = asyncio.ensure_future(self._claim(FAR_POLL_S))
        stopping = asyncio.ensure_future(self._seat.stopping.wait())
        try:
            await asyncio.wait({polling, stopping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            polling.cancel()
            await asyncio.wait({polling})
        if not polling.cancelled():
            polling.result()

    def _chance(self) -> Chance | None:
        """What to claim as soon as there is news; None: that must be asked for in turn, or the store does not do it."""
        if not self._offers.are_one or wait_for_chance(self._queue.store) is None:
            return None
        [(types, capabilities)] = self._offers.in_turn()
        limit = min(self._seat.wanted(), MAX_CLAIM)
        return self._queue.chance(self._agent, types=types, capabilities=capabilities, limit=limit, lease=self._lease_s)

    async def _wait_for_chance(self, chance: Chance, seen: int) -> int | None:
        """Wait until there is something for this worker, which is then taken; or until it should ask by itself. Which
        news were seen before that."""
        waits = wait_for_chance(self._queue.store)
        assert waits is not None
        stopping = self._seat.stopping
        while True:
            try:
                news = await stopping.cuts_short(waits(chance, seen, min(POLL_S, self._due_in)))
            except BaseException:
                self._queue.abandon(chance)
                raise
            claims = None if chance.taking is None else await self._queue.seized(chance)
            if claims:
                self._seat.accept(claims, chance.asked)
                # It begins before the next claim is prepared.
                await asyncio.sleep(0)
                return None
            if claims is None or stopping.is_set():
                return seen if news is None else news
            self._due_in = POLL_S
            self._note_due()
            seen, chance = chance.seen, Chance(chance.request)

    async def _claim(self, wait_s: float = 0.0) -> bool:
        found = False
        self._due_in = POLL_S
        for types, capabilities in self._offers.in_turn():
            wanted = self._seat.wanted()
            if wanted < 1:
                break
            asked = monotonic()
            claims = await self._queue.claim(
                self._agent,
                types=types,
                capabilities=capabilities,
                limit=min(wanted, MAX_CLAIM),
                lease=self._lease_s,
                wait=wait_s,
            )
            if claims:
                found = True
                # Whoever waited does not know when the leases began; no answer takes a sixth of one to get here.
                self._seat.accept(claims, max(asked, monotonic() - self._lease_s / 6) if wait_s else asked)
            else:
                self._note_due()
        return found

    def _note_due(self) -> None:
        """When to ask again, though there is no news: of the last claim, which found nothing."""
        if self._queue.due_in:
            self._due_in = min(self._due_in, max(self._queue.due_in, SHORTEST_POLL_S))

    async def _announce(self) -> None:
        await self._presence.announce()
        self._offers.agent, self._offers.agent_type = self._presence.agent, self._presence.type

    async def _is_needed(self) -> bool:
        """Whether there may be more for it to do."""
        return await self._offers.left_to_do(self._queue) and not await self._presence.is_draining()
