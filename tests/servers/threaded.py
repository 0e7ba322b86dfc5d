"""A server in a thread of the test's own process, with a keeper: for whoever blocks, and for workers."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import dibs
from dibs.keeper import Keeper
from tests.servers.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.serving import Open


@contextmanager
def threaded(store: str, authority: Open | None = None, port: int = 0) -> Iterator[str]:
    """The URL of a server on the store at this URL. Its token is `tests.servers.serving.SECRET`."""
    started: list[str] = []
    ready, ended = threading.Event(), threading.Event()

    async def serve() -> None:
        async with dibs.connect(store) as queue, Serving(queue, authority, port) as serving:
            keeping = asyncio.create_task(Keeper(queue).run())
            started.append(serving.url)
            ready.set()
            await asyncio.to_thread(ended.wait)
            keeping.cancel()

    thread = threading.Thread(target=asyncio.run, args=[serve()], daemon=True)
    thread.start()
    assert ready.wait(60), "the server did not start"
    try:
        yield started[0]
    finally:
        ended.set()
        thread.join(60)
