"""Every verb of the contract, cut short at every statement and said twice: it happens wholly or not at all, and once.

What no verb may leave behind, wherever it was cut: an unsound store, a hold without a claim, somebody parked in vain, a
question or an event twice, a budget charged twice.
"""

from __future__ import annotations

import inspect
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.stores.contract import Store
from dibs.stores.memory import MemoryStore
from dibs.stores.redis import RedisStore
from dibs.stores.sqlite import SqliteStore
from dibs.sync import drive
from tests.model.worlds import scratch_folder
from tests.proofs.breaking import BreakingFile, BreakingSchema, BreakingSchemas, rows_of
from tests.proofs.breaking_redis import BreakingNamespace
from tests.proofs.scene import Scene
from tests.proofs.verbs import CASES, READS, Case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dibs.testing import FakeClock
    from tests.proofs.breaking_redis import How
    from tests.proofs.scene import Furniture

MOST_STATEMENTS = 200

IN_PARTS = {
    "insert": "lanes that nobody has used yet are made beforehand",
    "claim": "what time opened is noted beforehand",
    "settle": "consequences are applied in short transactions",
    "answer": "consequences are applied in short transactions",
    "cancel": "consequences are applied in short transactions",
    "spread": "consequences are applied in short transactions",
    "promote": "budgets whose day is over begin anew by themselves",
    "set_budget": "budgets whose day is over begin anew beforehand",
    "drain_agent": "that it holds nothing more is noted afterwards",
    "prune": "tasks, events and claim ids are deleted in short transactions",
}
"""Verbs that PostgreSQL does in several transactions. Cut between two of them, what was done is sound by itself, and
saying it again does the rest."""

READS_ON_REDIS = {"events", "last_seq"}
"""What only reads there; other stores first write down what nobody has asked for so far."""

each_case = pytest.mark.parametrize("case", CASES, ids=str)


def _in_memory() -> Scene:
    return Scene("memory", lambda clock: MemoryStore(clock=clock, blocking=True))


