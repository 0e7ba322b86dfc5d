"""The way to the server: connections, patience when it is away, its clock, and news of commits.

Statements are written with the schema prefix `dibs.`, which is replaced by the real one. Nothing relies on the state of
a session, so every statement may run on another connection, also behind a pooler.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg

from dibs.errors import Unavailable
from dibs.stores.postgres import opening, trouble
from dibs.stores.postgres.hints import Hints
from dibs.stores.postgres.once import InDoubt, Marks
from dibs.stores.postgres.pool import Connection, Pool
from dibs.stores.postgres.portal import Portal

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dibs.stores.postgres.address import Address

T = TypeVar("T")
Record = Any
"""A row; the driver has no types."""

log = logging.getLogger("dibs.store")

PATIENCE_S = 10.0
"""How long a statement waits for a server that is away."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0
_CONFLICT_S = 0.005
_MEASURE_EVERY_S = 60.0
_FAREWELL_S = 2.0
_GOING_DOWN_S = 1.0
_CLOCK = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

# Unlike time.monotonic this one also runs while the machine sleeps.
_TICKING = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Engine:
    """One store's way to its server. `stores/postgres` speaks to the database only through it.

    With `blocking` no coroutine of it ever suspends: the work is done by an event loop in a thread of its own. Without,
    it belongs to the event loop in which it is first used; calls from other loops are handed over to that one.

    A caller who is cancelled leaves at once. A statement of his that the server has not got yet is not sent; one that
    it has got comes to its end in the background.
    """

    def __init__(
        self,
        address: Address,
        *,
        clock: Callable[[], int] | None = None,
        blocking: bool = False,
        folder: str = opening.HERE,
    ) -> None:
        self.address = address
        self.url = address.url
        self.schema = address.schema
        self.blocking = blocking
        self.clock = clock
        self._folder = folder
        self._pid = os.getpid()
        self._prefix = f'"{address.schema}".'
        self._channel = f"dibs:{address.schema}"
        self._texts: dict[str, str] = {}
        self._portal: Portal | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pool: Pool
        self._hints: Hints
        self._marks = Marks(self.text)
        self._background: set[asyncio.Task[Any]] = set()
        self._away = False
        self._lost_at = self._connected_at = 0.0
        self._closed = False
        self._offset_us = 0
        self._measure_at = 0.0

    def __repr__(self) -> str:
        return f"Engine({self.address.place!r}, schema={self.schema!r})"

    # Statements

    async def fetch(self, sql: str, *args: Any) -> list[Record]:
        """Run a statement that may be repeated: if the way to the server is lost, so is the knowledge whether it was
        applied, and it is simply sent again."""
        if self._loop is not None and self._portal is None and asyncio.get_running_loop() is self._loop:
            return await self.patiently(sql, *args)
        return await self._at_home(self.patiently(sql, *args))

    async def row(self, sql: str, *args: Any) -> Record | None:
        """The first row of a statement that may be repeated; None if there is none."""
        rows = await self.fetch(sql, *args)
        return rows[0] if rows else None

    async def value(self, sql: str, *args: Any) -> Any:
        """The first value of the first row of a statement that may be repeated; None if there is none."""
        rows = await self.fetch(sql, *args)
        return rows[0][0] if rows else None

    async def once(self, sql: str, *args: Any) -> list[Record]:
        """Run a statement that must not be applied twice: if it is unknown whether it was, that is found out."""
        return await self._at_home(self._once(sql, args))

    async def together(self, work: Callable[[Connection], Coroutine[Any, Any, T]]) -> T:
        """Run what makes several statements on one connection; like `fetch`, it is repeated as a whole."""
        return await self._at_home(self._repeatedly(work))

    def text(self, sql: str) -> str:
        """A statement for the real schema."""
        text = self._texts.get(sql)
        if text is None:
            text = self._texts[sql] = sql.replace("dibs.", self._prefix)
        return text

    async def patiently(self, sql: str, *args: Any) -> list[Record]:
        """As `fetch`, for those who are in the event loop of the connections already."""
        self._check_usable()
        text = self._texts.get(sql) or self.text(sql)

        async def work(connection: Connection) -> list[Record]:
            rows: list[Record] = await connection.fetch(text, *args)
            return rows

        try:
            rows = await self._pool.run(work)
        except Exception as error:
            return await self._repeatedly(work, error)
        if self._away or time.monotonic() > self._measure_at:
            self._answered()
        return rows

    async def _once(self, sql: str, args: tuple[Any, ...]) -> list[Record]:
        self._check_usable()
        text = self.text(sql)
        name = self._marks.take()
        try:
            while True:
                try:
                    return await self._repeatedly(lambda connection: self._marks.run(connection, name, text, args))
                except InDoubt as doubt:
                    if await self._was_committed(doubt):
                        return doubt.rows
        finally:
            self._marks.give(name)

    async def _was_committed(self, doubt: InDoubt) -> bool:
        self._lost(doubt.__cause__ or doubt)
        try:
            return await self._repeatedly(lambda connection: self._marks.was_committed(connection, doubt))
        except Unavailable as error:
            raise trouble.in_doubt(error.__cause__ or error, self.address) from error

    async def _repeatedly(
        self,
        work: Callable[[Connection], Coroutine[Any, Any, T]],
        error: Exception | None = None,
        *,
        is_bearable: Callable[[Exception], bool] = trouble.is_loss,
    ) -> T:
        """Do something with a connection, and again while the server is away or somebody is in the way.

        With `error`, the first try has been made and ended with it. `is_bearable` says which troubles to wait out.
        """
        end = time.monotonic() + PATIENCE_S
        pause_s, conflicts = _FIRST_PAUSE_S, 0
        while True:
            if error is not None:
                if trouble.is_conflict(error):
                    if time.monotonic() > end:
                        raise trouble.busy(error, self.address)
                    conflicts += 1
                    await asyncio.sleep(random.random() * _CONFLICT_S * min(conflicts, 10))
                elif is_bearable(error):
                    self._lost(error)
                    if time.monotonic() + pause_s > end:
                        raise trouble.away(error, self.address)
                    await asyncio.sleep(pause_s * (0.5 + random.random() / 2))
                    pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
                else:
                    raise trouble.told(error, self.address)
            self._check_usable()
            try:
                answer = await self._pool.run(work)
            except InDoubt:
                raise
            except Exception as again:
                error = again
            else:
                self._answered()
                return answer

    async def attempt(self, sql: str, *args: Any) -> list[Record]:
        """Run a statement once; no patience, no repeating. For what is of no consequence."""
        text = self.text(sql)
        rows: list[Record] = await self._pool.run(lambda connection: connection.fetch(text, *args))
        return rows

    # Connecting

    async def open(self) -> None:
        """Connect, look whether the server will do, and bring the schema up to date. Raises Unavailable or Invalid,
        in one sentence that says what to do."""
        try:
            await self._at_home(self._open())
        except BaseException:
            await self.close()
            raise

    async def _open(self) -> None:
        self._check_usable()
        wanted = opening.texts(self._folder)

        async def look(connection: Connection) -> None:
            clock = await opening.bring_up_to_date(connection, self.address, wanted, self.text)
            if clock is None:
                await self._measure(connection)
            else:
                self.measured(clock, time.monotonic(), time.monotonic())

        # A server that is not there may never be; one that is just starting will be.
        await self._repeatedly(look, is_bearable=trouble.is_passing)

    async def connect(self) -> Connection:
        """A new connection."""
        self._check_usable()
        address = self.address
        settings = {} if address.named else {"application_name": "dibs"}
        connection = await asyncpg.connect(
            address.dsn,
            user=address.user,
            password=address.password,
            database=address.database,
            timeout=address.connect_timeout_s,
            # Behind a pooler the next statement may come to a session that knows nothing of this one's.
            statement_cache_size=0 if address.pooled else 200,
            max_cached_statement_lifetime=0,
            server_settings=settings,
        )
        _keep_alive(connection)
        self._connected_at = time.monotonic()
        return connection

    async def _at_home(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine where the connections live."""
        if self.blocking:
            try:
                self._check_usable()
            except BaseException:
                work.close()
                raise
            if self._portal is None:
                self._portal = Portal()
                self._portal.run(self._settle_in())
            return self._portal.run(work)
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None and self._loop.is_running():
                return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
            await self._settle_in()
        return await work

    async def _settle_in(self) -> None:
        """Begin, or begin anew, in the running event loop."""
        if self._loop is not None:
            self._pool.abandon()
        self._loop = asyncio.get_running_loop()
        self._pool = Pool(self.connect, self.address.pool)
        self._hints = Hints(self, self._channel, listening=not self.address.pooled, sending=self.address.notify)

    def _lost(self, error: BaseException) -> None:
        if not self._away:
            self._away = True
            self._lost_at = time.monotonic()
            log.warning("lost PostgreSQL at %s, reconnecting: %s", self.address.place, trouble.why(error))

    def _answered(self) -> None:
        # While a server goes down, some of its sessions answer longer than others.
        if self._away and (self._connected_at > self._lost_at or time.monotonic() > self._lost_at + _GOING_DOWN_S):
            self._away = False
            log.warning("PostgreSQL at %s is back", self.address.place)
        if time.monotonic() > self._measure_at:
            self._measure_at = time.monotonic() + _MEASURE_EVERY_S
            self._later(self._measure_again())

    # The clock

    def now(self) -> int:
        """The store's clock: the one for tests, else the server's, as it must be by now."""
        if self.clock is not None:
            return self.clock()
        return time.clock_gettime_ns(_TICKING) // 1000 + self._offset_us

    @property
    def at(self) -> int | None:
        """What functions are told as the time: that of the clock for tests; None: they shall ask the server's."""
        return None if self.clock is None else self.clock()

    def measured(self, server_us: int, asked: float, answered: float) -> None:
        """Take note of the server's clock, read between two moments of time.monotonic."""
        since_us = int((time.monotonic() - (asked + answered) / 2) * 1_000_000)
        self._offset_us = server_us + since_us - time.clock_gettime_ns(_TICKING) // 1000
        self._measure_at = answered + _MEASURE_EVERY_S

    async def _measure(self, connection: Connection) -> None:
        asked = time.monotonic()
        self.measured(await connection.fetchval(_CLOCK), asked, time.monotonic())

    async def _measure_again(self) -> None:
        # Whoever wants something of the server will be told what is wrong.
        with suppress(Exception):
            await self._pool.run(self._measure)

    # News

    @property
    def channel(self) -> str | None:
        """Where to send a hint that also this store shall hear of; None if none are to be sent."""
        return self._channel if self.address.notify else None

    def hint(self) -> list[str] | None:
        """A hint that the next statement may send with its commit; None: one will be sent afterwards."""
        if self._portal is not None or self._loop is None or asyncio.get_running_loop() is not self._loop:
            return None
        return self._hints.with_commit()

    def changed(self, hinted: bool = False, took_s: float | None = None) -> None:
        """Something was committed here: wake who waits, tell the others, unless the commit did. `took_s`: how long that
        took, if it was a small one."""
        loop = self._loop
        if loop is None or self._closed:
            return
        if self._portal is None and asyncio.get_running_loop() is loop:
            self._hints.changed(hinted, took_s)
        else:
            loop.call_soon_threadsafe(self._hints.changed, hinted, took_s)

    async def news(self) -> int:
        """A number that changes with every commit, as far as it was heard of."""
        self._check_usable()
        return await self._at_home(self._news())

    async def _news(self) -> int:
        return await self._hints.news()

    async def wait_for_news(self, since: int, timeout_s: float) -> int:
        """Return when `news()` differs from `since`, at the latest after `timeout_s`."""
        self._check_usable()
        return await self._at_home(self._wait_for_news(since, timeout_s))

    async def _wait_for_news(self, since: int, timeout_s: float) -> int:
        number = await self._hints.wait(since, timeout_s)
        self._check_usable()
        return number

    # Living

    def _check_usable(self) -> None:
        if self._closed:
            raise Unavailable(f"The store at {self.address.place} has been closed: connect again.")
        if os.getpid() != self._pid:
            raise Unavailable(
                f"The store at {self.address.place} was opened before this process was forked: connect again in the"
                " new process."
            )

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def close(self) -> None:
        """Finish what was begun, then let go of every connection. Idempotent."""
        if self._closed or os.getpid() != self._pid:
            self._closed = True
            return
        if self._loop is None:
            self._closed = True
            return
        try:
            await self._at_home(self._close())
        finally:
            if self._portal is not None:
                self._portal.close()

    async def _close(self) -> None:
        if self._closed:
            return
        try:
            await self._hints.close()
            if self._marks.used:
                # If this fails, somebody else will, a day later.
                with suppress(Exception):
                    async with asyncio.timeout(_FAREWELL_S):
                        await self._pool.run(self._marks.forget)
        finally:
            self._closed = True
            for task in self._background:
                task.cancel()
            await self._pool.close(PATIENCE_S)


def _keep_alive(connection: Connection) -> None:
    """Have the system notice a server that is gone without a word, in half a minute instead of hours."""
    found = connection._transport.get_extra_info("socket")
    if found is None or found.family not in (socket.AF_INET, socket.AF_INET6):
        return
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", 10),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", 4),
        ("TCP_USER_TIMEOUT", 30_000),
    ):
        if hasattr(socket, name):
            found.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
