"""Connections to PostgreSQL that outlive a test.

On a new one the server first has to read its catalog and to compile what it is asked for, which takes longer than most
tests do. So stores share one event loop, that of the tests or that of a portal, and what a store closes is kept for the
next who connects to the same schema. Only what a store closed politely is kept: what it cut off is cut off.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from dibs.stores.postgres import PostgresStore
from dibs.stores.postgres.portal import Portal
from dibs.sync import drive

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from dibs.stores.postgres.engine import Engine
    from dibs.testing import FakeClock

_FAREWELL_S = 5.0


class Kept:
    """Connections that are kept, by the schema they are for."""

    def __init__(self) -> None:
        self._idle: dict[str, list[Any]] = {}

    def serve(self, engine: Engine) -> None:
        """Have this engine take a kept connection before it opens a new one."""
        idle, settle_in = self._idle.setdefault(engine.url, []), engine._settle_in

        async def lend() -> Any:
            while idle:
                connection = idle.pop()
                if not connection.is_closed():
                    return _Lent(connection, idle)
            return _Lent(await engine.connect(), idle)

        async def settle_in_and_lend() -> None:
            # To the pool only: who listens for news has a connection of its own.
            await settle_in()
            engine._pool._connect = lend

        engine._settle_in = settle_in_and_lend  # type: ignore[method-assign]

    async def close(self) -> None:
        """Close them."""
        for connection in [connection for idle in self._idle.values() for connection in idle]:
            await connection.close(timeout=_FAREWELL_S)


class Lasting:
    """An event loop for tests, and the connections that are kept in it."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._kept = Kept()

    def run(self, test: Coroutine[Any, Any, None]) -> None:
        """Run a test to its end. As with `asyncio.run`, what it leaves behind is cancelled."""
        try:
            self._runner.run(test)
        finally:
            self._runner.run(_tidy())

    async def open(self, url: str, clock: FakeClock) -> PostgresStore:
        """A store that takes a kept connection before it opens a new one."""
        store = PostgresStore(url, clock=clock)
        self._kept.serve(store._engine)
        await store.connect()
        return store

    def close(self) -> None:
        self._runner.run(self._kept.close())
        self._runner.close()


class LastingPortal:
    """The same for stores that block: they share a portal, which outlives them."""

    def __init__(self) -> None:
        self.portal = Portal()
        self._kept = Kept()

    def open(self, url: str, clock: FakeClock) -> PostgresStore:
        """A store that takes a kept connection before it opens a new one."""
        store = PostgresStore(url, clock=clock, blocking=True)
        self._kept.serve(store._engine)
        store._engine._portal = _Lasts(self.portal)
        self.portal.run(store._engine._settle_in())
        drive(store.connect())
        return store

    def close(self) -> None:
        self.portal.run(self._kept.close())
        self.portal.close()


class _Lasts(Portal):
    """A portal as a store sees it; it stays when the store goes."""

    def __init__(self, portal: Portal) -> None:
        self.loop, self._thread = portal.loop, portal._thread

    def close(self) -> None:
        pass


class _Lent:
    """A connection as the store sees it; when it is closed, its session is made as new and it is kept."""

    def __init__(self, connection: Any, kept: list[Any]) -> None:
        self._connection = connection
        self._kept = kept
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def is_closed(self) -> bool:
        return self._is_closed or self._connection.is_closed()

    def terminate(self) -> None:
        self._is_closed = True
        self._connection.terminate()

    async def close(self, *, timeout: float | None = None) -> None:
        if not self._is_closed:
            self._is_closed = True
            await self._connection.reset(timeout=timeout)
            self._kept.append(self._connection)


async def _tidy() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
