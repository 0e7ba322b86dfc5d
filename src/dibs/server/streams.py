"""Streams of events: server-sent events, for as long as somebody reads them.

A stream has a place and asks the feed for what comes after it; so it holds nothing, however slow its reader is. A
reader that takes nothing for a while is cut off, and resumes from the last event it has seen. Where nothing that it
wants happens, its place is told all the same (`id:` alone): so it does not fall behind what is kept.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any

from litestar.response.base import ASGIResponse
from msgspec import json

from dibs.errors import DibsError
from dibs.rules.hooks import GAP

if TYPE_CHECKING:
    from litestar.types import Receive, Send

    from dibs.model.event import Event
    from dibs.server.feed import Feed

MOST = 500
"""How many streams a server keeps at once."""
MOST_OF_ONE = 50
"""How many of them one caller may have."""
HEARTBEAT_S = 15.0
STUCK_S = 30.0
"""How long a reader may take nothing."""
TRUST_S = 1.0
"""How long a token is believed that was looked at."""
LOOKED_AT = 100
"""How many events a stream has in hand at most, and how many bytes it sends at once: a reader that takes them slowly
keeps no more than that."""
PORTION_BYTES = 64 << 10
RETRY_MS = 2_000
PAUSE_S = 1.0

_encode = json.Encoder().encode
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}

Wants = Callable[["Event"], "Event | None"]
"""The event as its reader is to see it; None: it does not want it."""


class Streams:
    """The streams of one server. They end when they are told to, or when their reader is gone or not trusted."""

    def __init__(self, feed: Feed, *, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self.feed = feed
        self._most = most
        self._most_of_one = most_of_one
        self._open: Counter[str] = Counter()
        self._closing = asyncio.Event()

    @property
    def is_full(self) -> bool:
        """Whether no more are kept at once."""
        return self._open.total() >= self._most or self._closing.is_set()

    @property
    def is_closing(self) -> bool:
        """Whether the server is about to leave."""
        return self._closing.is_set()

    def has_enough(self, caller: str) -> bool:
        """Whether one caller has as many as they may."""
        return self._open[caller] >= self._most_of_one

    def close(self) -> None:
        """End all of them: the server is about to leave. Their readers resume elsewhere."""
        self._closing.set()

    async def read(
        self,
        caller: str,
        project: str,
        place: int,
        wants: Wants,
        is_trusted: Callable[[], Awaitable[bool]],
        wait_s: float = float("inf"),
    ) -> AsyncIterator[bytes]:
        """What to send to a reader, in portions. After `wait_s` it ends, once everything there is was sent."""
        self._open[caller] += 1
        try:
            with self.feed.follow():
                yield b"retry: %d\nid: %d\n\n" % (RETRY_MS, place)
                looked = told = time.monotonic()
                ends = told + wait_s
                while not self._closing.is_set():
                    found, end = await self._after(place, project)
                    now = time.monotonic()
                    idle = now - told >= HEARTBEAT_S
                    if (found or idle) and now - looked >= TRUST_S:
                        if not await is_trusted():
                            return
                        looked = now
                    portion = b""
                    for event in found:
                        seen = wants(event)
                        portion += b"" if seen is None else framed(seen)
                        if len(portion) >= PORTION_BYTES:
                            yield portion
                            portion, told = b"", time.monotonic()
                    if portion or idle:
                        yield portion + b":\nid: %d\n\n" % end
                        told = time.monotonic()
                    if end == place:
                        now = time.monotonic()
                        if now >= ends:
                            return
                        await self.rest(place, min(HEARTBEAT_S - (now - told), ends - now))
                    place = end
        finally:
            self._open[caller] -= 1
            if not self._open[caller]:
                del self._open[caller]

    async def _after(self, place: int, project: str) -> tuple[list[Event], int]:
        try:
            return await self.feed.after(place, project, LOOKED_AT)
        except DibsError:
            # The store is away. Whoever reads need not know: it goes on where it was.
            await asyncio.sleep(PAUSE_S)
            return [], place

    async def rest(self, place: int, timeout_s: float) -> None:
        """Until there is something, or it is time for a sign of life, or for leaving."""
        waiting = [
            asyncio.ensure_future(self.feed.wait(place, max(timeout_s, 0.0))),
            asyncio.ensure_future(self._closing.wait()),
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()


def framed(event: Event) -> bytes:
    """An event on the wire. All are plain messages, their type is in the data; only a gap has a name of its own."""
    name = b"event: gap\n" if event.type == GAP else b""
    return b"id: %d\n%bdata: %b\n\n" % (event.seq, name, _encode(event))


class EventStream(ASGIResponse):
    """An answer that goes on until its reader leaves, or takes nothing for too long."""

    _should_set_content_length = False

    def __init__(self, portions: AsyncIterator[bytes]) -> None:
        super().__init__(media_type="text/event-stream", headers=_HEADERS)
        self._portions = portions

    async def send_body(self, send: Send, receive: Receive) -> None:
        """Send what there is to send."""
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            sending.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
        if not sending.cancelled():
            sending.result()

    async def _send(self, send: Send) -> None:
        try:
            async for portion in self._portions:
                async with asyncio.timeout(STUCK_S):
                    await send(_body(portion, more=True))
            await send(_body(b"", more=False))
        except TimeoutError:
            # Nothing more can be said to it, not even that this is the end.
            return
        finally:
            await self._portions.aclose()  # type: ignore[attr-defined]


def _body(portion: bytes, *, more: bool) -> Any:
    return {"type": "http.response.body", "body": portion, "more_body": more}


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
