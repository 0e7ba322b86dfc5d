"""A queue on a server passes the suite that every store must pass, whatever store the server has. Wiring only.

Every verb goes over HTTP, to a server of this process on loopback. What tests ask of the store beneath is asked of the
server's own: a client cannot reach it, and should not. All cases run on
SQLite, on the other stores those marked `door`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from dibs import tenancy
from dibs.queue import Queue
from dibs.remote.queue import RemoteQueue
from dibs.stores.memory import MemoryStore
from dibs.stores.redis import RedisStore
from dibs.stores.sqlite import SqliteStore
from dibs.testing.conformance import StoreConformance
from tests.servers.quick import sqlite_file
from tests.servers.serving import Serving

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from pathlib import Path

    from dibs.remote.store import RemoteStore
    from dibs.rules.access import Rights
    from dibs.stores.contract import Store
    from dibs.stores.homes import Homes
    from dibs.testing import FakeClock
    from tests.servers.lasting import Lasting

_ASKED_FROM_AFAR = frozenset(
    {"get", "history", "last_seq", "check", "advise", "news", "wait_for_news", "write_journal", "read_journal"}
)


class Beneath:
    """The store of a server as the tests see it: over HTTP as far as that goes, and by itself for the rest."""

    def __init__(self, far: RemoteStore, store: Store) -> None:
        self._far = far
        self.served = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._far if name in _ASKED_FROM_AFAR else self.served, name)


class Client(RemoteQueue):
    """A client with a server of its own; what tests set on a queue is set there."""

    serving: Serving
    others: list[RemoteQueue]

    async def close(self) -> None:
        for other in self.others:
            await other.close()
        await super().close()
        await self.serving.__aexit__()
        await self.serving.queue.close()

    def kept_at(self, place: str) -> Client:
        """A client of another server on the same store, with large values at this place."""
        serving = Serving(Queue(self.serving.queue.store, artifacts=place))
        serving.begin()
        other = client_of(serving)
        self.others.append(other)
        return other

    def seen_by(self, rights: Rights, homes: Homes) -> RemoteQueue:
        """A client with a token that allows no more than this."""
        other = self.serving.connect(self.serving.authority.token_for(rights))
        other.store = cast("Store", Beneath(other._far, tenancy.seen_by(self.serving.queue, rights, homes).store))
        self.others.append(other)
        return other

    @property
    def prices(self) -> Any:
        return self.serving.queue.prices

    @prices.setter
    def prices(self, prices: Any) -> None:
        if hasattr(self, "serving"):
            self.serving.queue.prices = prices
            self.serving.serve(self.serving.queue)

    @property
    def project(self) -> str:
        return self.serving.authority.project

    @project.setter
    def project(self, project: str) -> None:
        if hasattr(self, "serving"):
            self.serving.authority.project = project


def client_of(serving: Serving) -> Client:
    """A client of this server."""
    client: Any = serving.connect()
    client.__class__ = Client
    client.serving, client.others = serving, []
    client.store = Beneath(client._far, serving.queue.store)
    return client  # type: ignore[no-any-return]


async def served(queue: Queue) -> Client:
    """A client of a server on this queue's store."""
    return client_of(await Serving(queue).__aenter__())


class OverHttp(StoreConformance):
    beneath = False


class TestHttpMemory(OverHttp):
    cases = "door"

    @pytest.fixture(autouse=True)
    def storage(self, tmp_path: Path) -> None:
        self.name = str(tmp_path)

    async def open_queue(self, clock: FakeClock) -> Queue:
        return await served(Queue(MemoryStore(self.name, clock=clock)))


class TestHttpPostgres(OverHttp):
    cases = "door"

    @pytest.fixture(autouse=True)
    def storage(self, postgres_url: str, lasting: Lasting) -> None:
        self.url, self.lasting = postgres_url, lasting

    def run_in_loop(self, test: Coroutine[Any, Any, None]) -> None:
        self.lasting.run(test)

    async def open_queue(self, clock: FakeClock) -> Queue:
        return await served(Queue(await self.lasting.open(self.url, clock)))


class TestHttpRedis(OverHttp):
    cases = "door"

    @pytest.fixture(autouse=True)
    def storage(self, redis_url: str) -> None:
        self.url = redis_url

    async def open_queue(self, clock: FakeClock) -> Queue:
        store = RedisStore(self.url, clock=clock)
        await store.connect()
        return await served(Queue(store))


class TestHttpSqlite(OverHttp):
    @pytest.fixture(autouse=True)
    def storage(self, tmp_path: Path) -> None:
        self.path = str(sqlite_file(tmp_path / "dibs.db"))

    async def open_queue(self, clock: FakeClock) -> Queue:
        return await served(Queue(SqliteStore.open(self.path, clock=clock)))
