"""How a state stands while it is being filled or left; `loading` carries everything out of it, `unloading` into it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from dibs.stores.carrying import Census
from dibs.stores.standing import OPEN, Standing, check, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State

T = TypeVar("T")


def guarded(state: State, step: Callable[[State], T]) -> T:
    """Take a step, unless this store is being filled or left."""
    refused = refusal(state.standing)
    if refused is not None:
        raise refused
    return step(state)


def stand(state: State, standing: Standing, expected: str | None) -> None:
    """Stand so from now on. Who opens a store gives every claim in it its lease anew: nobody could renew meanwhile."""
    check(state.standing, expected)
    if standing.state == OPEN and state.standing.state != OPEN:
        state.tidy()
        for record in list(state.occupied()):
            until = state.now + round(record.lease_s * 1_000_000)
            record.lease_expires_at = max(until, record.lease_expires_at or 0)
            _file(state, record)
        state.freed.clear()
    state.standing = standing
    state.changed = True


def census(state: State) -> Census:
    """How many tasks there are."""
    found = state.by_status()
    return Census(tasks=sum(found.values()), by_status=found)


def _file(state: State, record: Record) -> None:
    with unchanged(record):
        state.file(record)


@contextmanager
def unchanged(record: Record) -> Iterator[None]:
    """Into the indexes; nobody changed it."""
    updated_at, parked_since = record.updated_at, record.parked_since
    yield
    record.updated_at, record.parked_since = updated_at, parked_since
