"""One server for many stories: each has a store of its own behind it, and the tokens of every role."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import dibs
from dibs.model.role import Role
from dibs.server.authority import StoreAuthority
from dibs.server.callers import Caller
from tests.servers.serving import Open, Serving

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from dibs.queue import Queue

TOKENS = {str(role): f"dibs_{role}_of_the_stories_0123456789" for role in Role}
"""The secret of each role."""
_CALLERS = {secret: Caller(name=role, role=Role(role), token_id=role) for role, secret in TOKENS.items()}


class Known(Open):
    """An authority that knows a caller of each role, those whom the store knows, and keeps the audit there."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: StoreAuthority | None = None

    async def identify(self, secret: str) -> Caller | None:
        if secret in _CALLERS or self.kept is None:
            return _CALLERS.get(secret)
        return await self.kept.identify(secret)

    async def record(self, caller: Caller | None, act: str, target: str, outcome: str) -> None:
        if self.kept is not None:
            await self.kept.record(caller, act, target, outcome)


class Host:
    """A server that runs. `serves` puts another store behind it."""

    def __init__(self, serving: Serving, authority: Known, loop: asyncio.AbstractEventLoop) -> None:
        self.url = serving.url
        self._serving = serving
        self._authority = authority
        self._loop = loop

    @contextmanager
    def serves(self, store: str) -> Iterator[str]:
        """The URL of the server, with the store at this URL behind it until the block ends."""
        queue = self._inside(self._open(store))
        try:
            yield self.url
        finally:
            self._inside(self._close(queue))

    async def _open(self, store: str) -> Queue:
        queue = await dibs.connect(store)
        self._authority.kept = StoreAuthority(queue)
        self._serving.serve(queue)
        return queue

    async def _close(self, queue: Queue) -> None:
        self._serving.app.state.desk.let_go()
        if self._authority.kept is not None:
            await self._authority.kept.close()
        await queue.close()

    def _inside(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)


@contextmanager
def hosting() -> Iterator[Host]:
    """A server in a thread of its own, until the block ends."""
    started: list[Host] = []
    ready, ended = threading.Event(), threading.Event()

    async def serve() -> None:
        authority = Known()
        async with dibs.connect("memory:") as queue, Serving(queue, authority) as serving:
            started.append(Host(serving, authority, asyncio.get_running_loop()))
            ready.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=asyncio.run, args=[serve()], daemon=True)
    thread.start()
    assert ready.wait(60), "the server did not start"
    try:
        yield started[0]
    finally:
        ended.set()
        thread.join(60)