class Files:
    """Copies of a furnished database file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        scene = Scene("sqlite", lambda clock: self._open("first", clock))
        self._furniture = scene.furniture()
        scene.close()

    def _open(self, name: str, clock: FakeClock) -> SqliteStore:
        return SqliteStore.open(str(self._folder / name), clock=clock, blocking=True)

    @contextmanager
    def lend(self) -> Iterator[Scene]:
        shutil.copy(self._folder / "first", self._folder / "copy")
        scene = Scene("sqlite", lambda clock: self._open("copy", clock), self._furniture)
        scene.world.written = lambda: rows_of(str(self._folder / "copy"))
        try:
            yield scene
        finally:
            scene.close()
            for path in self._folder.glob("copy*"):
                path.unlink()


class Databases:
    """Copies of a furnished schema."""

    def __init__(self) -> None:
        self._schemas = BreakingSchemas(self._furnish)
        self._furniture: Furniture | None = None

    def _furnish(self, url: str) -> None:
        scene = Scene("postgres", lambda clock: self._schemas.open(url, clock))
        self._furniture = scene.furniture()
        scene.close()

    @contextmanager
    def lend(self) -> Iterator[tuple[BreakingSchema, Scene]]:
        with self._schemas.lend() as schema:
            scene = Scene("postgres", lambda clock: self._schemas.open(schema.url, clock), self._furniture)
            scene.world.written = schema.written
            try:
                yield schema, scene
            finally:
                schema.break_at(0)
                scene.close()

    def close(self) -> None:
        self._schemas.close()


class Keyspace:
    """A furnished Redis namespace, the same again and again."""

    def __init__(self) -> None:
        self._furniture: Furniture | None = None
        self.namespace = BreakingNamespace(self._furnish)

    def _furnish(self, url: str) -> None:
        scene = Scene("redis", lambda clock: _on_redis(url, clock))
        self._furniture = scene.furniture()
        scene.close()

    @contextmanager
    def lend(self) -> Iterator[Scene]:
        with self.namespace.lend():
            scene = Scene("redis", lambda clock: _on_redis(self.namespace.url, clock), self._furniture)
            scene.world.written = self.namespace.written
            try:
                yield scene
            finally:
                self.namespace.break_at(0)
                scene.close()


def _on_redis(url: str, clock: FakeClock) -> RedisStore:
    store = RedisStore(url, clock=clock, blocking=True)
    drive(store.connect())
    return store


@pytest.fixture(scope="module")
def files() -> Iterator[Files]:
    with scratch_folder() as folder:
        yield Files(Path(folder))


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    databases = Databases()
    yield databases
    databases.close()


@pytest.fixture(scope="module")
def keyspace() -> Iterator[Keyspace]:
    keyspace = Keyspace()
    yield keyspace
    keyspace.namespace.close()


def _facts(scene: Scene, case: Case) -> dict[str, Any]:
    while case.verb != "spread" and drive(scene.store.spread()):
        pass
    # What unparks by itself must find something to do.
    return scene.facts(looking_at_gates=case.verb != "unpark")


def _once(scene: Scene, case: Case) -> tuple[Callable[[], Any], dict[str, Any]]:
    """The verb, and what the store knows after it was said once."""
    call = case.prepare(scene)

    def say() -> Any:
        return drive(call(scene.store))

    say()
    return say, _facts(scene, case)


def _said_twice(scene: Scene, case: Case) -> dict[str, Any]:
    """It happened once; what the store knows after it was said once."""
    say, after = _once(scene, case)
    if case.again is not None:
        with pytest.raises(case.again):
            say()
    else:
        say()
    twice = _facts(scene, case)
    if case.adds_up is None:
        assert twice == after
    else:
        assert twice != after, f"it is said not to be repeatable: {case.adds_up}"
    return after


def test_no_verb_of_the_contract_is_left_out() -> None:
    verbs = {name for name, _ in inspect.getmembers(Store, inspect.isfunction) if not name.startswith("_")}
    assert {case.verb for case in CASES} | set(READS) == verbs
    assert not {case.verb for case in CASES} & set(READS)


def _cut_at_every_statement(
    scene: Scene,
    case: Case,
    place: BreakingFile | BreakingNamespace | BreakingSchema,
    after: dict[str, Any],
    in_parts: Mapping[str, str],
) -> int:
    """Cut it at its first statement, then at its second …, until it gets through; at how many it was cut."""
    call = case.prepare(scene)
    rows = place.rows()
    for number in range(1, MOST_STATEMENTS):
        place.break_at(number)
        try:
            drive(call(scene.store))
        except dibs.Unavailable:
            place.break_at(0)
            found = place.rows()
            written = sorted(table for table in found if found[table] != rows[table])
            assert not written or case.verb in in_parts, f"cut at statement {number}"
            # Where no row differs, there is nothing that could be unsound.
            assert not written or drive(scene.store.check()) == []
        else:
            place.break_at(0)
            assert _facts(scene, case) == after
            return number - 1
    raise AssertionError("it has more statements than were tried")


@each_case
def test_said_twice_it_happened_once_in_memory(case: Case) -> None:
    _said_twice(_in_memory(), case)


@each_case
def test_said_twice_or_cut_at_any_statement_it_happened_once_or_not_at_all_on_sqlite(case: Case, files: Files) -> None:
    with files.lend() as scene:
        after = _said_twice(scene, case)
    with files.lend() as scene:
        assert isinstance(scene.store, SqliteStore)
        file = BreakingFile(scene.store)
        assert _cut_at_every_statement(scene, case, file, after, {}), "nothing was cut"


@each_case
def test_said_twice_or_cut_at_any_write_and_said_again_it_happened_once_on_postgres(
    case: Case, databases: Databases
) -> None:
    with databases.lend() as (_, scene):
        after = _said_twice(scene, case)
    with databases.lend() as (schema, scene):
        writes = _cut_at_every_statement(scene, case, schema, after, IN_PARTS)
        assert writes, "nothing was cut"
    with databases.lend() as (schema, scene):
        call = case.prepare(scene)
        schema.break_at(writes, "killed")
        drive(call(scene.store))
        assert _facts(scene, case) == after, "said again after its session was killed, it happened otherwise than once"


@each_case
def test_said_twice_cut_at_any_script_or_unanswered_it_happened_once_or_not_at_all_on_redis(
    case: Case, keyspace: Keyspace
) -> None:
    with keyspace.lend() as scene:
        after = _said_twice(scene, case)
    with keyspace.lend() as scene:
        scripts = _cut_at_every_statement(scene, case, keyspace.namespace, after, {})
        assert (scripts == 0) == (case.verb in READS_ON_REDIS), "every other verb writes, and each part of it was cut"
    _lost_at_every_script(case, keyspace, "lost before", after)
    _lost_at_every_script(case, keyspace, "lost after", after)


def _lost_at_every_script(case: Case, keyspace: Keyspace, how: How, after: dict[str, Any]) -> None:
    """Answers that are lost change nothing."""
    for number in range(1, MOST_STATEMENTS):
        with keyspace.lend() as scene:
            call = case.prepare(scene)
            keyspace.namespace.break_at(number, how)
            drive(call(scene.store))
            was_cut = keyspace.namespace.has_broken
            keyspace.namespace.break_at(0)
            assert _facts(scene, case) == after, f"{how}, at script {number}"
            if not was_cut:
                return
    raise AssertionError("it has more scripts than were tried")
