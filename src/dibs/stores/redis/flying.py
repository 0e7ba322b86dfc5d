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
    from collections.abc import Awaitable, Callable

    from dibs.stores.chances import Chance
    from dibs.stores.redis.engine import Engine
    from dibs.stores.redis.keys import Keys
    from dibs.stores.redis.quick import Errand, Quick
    from dibs.stores.redis.reading import Command
    from dibs.stores.redis.talking import Talk
    from dibs.stores.values import Claimed

    Otherwise = Callable[[Errand[Any]], Awaitable[Any]]

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
        self._socket: socket.socket | None = None

    async def take_over(self, talk: Talk) -> Flight:
        """Use a connection that nobody else uses any more."""
        self._socket = talk.hand_over()
        await self.loop.create_connection(lambda: self, sock=self._socket)
        return self

    def ask(self, message: bytes) -> asyncio.Future[Any]:
        """The answer to a command, when it comes. Raises what the server refuses with, or ConnectionError."""
        answer: asyncio.Future[Any] = self.loop.create_future()
        if self.is_lost or self._transport is None:
            answer.set_exception(exceptions.ConnectionError("the connection was lost"))
            return answer
        # With others under way, what is written in a turn of the loop leaves together. Else there is nothing to wait
        # for: the server works while this turn comes to its end.
        sent = 0 if self._waiting else self._sent(message)
        if sent < len(message):
            self._transport.write(message[sent:])
        self._waiting.append(answer)
        if self._watch is None:
            self._watch = self.loop.call_later(self._answer_s, self._look, self._answered)
        return answer

    def _sent(self, message: bytes) -> int:
        """How much of it left at once. Nothing stands before it: whatever was sent has been answered."""
        try:
            return 0 if self._socket is None else self._socket.send(message)
        except OSError:
            # Full, or lost: the transport waits, or notices.
            return 0

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


class Plan:
    """A chance, and what is to be sent for it."""

    __slots__ = ("chance", "errand", "message")

    def __init__(self, chance: Chance, errand: Errand[Claimed], message: bytes) -> None:
        self.chance = chance
        self.errand = errand
        self.message = message


class Flights:
    """The flights of a store: one for its calls, and one that hears of what others commit."""

    def __init__(self, engine: Engine, quick: Quick, keys: Keys, otherwise: Otherwise) -> None:
        self._engine = engine
        self._quick = quick
        self._keys = keys
        self._otherwise = otherwise
        self._calls: Flight | None = None
        self._hearing: Flight | None = None
        self._opening: asyncio.Future[Flight | None] | None = None
        self._made: set[Flight] = set()
        self._heard = 0
        """The newest version of the namespace that was heard of."""
        self._sleepers: dict[asyncio.Future[bool], Plan | None] = {}

    async def run(self, errand: Errand[T]) -> T | None:
        """Let a script do it, from here if it can be told at once; None: the ledger must do it."""
        message = self._quick.message(errand)
        if message is not None:
            flight = self._calls
            if flight is None or not self._serves(flight):
                flight = await self._ready()
            if flight is not None:
                errand.was_said = True
                return await self._ended(errand, flight, flight.ask(packed(message)))
        return await self._otherwise(errand)  # type: ignore[no-any-return]

    async def _ended(self, errand: Errand[T], flight: Flight, asked: asyncio.Future[Any]) -> T | None:
        """What became of a script that was told."""
        try:
            reply = await asked
        except exceptions.RedisError as error:
            self._give_up(flight, error)
        else:
            answer = reply[0]
            errand.was_said = answer == b"done"
            found = errand.read(reply) if answer == b"ok" or answer == b"idle" else None
            if found is not None:
                return found
        return await self._otherwise(errand)  # type: ignore[no-any-return]

    async def _asked(self, flight: Flight, command: Command) -> Any:
        """The answer; None: there is none from here."""
        try:
            return await flight.ask(packed(command))
        except exceptions.RedisError as error:
            return self._give_up(flight, error)

    @staticmethod
    def _give_up(flight: Flight, error: exceptions.RedisError) -> None:
        # Whatever it is, others have the patience for it; and the server may not be the right one any more.
        if not isinstance(error, exceptions.NoScriptError):
            flight.close()

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

    async def wait_for_news(self, since: int, until: float, chance: Chance | None = None) -> int | None:
        """The version, as soon as it differs from `since`, at the latest then; None: it cannot be heard of here. With a
        chance, its claim is sent as soon as something is heard."""
        if self.heard is None and not await self._listen():
            return None
        while self._heard == since:
            left_s = until - time.monotonic()
            if left_s <= 0:
                break
            if not await self._sleep(min(left_s, CONFIRM_S), chance) and not await self._look():
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
        for sleeper, plan in self._sleepers.items():
            if plan is not None and told is not None and not sleeper.done():
                self._seize(plan)
            _wake(sleeper, True)

    def _seize(self, plan: Plan) -> None:
        """Use a chance, if what it was planned with still holds."""
        flight = self._calls
        if flight is None or not self._serves(flight) or self._quick.now() >= plan.errand.until:
            return
        plan.errand.was_said = True
        plan.chance.asked, plan.chance.seen = time.monotonic(), self._heard
        asked = flight.ask(plan.message)
        plan.chance.taking = flight.loop.create_task(self._ended(plan.errand, flight, asked))

    def _planned(self, chance: Chance) -> Plan | None:
        """How to use a chance without another thought; None: more must be known for that."""
        errand = self._quick.claiming(chance.request)
        message = None if errand is None else self._quick.message(errand)
        return None if errand is None or message is None else Plan(chance, errand, packed(message))

    async def _sleep(self, timeout_s: float, chance: Chance | None) -> bool:
        """Until something is heard; whether it was."""
        loop = asyncio.get_running_loop()
        sleeper: asyncio.Future[bool] = loop.create_future()
        self._sleepers[sleeper] = None if chance is None else self._planned(chance)
        alarm = loop.call_later(timeout_s, _wake, sleeper, False)
        try:
            return await sleeper
        finally:
            alarm.cancel()
            del self._sleepers[sleeper]

    async def close(self) -> None:
        """Let go of all connections, and let the event loop notice."""
        if self._is_opening():
            assert self._opening is not None
            await asyncio.wait([self._opening])
        for flight in self._made:
            flight.close()
        await asyncio.sleep(0)


def _wake(sleeper: asyncio.Future[bool], has_heard: bool) -> None:
    if not sleeper.done():
        sleeper.set_result(has_heard)
