"""One state, many stores: whoever opens `memory:name` in this process shares it, from any thread or loop.

A named state lives while some store has it open.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from dibs.stores.ledger import dags, locks
from dibs.stores.ledger.state import State

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from types import TracebackType


class Shared:
    """A state behind a lock, and those who wait for it to change. Use it in a `with` statement."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._state = State(clock)
        self._lock = threading.RLock()
        self._commits = threading.Condition(self._lock)
        self._sleepers: dict[asyncio.Future[None], asyncio.AbstractEventLoop] = {}
        self.news = 0

    def use_clock(self, clock: Callable[[], int]) -> None:
        """The store has one clock: the one that was given last."""
        self._state.clock = clock

    def now(self) -> int:
        return self._state.clock()

    def __enter__(self) -> State:
        """One atomic step, at one instant."""
        self._lock.acquire()
        try:
            self._state.now = self._state.clock()
        except BaseException:
            self._lock.release()
            raise
        return self._state

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Commit: what became free is unparked, dags follow their tasks, and whoever waits hears of it."""
        try:
            locks.follow(self._state)
            dags.follow(self._state)
            if self._state.changed:
                self._state.changed = False
                self.news += 1
                self._wake()
        finally:
            self._lock.release()

    def block_until_news(self, since: int, timeout_s: float) -> int:
        """Wait in this thread."""
        with self._commits:
            self._commits.wait_for(lambda: self.news != since, timeout_s)
            return self.news

    async def sleep_until_news(self, since: int, timeout_s: float) -> int:
        """Wait in this event loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        alarm = loop.create_future()
        with self._lock:
            if self.news != since:
                return self.news
            self._sleepers[alarm] = loop
        try:
            await asyncio.wait([alarm], timeout=timeout_s)
        finally:
            with self._lock:
                self._sleepers.pop(alarm, None)
        return self.news

    def _wake(self) -> None:
        self._commits.notify_all()
        for alarm, loop in self._sleepers.items():
            try:
                loop.call_soon_threadsafe(_ring, alarm)
            except RuntimeError:
                # That loop was closed while someone waited in it.
                pass
        self._sleepers.clear()


def _ring(alarm: asyncio.Future[Any]) -> None:
    if not alarm.done():
        alarm.set_result(None)


_named: WeakValueDictionary[str, Shared] = WeakValueDictionary()
_opening = threading.Lock()


def open_shared(name: str | None, clock: Callable[[], int] | None) -> Shared:
    """The state of this name, made if nobody has it open; without a name always a new one."""
    with _opening:
        shared = _named.get(name) if name else None
        if shared is None:
            shared = Shared(clock or _system_clock)
            if name:
                _named[name] = shared
        elif clock is not None:
            shared.use_clock(clock)
        return shared


def _system_clock() -> int:
    return time.time_ns() // 1000
