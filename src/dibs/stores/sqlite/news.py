"""Hearing of commits: those of this process at once, those of others by looking at a counter that SQLite keeps."""

from __future__ import annotations

import time
from _thread import allocate_lock
from typing import TYPE_CHECKING

import apsw

from dibs.stores.sqlite import opening

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Collection


class News:
    """A connection that does nothing but look whether anybody committed, and those who wait for it.

    `check_usable` raises once the store can no longer be used; it is asked before each look.
    """

    def __init__(self, path: str, check_usable: Callable[[], None]) -> None:
        self._path = path
        self._check_usable = check_usable
        self._mutex = allocate_lock()
        self._watcher: apsw.Connection | None = None
        self._waiters: dict[asyncio.AbstractEventLoop, set[asyncio.Future[None]]] = {}
        self.shortest_s = 0.0
        """How long a pause between two looks is at least; commits of this process are heard of at once all the same."""
        self._seen = -1
        self._changed_at = 0.0

    def number(self) -> int:
        """A number that changes with every commit of any process."""
        self._check_usable()
        with self._mutex:
            try:
                if self._watcher is None:
                    self._watcher = opening.connect(self._path)
                version = int(self._watcher.execute("PRAGMA data_version").get)
            except apsw.Error as error:
                raise opening.unavailable(error, self._path) from error
        if version != self._seen:
            self._seen = version
            self._changed_at = time.monotonic()
        return version

    def block_until_news(self, since: int, timeout_s: float) -> int:
        """Wait in this thread until the number differs from `since`, at the latest after `timeout_s`."""
        end = time.monotonic() + timeout_s
        while True:
            version = self.number()
            left = end - time.monotonic()
            if version != since or left <= 0:
                return version
            time.sleep(min(self._pause_s(), left))

    async def sleep_until_news(self, since: int, timeout_s: float) -> int:
        """The same in this event loop."""
        import asyncio

        end = time.monotonic() + timeout_s
        loop = asyncio.get_running_loop()
        while True:
            # Registered before looking, so that no commit falls between the look and the wait.
            waiter = loop.create_future()
            waiters = self._waiters.setdefault(loop, set())
            waiters.add(waiter)
            timer = None
            try:
                version = self.number()
                left = end - time.monotonic()
                if version != since or left <= 0:
                    return version
                timer = loop.call_later(min(self._pause_s(), left), wake, (waiter,))
                await waiter
            finally:
                waiters.discard(waiter)
                if not waiters:
                    self._waiters.pop(loop, None)
                if timer is not None:
                    timer.cancel()

    def loops(self) -> list[asyncio.AbstractEventLoop]:
        """The event loops in which somebody waits. Safe to call from any thread."""
        return list(self._waiters)

    def waiters(self, loop: asyncio.AbstractEventLoop) -> Collection[asyncio.Future[None]]:
        """Who waits in a loop; to be woken there."""
        return self._waiters.get(loop, ())

    def forget(self, loop: asyncio.AbstractEventLoop) -> None:
        """That loop has been closed: nobody waits in it any more."""
        self._waiters.pop(loop, None)

    def close(self) -> None:
        """Let go of the file."""
        with self._mutex:
            if self._watcher is not None:
                self._watcher.close()

    def _pause_s(self) -> float:
        """How long until the next look: the longer nothing happens, the less often."""
        quiet = time.monotonic() - self._changed_at
        if quiet < 0.5:
            pause_s = 0.001
        elif quiet < 5:
            pause_s = 0.002
        else:
            pause_s = 0.005 if quiet < 60 else 0.02
        return max(pause_s, self.shortest_s)


def wake(waiters: Collection[asyncio.Future[None]]) -> None:
    """In their loop: let them look."""
    for waiter in tuple(waiters):
        if not waiter.done():
            waiter.set_result(None)
