"""Stores side by side: the same clock, ids and draws — and everything they know, laid open to compare."""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from dibs.errors import DibsError
from dibs.pricing import Prices
from dibs.queue import Queue
from dibs.rules.pricing import Rate, Table
from dibs.stores.memory import MemoryStore
from dibs.stores.redis import RedisStore
from dibs.stores.sqlite import SqliteStore
from dibs.sync import drive
from tests.servers.quick import place, sqlite_file

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Coroutine
    from contextlib import ExitStack

    from dibs.stores.contract import Store
    from dibs.testing import FakeClock
    from tests.servers.postgres import Schemas
    from tests.servers.redis import Namespaces


_ASKED: dict[bytes, dict[str, Any]] = {}
"""What stores said of single tasks and dags, by their whole content."""


class World:
    """One store under test, driven without an event loop."""

    def __init__(self, name: str, store: Store) -> None:
        self.name = name
        self.store = store
        self.draw = 0.5
        self.written: Callable[[], object] | None = None
        """What is in the store, as it is kept there; if that is given, single tasks and dags are asked for once for the
        same content."""
        self._numbers = itertools.count(1)
        self._seen = 0
        self.queue = self._open(store)

    def _open(self, store: Store) -> Queue:
        prices = Prices(Table({"large": Rate(300_000, 500_000)}))
        return Queue(store, draw=lambda: self.draw, new_id=self._new_id, prices=prices, blocking=True)

    def settle_in(self, store: Store) -> None:
        """Go on in another store, to which everything was carried."""
        self.close()
        self.store, self.queue = store, self._open(store)

    def _new_id(self, prefix: str) -> str:
        return f"{prefix}_{next(self._numbers):026d}"

    def call(self, verb: Callable[[Queue, int], Coroutine[Any, Any, Any]], number: int) -> tuple[Any, Any]:
        """The answer, and the same in plain values that two worlds must agree on. An error is an answer."""
        try:
            answer = drive(verb(self.queue, number))
        except DibsError as error:
            return error, (type(error).__name__, error.code)
        return answer, plain(answer)

    def read(self, question: Coroutine[Any, Any, Any]) -> Any:
        return drive(question)

    def close(self) -> None:
        drive(self.queue.close())

    def new_events(self) -> dict[str, list[Any]]:
        """What happened since the last call, told per task or dag: inside one commit their order is free."""
        told: dict[str, list[Any]] = {}
        while events := self.read(self.store.events(self._seen, 1000)):
            for event in events:
                if event.type == "gap":
                    self._seen = event.seq
                    continue
                assert event.seq == self._seen + 1, f"{self.name}: event {event.seq} follows {self._seen}"
                self._seen = event.seq
                values = plain(event)
                del values["seq"]
                told.setdefault(event.task_id or event.dag_id or event.agent or "", []).append(values)
        return told

    def state(self, task_ids: list[str], dag_ids: list[str], asked: Container[str] | None = None) -> dict[str, Any]:
        """What the store knows: every field of these tasks, and by its name what is asked for; None: everything."""
        known = self._of_each(task_ids, dag_ids, asked)
        return known | {name: read() for name, read in self._of_all().items() if asked is None or name in asked}

    def _of_each(self, task_ids: list[str], dag_ids: list[str], asked: Container[str] | None) -> dict[str, Any]:
        if self.written is None:
            return self._asked_of_each(task_ids, dag_ids, asked)
        content = repr((self.name, self.store.now(), task_ids, dag_ids, asked, self.written())).encode()
        name = blake2b(content, digest_size=32).digest()
        if name not in _ASKED:
            _ASKED[name] = self._asked_of_each(task_ids, dag_ids, asked)
        return dict(_ASKED[name])

    def _asked_of_each(self, task_ids: list[str], dag_ids: list[str], asked: Container[str] | None) -> dict[str, Any]:
        tasks = dict(zip(task_ids, self.read(self.store.get(task_ids)), strict=True))
        known = {task_id: plain(task) for task_id, task in tasks.items()}
        topics: dict[str, Callable[[], Any]] = {}
        for id in (id for id, task in tasks.items() if task is not None):
            topics[f"{id} history"] = self._reading(self.store.history, id)
            topics[f"{id} questions"] = self._reading(self.store.questions, task_id=id)
            topics[f"{id} journal"] = self._reading(self.store.read_journal, id)
        for id in dag_ids:
            topics[id] = partial(self._dag, id)
        return known | {name: read() for name, read in topics.items() if asked is None or name in asked}

    def _of_all(self) -> dict[str, Callable[[], Any]]:
        """How to read what belongs to no task or dag."""
        store, queue = self.store, self.queue
        return {
            "inbox": self._reading(store.inbox, "default", None, 1000),
            "stats": self._stats,
            "gates": self._reading(queue.gates),
            "breakers": self._reading(queue.breakers),
            "ladders": self._reading(store.ladders, "default"),
            "budgets": self._reading(store.budgets, "default"),
            "type slots": self._reading(store.type_slots, "default"),
            "rates": self._reading(store.rates, "default"),
            "documents": self._reading(store.documents, "default", "note"),
            "locks": self._reading(store.locks, "default"),
        }

    def _reading(self, question: Callable[..., Coroutine[Any, Any, Any]], *args: Any, **options: Any) -> Any:
        return lambda: plain(self.read(question(*args, **options)))

    def _stats(self) -> dict[str, Any]:
        stats: dict[str, Any] = plain(self.read(self.store.stats("default")))
        stats["by_status"] = {status: count for status, count in stats["by_status"].items() if count}
        for lane in stats["lanes"]:
            del lane["id"]
        stats["lanes"] = sorted((lane for lane in stats["lanes"] if lane["ready"]), key=repr)
        return stats

    def _dag(self, dag_id: str) -> dict[str, Any] | None:
        dag: dict[str, Any] | None = plain(self.read(self.store.dag(dag_id)))
        if dag is not None:
            dag["tasks"] = [task["id"] for task in dag["tasks"]]
            dag["edges"] = sorted([edge["parent"], edge["child"], edge["kind"]] for edge in dag["edges"])
            dag["counts"] = {status: count for status, count in dag["counts"].items() if count}
        return dag


