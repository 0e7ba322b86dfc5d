"""The machine of `test_model`, whose worlds also move: now and then everything one knows is carried into a new store.

What a store is given it must give back, and whatever happens afterwards must happen as if nothing had moved.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule
from msgspec.structs import replace

from dibs.stores.memory import MemoryStore
from dibs.stores.postgres import PostgresStore
from dibs.stores.redis import RedisStore
from dibs.stores.sqlite import SqliteStore
from dibs.stores.standing import FILLING, Standing
from dibs.sync import drive
from tests.model.test_model import NAMESPACES, SCHEMAS, Stores
from tests.model.worlds import scratch_folder
from tests.servers.quick import sqlite_file
from tests.servers.redis import Namespaces, shared_programs, shared_urls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.stores.carrying import Cargo, CarriedSettings
    from dibs.stores.contract import Store
    from tests.servers.postgres import Schemas

EXAMPLES = int(os.environ.get("DIBS_MODEL_EXAMPLES", "0"))
KINDS = os.environ.get("DIBS_CARRY", "memory,sqlite,postgres,redis").split(",")


class Movers(Stores):
    """Worlds that move into new stores, of their own kind or of another one."""

    @rule(turn=st.integers(0, 3), batch=st.integers(1, 5))
    def move(self, turn: int, batch: int) -> None:
        """Everybody moves: to the store of a kind that others lived in, depending on `turn`."""
        here = [world for world in self.worlds if world.name in KINDS]
        for place, world in enumerate(here):
            target = self._fresh(KINDS[(place + turn) % len(KINDS)])
            try:
                drive(carry(world.store, target, batch))
                assert drive(target.check()) == [], f"{world.name} moved to {target.url}"
            except BaseException:
                drive(target.close())
                raise
            world.settle_in(target)

    def teardown(self) -> None:
        try:
            self.move(len(self.tasks) % 4, 3)
        finally:
            super().teardown()

    def _fresh(self, kind: str) -> Store:
        if kind == "memory":
            return MemoryStore(clock=self.clock, blocking=True)
        if kind == "sqlite":
            folder = self.places.enter_context(scratch_folder())
            return SqliteStore.open(str(sqlite_file(Path(folder) / "dibs.db")), clock=self.clock, blocking=True)
        if kind == "redis":
            redis = RedisStore(self.places.enter_context(NAMESPACES[0].lend()), clock=self.clock, blocking=True)
            drive(redis.connect())
            return redis
        store = PostgresStore(self.places.enter_context(SCHEMAS[0].lend()), clock=self.clock, blocking=True)
        drive(store.connect())
        return store


async def carry(source: Store, target: Store, batch: int) -> None:
    """Everything of one store into an empty one, a few at a time; then both know the same."""
    await target.stand(Standing(state=FILLING, peer=source.url))
    after = 0
    while (cargo := await source.carry_out(after, batch)).tasks or not after:
        await target.carry_in(cargo)
        # The same again changes nothing.
        await target.carry_in(cargo)
        if not cargo.tasks:
            break
        after = cargo.tasks[-1].number
    await target.carry_in_settings(await source.carry_settings())
    _same(await source.carry_out(0, 10_000), await target.carry_out(0, 10_000))
    live = [await store.carry_out(0, 10_000, live=True) for store in (source, target)]
    assert [task.id for task in live[0].tasks] == [task.id for task in live[1].tasks]
    assert _numberless(await source.carry_settings()) == _numberless(await target.carry_settings())
    assert await source.census() == await target.census()
    await target.stand(Standing())


def _numberless(settings: CarriedSettings) -> CarriedSettings:
    """Without the numbers given last, of which a store may remember more than it has."""
    return replace(settings, last_number=0, last_put=0)


def _same(source: Cargo, target: Cargo) -> None:
    for ours, theirs in zip(source.tasks, target.tasks, strict=True):
        different = [name for name in ours.__struct_fields__ if getattr(ours, name) != getattr(theirs, name)]
        assert not different, {name: (getattr(ours, name), getattr(theirs, name)) for name in different}
    assert source.dags == target.dags
    assert sorted(source.dependents) == sorted(target.dependents)


@pytest.fixture(scope="module", autouse=True)
def schemas(postgres_schemas: Schemas) -> Iterator[None]:
    SCHEMAS.append(postgres_schemas)
    NAMESPACES.append(Namespaces(shared_urls(shared_programs()[0])))
    yield
    SCHEMAS.clear()
    NAMESPACES.pop().close()


TestMovers: Any = pytest.mark.timeout(0 if EXAMPLES else 1800)(Movers.TestCase)
TestMovers.settings = settings(
    max_examples=EXAMPLES or 15,
    stateful_step_count=40,
    deadline=None,
    derandomize=not EXAMPLES,
    suppress_health_check=list(HealthCheck),
)
