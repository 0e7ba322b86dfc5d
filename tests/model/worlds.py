"""Stores side by side: the same clock, ids and draws — and everything they know, laid open to compare."""

from __future__ import annotations

import itertools
import tempfile
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from dibs.errors import DibsError
from dibs.pricing import Prices
from dibs.queue import Queue
from dibs.rules.pricing import Rate, Table
from dibs.stores.memory import MemoryStore
from dibs.stores.postgres import PostgresStore
from dibs.stores.redis import RedisStore
from dibs.stores.sqlite import SqliteStore
from dibs.sync import drive
from tests.servers.quick import place, sqlite_file

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from dibs.stores.contract import Store
    from dibs.testing import FakeClock

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

    def state(self, task_ids: list[str], dag_ids: list[str]) -> dict[str, Any]:
        """Everything the store knows of these tasks and dags."""
        known = self._of_each(task_ids, dag_ids)
        known["inbox"] = plain(self.read(self.store.inbox("default", None, 1000)))
        stats = plain(self.read(self.store.stats("default")))
        stats["by_status"] = {status: count for status, count in stats["by_status"].items() if count}
        for lane in stats["lanes"]:
            del lane["id"]
        stats["lanes"] = sorted((lane for lane in stats["lanes"] if lane["ready"]), key=repr)
        known["stats"] = stats
        known["gates"] = plain(self.read(self.queue.gates()))
        known["breakers"] = plain(self.read(self.queue.breakers()))
        known["ladders"] = plain(self.read(self.store.ladders("default")))
        known["budgets"] = plain(self.read(self.store.budgets("default")))
        known["type slots"] = plain(self.read(self.store.type_slots("default")))
        known["rates"] = plain(self.read(self.store.rates("default")))
        known["documents"] = plain(self.read(self.store.documents("default", "note")))
        known["locks"] = plain(self.read(self.store.locks("default")))
        return known

    def _of_each(self, task_ids: list[str], dag_ids: list[str]) -> dict[str, Any]:
        if self.written is None:
            return self._asked_of_each(task_ids, dag_ids)
        content = repr((self.name, self.store.now(), task_ids, dag_ids, self.written())).encode()
        name = blake2b(content, digest_size=32).digest()
        if name not in _ASKED:
            _ASKED[name] = self._asked_of_each(task_ids, dag_ids)
        return dict(_ASKED[name])

    def _asked_of_each(self, task_ids: list[str], dag_ids: list[str]) -> dict[str, Any]:
        known: dict[str, Any] = {}
        for task_id, task in zip(task_ids, self.read(self.store.get(task_ids)), strict=True):
            known[task_id] = plain(task)
            if task is None:
                continue
            known[f"{task_id} history"] = plain(self.read(self.store.history(task_id)))
            known[f"{task_id} questions"] = plain(self.read(self.store.questions(task_id=task_id)))
            known[f"{task_id} journal"] = plain(self.read(self.store.read_journal(task_id)))
        for dag_id in dag_ids:
            known[dag_id] = dag = plain(self.read(self.store.dag(dag_id)))
            if dag is not None:
                dag["tasks"] = [task["id"] for task in dag["tasks"]]
                dag["edges"] = sorted([edge["parent"], edge["child"], edge["kind"]] for edge in dag["edges"])
                dag["counts"] = {status: count for status, count in dag["counts"].items() if count}
        return known


def open_worlds(clock: FakeClock, folder: str, postgres_url: str, redis_url: str) -> list[World]:
    """The reference first, then every store that must agree with it."""
    postgres = PostgresStore(postgres_url, clock=clock, blocking=True)
    redis = RedisStore(redis_url, clock=clock, blocking=True)
    drive(postgres.connect())
    drive(redis.connect())
    return [
        World("memory", MemoryStore(clock=clock, blocking=True)),
        World("sqlite", SqliteStore.open(str(sqlite_file(Path(folder) / "dibs.db")), clock=clock, blocking=True)),
        World("postgres", postgres),
        World("redis", redis),
    ]


def scratch_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for the stores that need one."""
    return tempfile.TemporaryDirectory(dir=place())


def plain(value: Any) -> Any:
    """A value as comparable data. Floats may differ in the last digits: SQL and Python add in different orders."""
    return _rounded(to_builtins(value))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value
