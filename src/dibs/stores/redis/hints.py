"""Hearing that something was committed: a connection that listens, and polling behind it."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from redis import exceptions

if TYPE_CHECKING:
    import asyncio

    from dibs.stores.redis.engine import Engine
    from dibs.stores.redis.talking import Talk

CONFIRM_S = 1.0
"""How often those who wait look for themselves: hints can be lost."""
LISTEN_S = 0.5


class Hints:
    """Those who wait for news of one store. The first of them starts to listen."""

    def __init__(self, engine: Engine, channel: str) -> None:
        self._engine = engine
        self._channel = channel
        self._heard = threading.Condition()
        self._count = 0
        self._sleepers: dict[asyncio.Future[None], asyncio.AbstractEventLoop] = {}
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()
        self._closed = False

    @property
    def count(self) -> int:
        """How often something was heard so far."""
        return self._count

    def listen(self) -> None:
        """From now on nothing is missed, unless the connection is lost."""
        with self._heard:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._listen, name="dibs-redis-hints", daemon=True)
                self._thread.start()
        self._ready.wait(1.0)

    def _listen(self) -> None:
        delay_s = 0.05
        while not self._closed:
            talk: Talk | None = None
            try:
                # Short waits, so that closing need not wait long.
                talk = self._engine.new_talk(LISTEN_S)
                talk.ask([("SUBSCRIBE", self._channel)])
                self._ready.set()
                delay_s = 0.05
                while not self._closed:
                    with suppress(exceptions.TimeoutError):
                        talk.hear()
                        self._tell()
            except Exception:
                # Whoever waits polls meanwhile.
                time.sleep(delay_s)
                delay_s = min(2.0, delay_s * 2)
            finally:
                self._ready.set()
                if talk is not None:
                    talk.close()

    def _tell(self) -> None:
        with self._heard:
            self._count += 1
            self._heard.notify_all()
            for alarm, loop in self._sleepers.items():
                try:
                    loop.call_soon_threadsafe(_ring, alarm)
                except RuntimeError:
                    # That loop was closed while someone waited in it.
                    pass
            self._sleepers.clear()

    def block(self, since: int, timeout_s: float) -> None:
        """Wait in this thread until something is heard after `since`."""
        with self._heard:
            self._heard.wait_for(lambda: self._count != since or self._closed, timeout_s)

    async def sleep(self, since: int, timeout_s: float) -> None:
        """Wait in this event loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        alarm = loop.create_future()
        with self._heard:
            if self._count != since or self._closed:
                return
            self._sleepers[alarm] = loop
        try:
            await asyncio.wait([alarm], timeout=timeout_s)
        finally:
            with self._heard:
                self._sleepers.pop(alarm, None)

    def close(self) -> None:
        self._closed = True
        self._tell()


def _ring(alarm: asyncio.Future[Any]) -> None:
    if not alarm.done():
        alarm.set_result(None)
