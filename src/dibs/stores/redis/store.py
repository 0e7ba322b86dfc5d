"""The Redis store: the steps of the ledger, on what a step needs of a namespace."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.stores.ledger import dags, inserting, locks, timing
from dibs.stores.ledger.carrying import guarded
from dibs.stores.ledger.store import LedgerStore
from dibs.stores.plain import is_plain
from dibs.stores.redis import checking
from dibs.stores.redis.address import Address
from dibs.stores.redis.advising import advice
from dibs.stores.redis.consuming import Consumer
from dibs.stores.redis.engine import Engine
from dibs.stores.redis.hints import CONFIRM_S, Hints
from dibs.stores.redis.keys import Keys
from dibs.stores.redis.opening import LAYOUT, reasons_against
from dibs.stores.redis.packing import packed
from dibs.stores.redis.quick import MOST_AT_ONCE, Quick
from dibs.stores.redis.reading import Changed, Reader
from dibs.stores.redis.scripting import script
from dibs.stores.redis.working import Working
from dibs.stores.values import Inserted, Insertion

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from dibs.errors import DibsError
    from dibs.model.claim import News, Settled
    from dibs.stores.chances import Chance
    from dibs.stores.ledger.state import State
    from dibs.stores.redis.engine import Line
    from dibs.stores.redis.flying import Flights
    from dibs.stores.redis.quick import Errand
    from dibs.stores.redis.reading import Command
    from dibs.stores.values import Claimed, ClaimRequest, Draft, Renewal, Settlement

T = TypeVar("T")

PATIENCE = 4
"""After so many looks that somebody else overtook, a step asks for a turn of its own."""
TURN_MS = 2000
THREADS = 4
IDLE_US = 1_000_000


class RedisStore(LedgerStore):
    """Tasks in a namespace of a Redis server. `stores.contract` says the rest."""

    def __init__(self, url: str, *, clock: Callable[[], int] | None = None, blocking: bool = False) -> None:
        self._address = Address.parse(url)
        self.url = url
        self._keys = Keys(self._address.tag + ":")
        self._engine = Engine(self._address, self._keys)
        self._clock = clock
        self._ahead = 0
        """By how many micros the server's clock is ahead of ours."""
        self._idle_until: dict[tuple[str, ...], int] = {}
        """Until when no duty is due, as far as we know."""
        self._blocking = blocking
        self._quick = Quick(
            self._engine, self._keys, self._take_step, self._take_look, self.now, fake=clock is not None
        )
        self._hints = Hints(self._engine, self._keys.channel)
        self._flights: Flights | None = None
        self._threads: ThreadPoolExecutor | None = None
        self._pid = 0

    @property
    def schema_version(self) -> int:
        return LAYOUT

    async def connect(self) -> None:
        await self._do(self._connect)

        if not self._blocking and self._address.is_plain:
            from dibs.stores.redis.flying import Flights

            self._flights = Flights(self._engine, self._quick, self._keys, self._otherwise)

    def _connect(self) -> None:
        self._engine.connect()
        self._engine.run(self._set_clock)

    def _set_clock(self, line: Line) -> None:
        before = _micros()
        seconds, micros = line.send([("TIME",)])[0]
        self._ahead = int(seconds) * 1_000_000 + int(micros) - (before + _micros()) // 2

    # Steps

    async def _step(self, step: Callable[[State], T], tasks: Sequence[str] = ()) -> T:
        return await self._do(lambda: self._take_step(step, tasks))

    async def _anyway(self, step: Callable[[State], T]) -> T:
        return await self._do(lambda: self._take_step(step, anyway=True))

    async def _look(self, look: Callable[[State], T], tasks: Sequence[str] = ()) -> T:
        return await self._do(lambda: self._take_look(look, tasks))

    async def _do(self, work: Callable[[], T]) -> T:
        if self._blocking:
            return work()
        import asyncio

        if self._threads is None or self._pid != os.getpid():
            from concurrent.futures import ThreadPoolExecutor

            self._pid = os.getpid()
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="dibs-redis")
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _take_step(self, step: Callable[[State], T], tasks: Sequence[str] = (), *, anyway: bool = False) -> T:
        """Look, think, and commit; from the beginning, if somebody else committed meanwhile."""
        me = os.urandom(9).hex()
        expected = [*Working.usual(self._keys), *Working.around(self._keys, tasks)]
        looks = 0
        has_turn = False
        answer: Any = None
        unanswered: dict[str, T] = {}
        """Writes of which nobody knows whether they were committed, and what to answer if so."""

        def attempt(line: Line) -> bool:
            nonlocal expected, answer, has_turn
            reader: Reader | None = None
            in_doubt = {("ZSCORE", self._keys.done, name): known for name, known in unanswered.items()}
            try:
                reader = Reader(line, self._keys.meta, [*expected, *in_doubt])
                for question, known in in_doubt.items():
                    if reader.ask(*question) is not None:
                        answer, has_turn = known, False
                        return True
                state = Working(reader, self._keys, self._at(reader), moves=True)
                state.will_read(tasks=tasks)
                answer = step(state) if anyway else guarded(state, step)
                locks.follow(state)
                dags.follow(state)
                changes = state.changes()
            except Changed:
                expected = reader.asked if reader else expected
                return False
            if not changes:
                return True
            name = f"{me}:{looks}:{len(unanswered)}"
            unanswered[name] = answer
            is_done = self._commit(line, reader.version, me, name, changes)
            del unanswered[name]
            if is_done:
                has_turn = False
            expected = reader.asked
            return is_done

        try:
            while not self._engine.run(attempt):
                looks += 1
                if looks >= PATIENCE:
                    has_turn = True
                    self._engine.run(lambda line: self._wait_for_turn(line, me))
        finally:
            if has_turn:
                self._let_go(me)
        return answer  # type: ignore[no-any-return]

    def _commit(self, line: Line, version: bytes | None, me: str, name: str, changes: list[Command]) -> bool:
        keys = [self._keys.meta, self._keys.turn, self._keys.done, self._keys.taken]
        reply = line.call(
            script("commit"), keys, [version or b"", me, name, self.now(), self._keys.channel, *packed(changes)]
        )
        if reply == b"busy":
            time.sleep(0.001)
        if reply != b"ok":
            return False
        self._engine.confirm(line)
        return True

    def _wait_for_turn(self, line: Line, me: str) -> None:
        """Let nobody else write for a moment."""
        until = time.monotonic() + 2 * TURN_MS / 1000
        while time.monotonic() < until:
            if line.send([("SET", self._keys.turn, me, "NX", "PX", TURN_MS)])[0] is not None:
                return
            time.sleep(0.001)

    def _let_go(self, me: str) -> None:
        """Give back a turn that led to nothing. Where that fails, it ends by itself."""
        with suppress(Exception), self._engine.line() as line:
            line.call(script("let_go"), [self._keys.turn], [me])

    def _take_look(self, look: Callable[[State], T], tasks: Sequence[str] = ()) -> T:
        """See it as it was at one moment; what is never still for long enough, as it was while looking."""
        expected = [*Working.least(self._keys), *Working.around(self._keys, tasks)]
        looks = 0
        answer: Any = None

        def attempt(line: Line) -> bool:
            nonlocal expected, answer
            reader: Reader | None = None
            try:
                reader = Reader(line, self._keys.meta, expected, strict=looks < PATIENCE)
                answer = look(Working(reader, self._keys, self._at(reader)))
            except Changed:
                expected = reader.asked if reader else expected
                return False
            return True

        while not self._engine.run(attempt):
            looks += 1
        return answer  # type: ignore[no-any-return]

    # What is quick

    async def insert(self, insertion: Insertion, connection: Any = None) -> Inserted:
        if connection is not None or not is_plain(insertion):
            return await super().insert(insertion, connection)
        if len(insertion.drafts) > MOST_AT_ONCE:
            return await self._do(lambda: self._insert(insertion.drafts))
        errand = self._quick.adding(insertion.drafts)
        found = None if errand is None else await self._quickly(errand)
        return await super().insert(insertion) if found is None else found

    def _insert(self, drafts: list[Draft]) -> Inserted:
        """Add many tasks, a portion at a time, so that others are served in between."""
        inserted = Inserted(tasks=[], existing=[])
        for start in range(0, len(drafts), MOST_AT_ONCE):
            portion = Insertion(drafts=drafts[start : start + MOST_AT_ONCE])
            found = self._quick.run(self._quick.adding(portion.drafts))
            if found is None:
                found = self._take_step(lambda state: inserting.insert(state, portion))  # noqa: B023
            inserted.tasks += found.tasks
            inserted.existing += found.existing
        return inserted

    async def claim(self, request: ClaimRequest) -> Claimed:
        errand = self._quick.claiming(request)
        found = None if errand is None else await self._quickly(errand)
        return await super().claim(request) if found is None else found

    async def renew(self, renewals: Sequence[Renewal]) -> list[News | DibsError]:
        found = await self._do(lambda: self._quick.run(self._quick.renewing(renewals)))
        return await super().renew(renewals) if found is None else found

    async def settle(self, settlements: Sequence[Settlement]) -> list[Settled | DibsError]:
        errand = self._quick.completing(settlements)
        found = None if errand is None else await self._quickly(errand)
        if found is None:
            return await super().settle(settlements)
        left = [settlement for settlement, answer in zip(settlements, found, strict=True) if answer is None]
        others = iter(await super().settle(left) if left else ())
        return [next(others) if answer is None else answer for answer in found]

    def _quickly(self, errand: Errand[T]) -> Awaitable[T | None]:
        """Done by a script; None: the ledger must do it."""
        return self._otherwise(errand) if self._flights is None else self._flights.run(errand)

    async def _otherwise(self, errand: Errand[T]) -> T | None:
        """The same, by somebody who has patience."""
        return await self._do(lambda: self._quick.run(errand))

    # Time

    async def elect(self, intervals_s: Mapping[str, float]) -> list[str]:
        if self.now() < self._idle_until.get(tuple(intervals_s), 0):
            return []
        return await self._do(lambda: self._elect(intervals_s))

    def _elect(self, intervals_s: Mapping[str, float]) -> list[str]:
        """Nobody need ask again before the first of them is due: they are only ever put off."""
        due, first = self._take_step(
            lambda state: (timing.elect(state, intervals_s), timing.first_due(state, intervals_s))
        )
        self._idle_until = {tuple(intervals_s): min(first, self.now() + IDLE_US)}
        return due

    def now(self) -> int:
        return self._clock() if self._clock is not None else _micros() + self._ahead

    def _at(self, reader: Reader) -> int:
        """When a step takes place: when it began to look."""
        return self._clock() if self._clock is not None else reader.time

    @property
    def clock(self) -> Callable[[], int] | None:
        return self._clock

    # The outbox

    def consumer(self, group: str, name: str) -> Consumer:
        """One of those that read the events as a group."""
        return Consumer(self._engine, self._keys, group, name)

    # Waiting and living

    async def news(self) -> int:
        heard = None if self._flights is None else self._flights.heard
        return await self._do(self._news) if heard is None else heard

    def _news(self) -> int:
        return int(self._engine.run(lambda line: line.send([("HGET", self._keys.meta, "version")])[0]) or 0)

    async def wait_for_chance(self, chance: Chance, since: int, timeout_s: float) -> int:
        """As `wait_for_news`, and the claim is sent before whoever waits is woken (`stores.chances`)."""
        until = time.monotonic() + timeout_s
        heard = None if self._flights is None else await self._flights.wait_for_news(since, until, chance)
        if heard is None and chance.taking is None:
            return await self.wait_for_news(since, until - time.monotonic())
        return since if heard is None else heard

    async def wait_for_news(self, since: int, timeout_s: float) -> int:
        until = time.monotonic() + timeout_s
        heard = None if self._flights is None else await self._flights.wait_for_news(since, until)
        if heard is not None:
            return heard
        await self._do(self._hints.listen)
        while True:
            count = self._hints.count
            news = await self._do(self._news)
            left_s = until - time.monotonic()
            if news != since or left_s <= 0:
                return news
            if self._blocking:
                self._hints.block(count, min(left_s, CONFIRM_S))
            else:
                await self._hints.sleep(count, min(left_s, CONFIRM_S))

    async def check(self) -> list[str]:
        seen = await self._do(self._engine.look)
        found = await self._wrong()
        if found:
            # Perhaps it was never of one moment: look again while nobody writes. What is wrong stays wrong.
            me = os.urandom(9).hex()
            await self._do(lambda: self._engine.run(lambda line: self._wait_for_turn(line, me)))
            try:
                again = set(await self._wrong())
            finally:
                await self._do(lambda: self._let_go(me))
            found = [sentence for sentence in found if sentence in again]
        return [*reasons_against(seen, self._address), *found]

    async def _wrong(self) -> list[str]:
        # The ledger looks at tasks wherever keys lead it: they must be sound for that.
        return await self._look(_wrong) or await super().check()

    async def advise(self) -> list[str]:
        return advice(await self._do(self._engine.look), self._address)

    async def close(self) -> None:
        self._hints.close()
        if self._flights is not None:
            await self._flights.close()
        if self._threads is not None:
            self._threads.shutdown(wait=True)
            self._threads = None
        self._engine.close()


def _wrong(state: State) -> list[str]:
    assert isinstance(state, Working)
    return checking.wrong(state)


def _micros() -> int:
    return time.time_ns() // 1000
