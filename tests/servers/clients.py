"""What tests of the PostgreSQL store begin with: one queue on a database, its engine, or two clients in every order."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from dibs.artifacts.overflow import beneath
from dibs.queue import Queue
from dibs.stores.postgres import PostgresStore
from tests.servers.stepping import Stage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def on(url: str, test: Callable[[Queue], Awaitable[None]]) -> None:
    """Run a test with a queue on this database."""

    async def run() -> None:
        store = PostgresStore(url)
        await store.connect()
        async with Queue(store) as queue:
            await test(queue)

    asyncio.run(run())


def engine_of(queue: Queue) -> Any:
    """What runs the statements of a queue."""
    store = beneath(queue.store)
    assert isinstance(store, PostgresStore)
    return store._engine


def every_order(
    url: str,
    prepare: Any,
    verbs: Any,
    check: Any,
    *,
    first: Callable[[Queue], Awaitable[Any]] | None = None,
    at_least: int = 2,
) -> None:
    """As `Stage.every_order`, after `first`; there are at least so many orders."""

    async def run() -> None:
        async with Stage(url) as stage:
            if first is not None:
                await first(stage.queue)
            assert await stage.every_order(prepare, verbs, check) >= at_least

    asyncio.run(run())
