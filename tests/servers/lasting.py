"""Connections to PostgreSQL that outlive a test.

On a new one the server first has to read its catalog and to compile what it is asked for, which takes longer than most
tests do. So they all run in one event loop, and what a store closes is kept for the next who connects to the same
schema. Only what a store closed politely is kept: what it cut off is cut off.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from dibs.stores.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from dibs.testing import FakeClock

_FAREWELL_S = 5.0


class Lasting:
    """An event loop, and the connections that are kept in it."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._kept: dict[str, list[Any]] = {}

    def run(self, test: Coroutine[Any, Any, None]) -> None:
        """Run a test to its end. As with `asyncio.run`, what it leaves behind is cancelled."""
        try:
            self._runner.run(test)
        finally:
            self._runner.run(_tidy())

    async def open(self, url: str, clock: FakeClock) -> PostgresStore:
        """A store that takes a kept connection before it opens a new one."""
        store = PostgresStore(url, clock=clock)
        engine = store._engine
        kept, settle_in = self._kept.setdefault(url, []), engine._settle_in

        async def lend() -> Any:
            while kept:
                connection = kept.pop()
                if not connection.is_closed():
                    return _Lent(connection, kept)
            return _Lent(await engine.connect(), kept)

        async def settle_in_and_lend() -> None:
            # To the pool only: who listens for news has a connection of its own.
            await settle_in()
            engine._pool._connect = lend

        engine._settle_in = settle_in_and_lend  # type: ignore[method-assign]
        await store.connect()
        return store

    def close(self) -> None:
        async def close() -> None:
            for connection in [connection for kept in self._kept.values() for connection in kept]:
                await connection.close(timeout=_FAREWELL_S)

        self._runner.run(close())
        self._runner.close()


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
