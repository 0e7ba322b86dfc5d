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
        self._running: dict[asyncio.Task[Any], Connection] = {}
        self._closed = False

    async def run(self, work: Callable[[Connection], Coroutine[Any, Any, T]]) -> T:
        """Do `work` with a connection that nobody else uses meanwhile.

        Who is cancelled while waiting for a connection just leaves the line. Who is cancelled while `work` is being
        done leaves at once too, but the work goes on to its end, and only then the connection is free again: a
        statement is never torn, and no connection is handed out with somebody's statement still running on it.
        """
        connection = await self._take()
        # In a task of its own, which whoever cancels the caller cannot reach.
        task = asyncio.create_task(work(connection))
        self._running[task] = connection
        awake = asyncio.get_running_loop().create_future()
        task.add_done_callback(lambda task: self._ended(task, awake))
        await awake
        return task.result()

    def _ended(self, task: asyncio.Task[Any], awake: asyncio.Future[None]) -> None:
        connection = self._running.pop(task)
        if _is_sound(connection, task) and not self._closed:
            self._pass_on(connection)
        else:
            connection.terminate()
            self._pass_on(None)
        if not awake.done():
            awake.set_result(None)

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
                else:
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
            await asyncio.wait(self._running, timeout=patience_s)
        self._closed = True
        for connection in self._running.values():
            connection.terminate()
        idle, self._idle = self._idle, []
        self._free += len(idle)
        await asyncio.gather(*(farewell(connection) for connection in idle))

    def abandon(self) -> None:
        """Forget all connections: the event loop they belong to is gone."""
        for connection in (*self._idle, *self._running.values()):
            with suppress(RuntimeError):
                connection.terminate()


def _is_sound(connection: Connection, task: asyncio.Task[Any]) -> bool:
    """Whether a connection can be used again after what was done with it."""
    if task.cancelled():
        # The event loop is being shut down, and the statement may still be running over there.
        return False
    # Asking for the error also marks it as seen, should nobody be left who looks.
    if isinstance(task.exception(), asyncpg.InternalClientError):
        return False
    return not connection.is_closed() and not connection.is_in_transaction()


async def farewell(connection: Connection) -> None:
    """Close a connection politely, or else at once."""
    try:
        await connection.close(timeout=_FAREWELL_S)
    except Exception:
        connection.terminate()
