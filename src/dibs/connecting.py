"""Opening a queue inside an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.queue import Queue
from dibs.requests import is_remote, refuse_token, retention_s
from dibs.stores import chosen, open_store
from dibs.stores.following import following

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from dibs.rules.retry import PoisonPolicy


_UNOPENED = (
    "write `queue = await dibs.connect(…)` or `async with dibs.connect(…) as queue`; where there is no event loop,"
    " `with dibs.connect_sync(…) as queue`"
)


class Connecting:
    """What `dibs.connect` returns: `await` it for a queue, or use it as `async with` to have it closed."""

    def __init__(self, open_queue: Callable[[], Queue]) -> None:
        self._open_queue = open_queue
        self._queue: Queue | None = None

    async def _open(self) -> Queue:
        import asyncio

        # A file may have to be created or brought up to date first, or be locked: the event loop goes on meanwhile.
        queue = await asyncio.to_thread(self._open_queue)
        await queue.store.connect()
        self._queue = queue
        return queue

    def __await__(self) -> Generator[Any, None, Queue]:
        return self._open().__await__()

    async def __aenter__(self) -> Queue:
        return await self._open()

    async def __aexit__(self, *_: object) -> None:
        assert self._queue is not None
        await self._queue.close()

    if not TYPE_CHECKING:
        # Type checkers know already; everybody else is told what to write.

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"{_UNOPENED}, before .{name}", name=name, obj=self)

        def __enter__(self) -> Any:
            raise TypeError(_UNOPENED)

        def __exit__(self, *_: object) -> None:
            """Never reached; but without it `with` says less."""


def connect(
    url: str | None = None,
    *,
    token: str | None = None,
    retention: Any = None,
    poison: PoisonPolicy | None = None,
    artifacts: str | None = None,
    clock: Callable[[], int] | None = None,
    project: str = "default",
) -> Connecting:
    """Open a queue: `queue = await dibs.connect()`, or `async with dibs.connect() as queue`.

    URLs: `memory:` (private), `memory:name` (shared inside the process), `sqlite:path/to/file.db`,
    `postgresql://user:password@host:port/database?schema=dibs`, `redis://user:password@host:port/0?namespace=dibs`,
    `http://host:3427` (a server; `dibs[http]`).
    Without one: `$DIBS_URL`, else the nearest `.dibs/dibs.db` upwards from the working directory, else it is created
    here.
    `retention` is how long this process keeps what ended when it prunes (`$DIBS_RETENTION`, else 7 days); `poison` is
    when a task is given up as harmful. `artifacts` is the URL of the place where their bytes are kept
    (`$DIBS_ARTIFACTS`, `dibs.toml`, else a folder beside an SQLite file, or memory). `clock` is for tests. `token` is
    for servers (else `$DIBS_TOKEN`), where the rest of this is said by whoever runs them.
    """

    def open_queue() -> Queue:
        if is_remote(where := chosen(url)):
            from dibs.remote.opening import open_remote

            settings = {"retention": retention, "poison": poison, "artifacts": artifacts, "clock": clock}
            return open_remote(where, token=token, **settings)
        refuse_token(token)
        kept_s = retention_s(retention)
        store = following(open_store(url, clock=clock), lambda there: open_store(there, clock=clock))
        return Queue(store, poison=poison, retention_s=kept_s, project=project, artifacts=artifacts)

    return Connecting(open_queue)