@dataclass
class Grounds:
    """Which stores live side by side, the reference first, and where those that a server keeps get an empty place."""

    stores: list[str]
    schemas: Schemas | None
    namespaces: Namespaces | None


def open_worlds(grounds: Grounds, clock: FakeClock, places: ExitStack) -> list[World]:
    """The reference first, then every store that must agree with it."""
    return [World(kind, open_store(kind, grounds, clock, places)) for kind in grounds.stores]


def open_store(kind: str, grounds: Grounds, clock: FakeClock, places: ExitStack) -> Store:
    """An empty store of a kind; what it needs is given back with `places`."""
    if kind == "memory":
        return MemoryStore(clock=clock, blocking=True)
    if kind == "sqlite":
        folder = places.enter_context(scratch_folder())
        return SqliteStore.open(str(sqlite_file(Path(folder) / "dibs.db")), clock=clock, blocking=True)
    if kind == "redis":
        assert grounds.namespaces is not None
        redis = RedisStore(places.enter_context(grounds.namespaces.lend()), clock=clock, blocking=True)
        drive(redis.connect())
        return redis
    assert grounds.schemas is not None
    return grounds.schemas.open(places.enter_context(grounds.schemas.lend()), clock)


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for the stores that need one."""
    return tempfile.TemporaryDirectory(dir=place())


def plain(value: Any) -> Any:
    """A value as comparable data."""
    return to_builtins(value)


def is_same(wanted: Any, found: Any) -> bool:
    """Floats may differ in the last digits: SQL and Python add in different orders."""
    return bool(wanted == found) or bool(rounded(wanted) == rounded(found))


def rounded(value: Any) -> Any:
    """Plain data without the last digits of floats."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return value
