"""A few connections, handed out one statement at a time.

The driver's own pool asks the server to reset a session whenever a connection comes back: a round trip for each
statement. Nothing here leaves anything behind in a session, so nothing is reset.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import asyncpg

from dibs.stores.postgres.finishing import Finished

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

T = TypeVar("T")

Connection = Any
"""The driver has no types."""

_FAREWELL_S = 2.0


class Pool:
    """At most `size` connections, opened when they are needed; the last one used is the first to be used again.

    Who finds none free waits in line. Broken connections are dropped when they come back or are about to be
    handed out.
    """

    def __init__(self, connect: Callable[[], Awaitable[Connection]], size: int) -> None:
        self._connect = connect
        self._free = size
        """How many more may be opened."""
        self._idle: list[Connection] = []
        self._line: deque[asyncio.Future[Connection | None]] = deque()
        self._running: set[Connection] = set()
        self._last: asyncio.Future[None] | None = None
        """Who closes waits for the last one that is running."""
        self._closed = False

    async def run(self, work: Callable[[Connection], Coroutine[Any, Any, T]]) -> T:
        """Do `work` with a connection that nobody else uses meanwhile.

        Who is cancelled while waiting for a connection just leaves the line. Who is cancelled while `work` is being
        done leaves at once too, but the work goes on to its end, and only then the connection is free again: a
        statement is never torn, and no connection is handed out with somebody's statement still running on it.
        """
        connection = await self._take()
        self._running.add(connection)
        return await Finished(work(connection), lambda error: self._ended(connection, error))

    def _ended(self, connection: Connection, error: BaseException | None) -> None:
        self._running.discard(connection)
        if _is_sound(connection, error) and not self._closed:
            self._pass_on(connection)
        else:
            connection.terminate()
            self._pass_on(None)
        if self._last is not None and not self._running and not self._last.done():
            self._last.set_result(None)

    async def _take(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._free += 1
        if self._free:
            self._free -= 1
        else:
            waiter: asyncio.Future[Connection | None] = asyncio.get_running_loop().create_future()
            self._line.append(waiter)
            try:
                given = await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._pass_on(waiter.result())
                elif waiter in self._line:
                    self._line.remove(waiter)
                raise
            if given is not None:
                return given
        # A place is ours, and a connection for it has to be opened.
        try:
            opened = await self._connect()
        except BaseException:
            self._pass_on(None)
            raise
        if self._closed:
            opened.terminate()
            raise ConnectionError("it was opened too late")
        return opened

    def _pass_on(self, connection: Connection | None) -> None:
        """Hand a connection, or the place of one that is gone, to the first in line; else keep it."""
        while self._line:
            waiter = self._line.popleft()
            if not waiter.done():
                waiter.set_result(connection)
                return
        if connection is None:
            self._free += 1
        else:
            self._idle.append(connection)

    async def close(self, patience_s: float) -> None:
        """Let what still runs come to its end, for so long; then close everything."""
        if self._running:
            self._last = asyncio.get_running_loop().create_future()
            await asyncio.wait({self._last}, timeout=patience_s)
        self._closed = True
        for connection in self._running:
            connection.terminate()
        idle, self._idle = self._idle, []
        self._free += len(idle)
        await asyncio.gather(*(farewell(connection) for connection in idle))

    def abandon(self) -> None:
        """Forget all connections: the event loop they belong to is gone."""
        for connection in (*self._idle, *self._running):
            with suppress(RuntimeError):
                connection.terminate()


def _is_sound(connection: Connection, error: BaseException | None) -> bool:
    """Whether a connection can be used again after what was done with it."""
    if error is not None and (not isinstance(error, Exception) or isinstance(error, asyncpg.InternalClientError)):
        # If it was cut off: the event loop is being shut down, and the statement may still be running over there.
        return False
    return not connection.is_closed() and not connection.is_in_transaction()


async def farewell(connection: Connection) -> None:
    """Close a connection politely, or else at once."""
    try:
        await connection.close(timeout=_FAREWELL_S)
    except Exception:
        connection.terminate()
