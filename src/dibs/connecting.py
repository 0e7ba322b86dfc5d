"""Opening a queue inside an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.queue import Queue
from dibs.stores import open_store

if TYPE_CHECKING:
    from collections.abc import Generator


class Connecting:
    """What `dibs.connect` returns: `await` it for a queue, or use it as `async with` to have it closed."""

    def __init__(self, url: str | None, options: dict[str, Any]) -> None:
        self._url = url
        self._options = options
        self._queue: Queue | None = None

    async def _open(self) -> Queue:
        options = dict(self._options)
        self._queue = Queue(open_store(self._url, clock=options.pop("clock", None)), **options)
        return self._queue

    def __await__(self) -> Generator[Any, None, Queue]:
        return self._open().__await__()

    async def __aenter__(self) -> Queue:
        return await self._open()

    async def __aexit__(self, *_: object) -> None:
        assert self._queue is not None
        await self._queue.close()


def connect(url: str | None = None, *, token: str | None = None, **options: Any) -> Connecting:
    """Open a queue: `queue = await dibs.connect()`, or `async with dibs.connect() as queue`.

    URLs: `memory:` (private), `memory:name` (shared inside the process), `sqlite:path/to/file.db`. Without one:
    `$DIBS_URL`, else the nearest `.dibs/dibs.db` upwards from the working directory, else it is created here.
    """
    return Connecting(url, options)
