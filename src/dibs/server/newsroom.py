"""One watcher of the store's news for all of a server's waiters: it costs the same whether one waits or a thousand."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.stores.contract import Store

PAUSE_S = 0.02
LOOK_S = 5.0
"""News are hints: after so long whoever waits looks for themselves."""


class Newsroom:
    """Wakes everybody who waits when anything was committed. Watches only while somebody waits."""

    def __init__(self, store: Store) -> None:
        self.store = store
        """The whole of it, with what happens in every project."""
        self._number = 0
        self._waiting: set[asyncio.Future[None]] = set()
        self._watch: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._waiting)

    async def number(self) -> int:
        """The store's number of news, now."""
        return await self.store.news()

    async def wait(self, since: int, timeout_s: float) -> None:
        """Until the number differs from `since`, at the latest after this long. Raises what watching raised."""
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        # Registered before looking, so that no commit falls between the look and the wait.
        self._waiting.add(waiter)
        timer = loop.call_later(min(timeout_s, LOOK_S), _wake, waiter)
        try:
            if self._watch is None:
                self._number = since
                self._watch = asyncio.ensure_future(self._run())
            elif await self.number() != since:
                return
            await waiter
        finally:
            timer.cancel()
            self._waiting.discard(waiter)

    async def close(self) -> None:
        """Let everybody go."""
        if self._watch is not None:
            self._watch.cancel()
        self._rouse(None)

    async def _run(self) -> None:
        error: Exception | None = None
        try:
            look_every = getattr(self.store, "look_every", None)
            if look_every is not None:
                # A store that has to look for news need not do so a thousand times a second while a server idles.
                await look_every(PAUSE_S)
            while self._waiting:
                number = await self.store.wait_for_news(self._number, LOOK_S)
                if number != self._number:
                    self._number = number
                    self._rouse(None)
                    # Those who were woken may wait again before the watch is over.
                    await asyncio.sleep(0)
        except Exception as raised:
            error = raised
        finally:
            self._watch = None
            self._rouse(error)

    def _rouse(self, error: Exception | None) -> None:
        for waiter in tuple(self._waiting):
            if waiter.done():
                continue
            if error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(error)


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
