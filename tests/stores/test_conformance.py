"""The stores that dibs brings with it pass the suite that everybody's store must pass. Wiring only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.queue import Queue
from dibs.stores.memory import MemoryStore
from dibs.stores.redis import RedisStore
from dibs.stores.sqlite import SqliteStore
from dibs.testing.conformance import StoreConformance
from tests.servers.quick import sqlite_file

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from dibs.testing import FakeClock
    from tests.servers.lasting import Lasting


class TestMemory(StoreConformance):
    @pytest.fixture(autouse=True)
    def storage(self, tmp_path: Path) -> None:
        self.name = str(tmp_path)

    async def open_queue(self, clock: FakeClock) -> Queue:
        return Queue(MemoryStore(self.name, clock=clock))


class TestPostgres(StoreConformance):
    @pytest.fixture(autouse=True)
    def storage(self, postgres_url: str, lasting: Lasting) -> None:
        self.url, self.lasting = postgres_url, lasting

    def run_in_loop(self, test: Coroutine[Any, Any, None]) -> None:
        self.lasting.run(test)

    async def open_queue(self, clock: FakeClock) -> Queue:
        return Queue(await self.lasting.open(self.url, clock))


class TestRedis(StoreConformance):
    @pytest.fixture(autouse=True)
    def storage(self, redis_url: str) -> None:
        self.url = redis_url

    async def open_queue(self, clock: FakeClock) -> Queue:
        store = RedisStore(self.url, clock=clock)
        await store.connect()
        return Queue(store)


class TestRedisCluster(StoreConformance):
    cases = "routing"

    @pytest.fixture(autouse=True)
    def storage(self, redis_cluster_url: str) -> None:
        self.url = redis_cluster_url

    async def open_queue(self, clock: FakeClock) -> Queue:
        store = RedisStore(self.url, clock=clock)
        await store.connect()
        return Queue(store)


class TestSqlite(StoreConformance):
    @pytest.fixture(autouse=True)
    def storage(self, tmp_path: Path) -> None:
        self.path = str(sqlite_file(tmp_path / "dibs.db"))

    async def open_queue(self, clock: FakeClock) -> Queue:
        return Queue(SqliteStore.open(self.path, clock=clock))


def test_no_test_of_the_suite_hides_another() -> None:
    """All topics become one class: of two tests with one name only one would run."""
    topics = [topic for topic in StoreConformance.__mro__ if topic is not StoreConformance]
    names = [name for topic in topics for name in vars(topic) if name.startswith("test_")]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
