"""One operation: what it needs, what is timed, how often.

It uses the public verbs only, since it runs on older and newer versions of dibs alike, and imports nothing of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import dibs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TYPE = "measured"
AGENT = "bench"
LEASE_S = 24 * 3_600
BATCH = 500
"""How many are claimed or settled in one call where that is not what is timed."""


class Amount(NamedTuple):
    """How much of it one sample is."""

    times: int
    width: int


def _nothing(queue: dibs.SyncQueue) -> None:
    """Nothing to set."""


@dataclass(frozen=True)
class Operation:
    """One sample: `prepare`, `timed` with what that returned, `after` with what `timed` returned."""

    name: str
    """With `{width}` for a number that the size decides."""
    times: int
    """How many operations one sample times."""
    prepare: Callable[[dibs.SyncQueue, Amount], Any]
    timed: Callable[[dibs.SyncQueue, Any], Any]
    after: Callable[[dibs.SyncQueue, Any], None]
    """Refuse a sample whose operations did not do what they are for; remove what would be in the next one's way."""
    width: int = 1
    """How many tasks one operation touches, where that is many."""
    setup: Callable[[dibs.SyncQueue], Any] = _nothing
    """Once for each store."""
    by_shell: bool = False
    """A process of its own, which cannot reach a store in memory."""


SHARES = {"full": (1.0, 1.0), "small": (0.2, 0.2), "tiny": (0.02, 0.002)}
"""Of `times` and of `width`, by size."""


def amount_of(operation: Operation, size: str) -> Amount:
    """How much one sample is at this size; never so little that there is nothing to time."""
    times, width = SHARES[size]
    return Amount(
        max(min(2, operation.times), round(operation.times * times)),
        max(min(10, operation.width), round(operation.width * width)),
    )


def worded(operation: Operation, size: str) -> str:
    """Its name at this size."""
    return operation.name.format(width=f"{amount_of(operation, size).width:,}")


# Steps that several operations share


def add(queue: dibs.SyncQueue, count: int, **options: Any) -> list[dibs.Task]:
    return queue.add_many([dibs.NewTask(TYPE, {"number": number}, **options) for number in range(count)])


def claim_one(queue: dibs.SyncQueue) -> dibs.Claim:
    [claim] = queue.claim(AGENT, types=[TYPE], lease=LEASE_S)
    return claim


def claim(queue: dibs.SyncQueue, count: int) -> list[dibs.Claim]:
    claims: list[dibs.Claim] = []
    while len(claims) < count:
        here = queue.claim(AGENT, types=[TYPE], limit=min(BATCH, count - len(claims)), lease=LEASE_S)
        if not here:
            raise RuntimeError(f"claimed {len(claims)} of {count}")
        claims += here
    return claims


def claims_one_by_one(queue: dibs.SyncQueue, times: int) -> list[dibs.Claim]:
    return [claim_one(queue) for _ in range(times)]


def complete(queue: dibs.SyncQueue, claims: Sequence[dibs.Claim]) -> None:
    """In batches where this version has them; nobody times it."""
    try:
        from dibs import settling
    except ImportError:
        for one in claims:
            queue.complete(one)
        return
    for first in range(0, len(claims), BATCH):
        for answer in queue.settle([settling.completed(one) for one in claims[first : first + BATCH]]):
            if isinstance(answer, Exception):
                raise answer


def expect(queue: dibs.SyncQueue, ids: Sequence[str], status: str) -> None:
    """Refuse a sample whose tasks did not come where they should: the first and the last are looked at."""
    for id in {ids[0], ids[-1]}:
        found = queue.get(id).status
        if found != status:
            raise RuntimeError(f"{id} is {found}, not {status}")
