"""One reader of the events for everybody in this process.

Whoever follows the events of a project has a place of their own, the number up to which they have seen everything, and
asks for what comes after it. The newest events are kept here, so that a hundred followers cost the store one read; who
is further behind reads from the store, a few at a time. There is nothing that a slow follower could fill, and nothing
is passed over: what was forgotten before it was read is told as a `gap`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from dibs.errors import DibsError
from dibs.model.event import Event
from dibs.model.instants import from_micros
from dibs.rules.hooks import GAP
from dibs.stores.homes import Homes

if TYPE_CHECKING:
    from dibs.stores.contract import Store

log = logging.getLogger("dibs.server")

KEPT = 1_000
"""How many events are at hand."""
BATCH = 500
MOST_READING = 4
"""How many of those that are behind read from the store at once."""
POLL_S = 5.0
PAUSE_S = 1.0
"""How long to wait when the store is away."""


class Feed:
    """The events of a store as they are committed. They are read for as long as somebody follows."""

    def __init__(self, store: Store, *, kept: int = KEPT) -> None:
        self._store = store
        self._kept: deque[Event] = deque()
        self._most = kept
        self._since: int | None = None
        """Everything after this number, up to `_newest`, is at hand; None: nothing was read yet."""
        self._newest = 0
        self._more = asyncio.Event()
        self._followers = 0
        self._reading: asyncio.Task[None] | None = None
        self._room = asyncio.Semaphore(MOST_READING)
        self._homes = Homes(store)

    def follow(self) -> Following:
        """Say that somebody reads; to be used in a `with` statement."""
        return Following(self)

    async def close(self) -> None:
        """Read nothing more. Whoever still follows hears nothing new."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> None:
        while self._followers:
            try:
                await self._read_on()
            except DibsError as error:
                log.warning("events cannot be read, and are tried again: %s", error)
                await asyncio.sleep(PAUSE_S)
            except Exception:
                log.exception("reading events failed; it is tried again")
                await asyncio.sleep(PAUSE_S)
        # What happens from now on is not at hand when the next one comes.
        self._kept.clear()
        self._since = self._reading = None

    async def _read_on(self) -> None:
        if self._since is None:
            self._since = self._newest = await self._store.last_seq()
            self._tell()
        while self._followers:
            seen = await self._store.news()
            batch = await self._store.events(self._newest, BATCH)
            if batch:
                self._keep(batch)
                continue
            await self._store.wait_for_news(seen, POLL_S)
            newest = await self._store.last_seq()
            if newest < self._newest:
                # It lost its last writes, and counts anew from before. Whoever was further is told when they ask.
                self._kept.clear()
                self._since = self._newest = newest
                self._tell()

    def _keep(self, batch: list[Event]) -> None:
        if batch[0].type == GAP:
            # What was at hand does not join on to it.
            self._kept.clear()
            self._since = self._newest
        self._kept.extend(batch)
        self._newest = batch[-1].seq
        while len(self._kept) > self._most:
            self._since = self._kept.popleft().seq
        self._tell()

    def _tell(self) -> None:
        self._more.set()
        self._more = asyncio.Event()

    async def newest(self) -> int:
        """The number of the newest event."""
        return await self._store.last_seq()

    async def after(self, seq: int, project: str, limit: int = BATCH) -> tuple[list[Event], int]:
        """Events of a project after a number, a `gap` first if some are gone; and the number up to which these are all.
        At most `limit` are looked at, without waiting: there may be more as long as the number grows."""
        batch = await self._after(seq, limit)
        if not batch:
            return [], seq
        about = [event.task_id or event.dag_id for event in batch]
        homes = await self._homes.of(id for id in about if id is not None)
        own = [
            event
            for event, id in zip(batch, about, strict=True)
            if event.type == GAP or project == (event.data.get("project", "default") if id is None else homes[id])
        ]
        return own, batch[-1].seq

    async def _after(self, seq: int, limit: int) -> list[Event]:
        if self._since is not None and self._since <= seq <= self._newest:
            if seq == self._newest:
                return []
            behind = self._newest - seq
            if behind <= len(self._kept) and self._kept[-behind].seq == seq + 1:
                # Numbers are dense: the place in line is known.
                start = len(self._kept) - behind
                return [self._kept[place] for place in range(start, min(start + limit, len(self._kept)))]
            return [event for event in self._kept if event.seq > seq][:limit]
        async with self._room:
            found = await self._store.events(seq, limit)
            if found or seq == 0:
                return found
            newest = await self._store.last_seq()
        if seq <= newest:
            return []
        # A store that lost its last writes counts anew from before: whoever was further has missed what is there now.
        return [Event(seq=newest, type=GAP, at=from_micros(self._store.now()))]

    async def wait(self, seq: int, timeout_s: float) -> None:
        """Until there is something after this number, at most so long."""
        if self._since is not None and self._newest > seq:
            return
        try:
            async with asyncio.timeout(timeout_s):
                await self._more.wait()
        except TimeoutError:
            pass


class Following:
    """As long as one of these is open, the feed reads."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed

    def __enter__(self) -> Feed:
        self._feed._followers += 1
        if self._feed._reading is None:
            self._feed._reading = asyncio.create_task(self._feed._read(), name="events")
        return self._feed

    def __exit__(self, *_: object) -> None:
        self._feed._followers -= 1
