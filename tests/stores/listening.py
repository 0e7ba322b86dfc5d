"""Waiting for news of a PostgreSQL store begins once its listener is there: that one comes, is news as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.artifacts.overflow import beneath
from dibs.stores.following import Follower

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.stores.postgres.engine import Engine


def engine_of(queue: Queue) -> Engine:
    """What runs the statements of a queue, however it was opened."""
    store: Any = beneath(queue.store)
    if isinstance(store, Follower):
        store = store._store
    engine: Engine = store._engine
    return engine


async def settled_news(engine: Engine) -> int:
    """The number of an engine that listens, if it ever will, and of which nothing more is heard."""
    number = await engine.news()
    while (newer := await engine.wait_for_news(number, 0.5)) != number or not _listens(engine):
        number = newer
    return number


def _listens(engine: Engine) -> bool:
    return engine.address.pooled or engine._hints._listener is not None
