"""The machine of `test_model`, whose worlds also move: now and then everything one knows is carried into a new store.

What a store is given it must give back, and whatever happens afterwards must happen as if nothing had moved.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule
from msgspec.structs import replace

from dibs.stores.standing import FILLING, Standing
from dibs.sync import drive
from tests.model.exploring import EXAMPLES, explore
from tests.model.test_model import Stores
from tests.model.worlds import open_store

if TYPE_CHECKING:
    from dibs.stores.carrying import Cargo, CarriedSettings
    from dibs.stores.contract import Store
    from tests.model.worlds import Grounds

SEEDS = range(4)
KINDS = os.environ.get("DIBS_CARRY", "memory,sqlite,postgres,redis").split(",")


class Movers(Stores):
    """Worlds that move into new stores, of their own kind or of another one."""

    @rule(turn=st.integers(0, 3), batch=st.integers(1, 5))
    def move(self, turn: int, batch: int) -> None:
        """Everybody moves: to the store of a kind that others lived in, depending on `turn`."""
        here = [world for world in self.worlds if world.name in KINDS]
        kinds = [kind for kind in KINDS if kind in self.grounds.stores]
        for place, world in enumerate(here):
            target = open_store(kinds[(place + turn) % len(kinds)], self.grounds, self.clock, self.places)
            try:
                drive(carry(world.store, target, batch))
                assert drive(target.check()) == [], f"{world.name} moved to {target.url}"
            except BaseException:
                drive(target.close())
                raise
            world.settle_in(target)
        self._compare(everything=True)

    def teardown(self) -> None:
        try:
            self.move(len(self.tasks) % 4, 3)
        finally:
            super().teardown()


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


@pytest.mark.timeout(0 if EXAMPLES else 1800)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_carried_into_another_store_goes_on_as_if_nothing_had_moved(grounds: Grounds, seed: int) -> None:
    explore(lambda: Movers(grounds), seed, examples=3)
