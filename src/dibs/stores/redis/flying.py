"""Calls from an event loop, without threads: one connection for all of them, and many under way at once."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar, cast

from redis import exceptions

from dibs.errors import DibsError
from dibs.stores.redis.engine import ANSWER_S
from dibs.stores.redis.hints import CONFIRM_S
from dibs.stores.redis.talking import UNFINISHED, new_reader, packed

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from dibs.stores.redis.engine import Engine
    from dibs.stores.redis.keys import Keys
    from dibs.stores.redis.quick import Errand, Quick
    from dibs.stores.redis.reading import Command
    from dibs.stores.redis.talking import Talk

T = TypeVar("T")


class Flight(asyncio.Protocol):
    """A connection of one event loop. It is never mended: whoever finds it lost opens another."""

    def __init__(self, answer_s: float, on_push: Callable[[Any], None] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self.is_lost = False
        self._answer_s = answer_s
        self._on_push = on_push
        self._reader = new_reader()
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._answered = 0
        self._watch: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None

    async def take_over(self, talk: Talk) -> Flight:
        """Use a connection that nobody else uses any more."""
        where: socket.socket = talk.hand_over()
        await self.loop.create_connection(lambda: self, sock=where)
        return self

    def ask(self, command: Command) -> asyncio.Future[Any]:
        """The answer to a command, when it comes. Raises what the server refuses with, or ConnectionError."""
        answer: asyncio.Future[Any] = self.loop.create_future()
        if self.is_lost or self._transport is None:
            answer.set_exception(exceptions.ConnectionError("the connection was lost"))
            return answer
        self._waiting.append(answer)
        self._transport.write(packed(command))
        if self._watch is None:
            self._watch = self.loop.call_later(self._answer_s, self._look, self._answered)
        return answer

    def _look(self, answered: int) -> None:
        """Give up a server that has not answered anything for so long."""
        self._watch = None
        if self._waiting:
            if answered == self._answered:
                self.close()
            else:
                self._watch = self.loop.call_later(self._answer_s, self._look, self._answered)

    def close(self) -> None:
        self.is_lost = True
        if self._watch is not None:
            self._watch.cancel()
        if self._transport is not None and not self.loop.is_closed():
            self._transport.abort()

    # What asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (answer := self._reader.gets()) is not UNFINISHED:
            if self._waiting:
                self._answered += 1
                _tell(self._waiting.popleft(), answer)
            elif self._on_push is not None:
                self._on_push(answer)

    def connection_lost(self, _: Exception | None) -> None:
        self.is_lost = True
        while self._waiting:
            _tell(self._waiting.popleft(), exceptions.ConnectionError("the connection was lost"))
        if self._on_push is not None:
            self._on_push(None)


def _tell(waiting: asyncio.Future[Any], answer: Any) -> None:
    if waiting.done():  # its caller has gone
        return
    if isinstance(answer, Exception):
        waiting.set_exception(answer)
    else:
        waiting.set_result(answer)


class Flights:
    """The flights of a store: one for its calls, and one that hears of what others commit."""

    def __init__(self, engine: Engine, quick: Quick, keys: Keys) -> None:
        self._engine = engine
        self._quick = quick
        self._keys = keys
        self._calls: Flight | None = None
        self._hearing: Flight | None = None
        self._opening: asyncio.Future[Flight | None] | None = None
        self._made: set[Flight] = set()
        self._heard = 0
        """The newest version of the namespace that was heard of."""
        self._sleepers: set[asyncio.Future[None]] = set()

    async def run(self, errand: Errand[T]) -> T | None:
        """Let a script do it, if it can be told at once; None: try otherwise."""
        message = self._quick.message(errand)
        flight = None if message is None else await self._ready()
        if flight is None or message is None:
            return None
        errand.was_said = True
        reply = await self._asked(flight, message)
        if reply is None or reply[0] == b"done":
            return None
        errand.was_said = False
        return errand.read(reply) if reply[0] in (b"ok", b"idle") else None

    async def _asked(self, flight: Flight, command: Command) -> Any:
        """The answer; None: there is none from here."""
        try:
            return await flight.ask(command)
        except exceptions.NoScriptError:
            return None
        except exceptions.RedisError:
            # Whatever it is, others have the patience for it; and the server may not be the right one any more.
            flight.close()
            return None

    async def _ready(self) -> Flight | None:
        """The flight for calls; None: there is none yet, or not again."""
        flight = self._calls
        if flight is None or not self._serves(flight):
            flight = await self._open(None)
            self._calls = flight or self._calls
        return flight

    @staticmethod
    def _serves(flight: Flight) -> bool:
        return not flight.is_lost and flight.loop is asyncio.get_running_loop()

    async def _open(self, on_push: Callable[[Any], None] | None) -> Flight | None:
        """A flight of this event loop. While one is being opened, others do without."""
        if self._is_opening():
            return None
        # It is opened to the end, whoever stops waiting for it: what nobody has cannot be closed.
        self._opening = asyncio.ensure_future(self._opened(on_push))
        return await asyncio.shield(self._opening)

    def _is_opening(self) -> bool:
        """Whether one is being opened in this event loop."""
        opening = self._opening
        return opening is not None and not opening.done() and opening.get_loop() is asyncio.get_running_loop()

    async def _opened(self, on_push: Callable[[Any], None] | None) -> Flight | None:
        flight = Flight(ANSWER_S, on_push)
        try:
            await flight.take_over(await asyncio.to_thread(self._engine.new_talk))
        except (DibsError, exceptions.RedisError, OSError):
            return None
        self._made = {made for made in self._made if not made.is_lost} | {flight}
        return flight

    # News

    @property
    def heard(self) -> int | None:
        """The version of the namespace, as far as was heard; None: nobody listens in this event loop."""
        return self._heard if self._hearing is not None and self._serves(self._hearing) else None

    async def wait_for_news(self, since: int, until: float) -> int | None:
        """The version, as soon as it differs from `since`, at the latest then; None: it cannot be heard of here."""
        if self.heard is None and not await self._listen():
            return None
        while self._heard == since:
            left_s = until - time.monotonic()
            if left_s <= 0:
                break
            if not await self._sleep(min(left_s, CONFIRM_S)) and not await self._look():
                return None
        return self.heard

    async def _listen(self) -> bool:
        """Hear of all commits from now on; whether that can be."""
        hearing = await self._open(self._hear)
        if hearing is None:
            return False
        try:
            if await self._asked(hearing, ("SUBSCRIBE", self._keys.channel)) is None:
                return False
        except BaseException:
            hearing.close()
            raise
        self._hearing = hearing
        return await self._look()

    async def _look(self) -> bool:
        """Ask for the version: something may not have been heard of. Whether there was an answer."""
        flight = await self._ready()
        answer = None if flight is None else await self._asked(flight, ("HMGET", self._keys.meta, "version"))
        if answer is None:
            return False
        self._heard = max(self._heard, int(answer[0] or 0))
        return True

    def _hear(self, told: Any) -> None:
        """Told of a commit; or, with None, that nothing will be heard any more."""
        if isinstance(told, list):
            self._heard = int(told[2])
        for sleeper in self._sleepers:
            if not sleeper.done():
                sleeper.set_result(None)

    async def _sleep(self, timeout_s: float) -> bool:
        """Until something is heard; whether it was."""
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.add(sleeper)
        try:
            await asyncio.wait([sleeper], timeout=timeout_s)
        finally:
            self._sleepers.discard(sleeper)
        return sleeper.done()

    async def close(self) -> None:
        """Let go of all connections, and let the event loop notice."""
        if self._is_opening():
            assert self._opening is not None
            await asyncio.wait([self._opening])
        for flight in self._made:
            flight.close()
        await asyncio.sleep(0)
