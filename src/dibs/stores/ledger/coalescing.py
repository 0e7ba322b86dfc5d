"""Tasks that are taken together: the others of one that a claim takes, and how they are handed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.instants import to_micros
from dibs.model.status import Status
from dibs.rules.coalescing import LOOKED_AT, is_gathering
from dibs.rules.large import size_of
from dibs.stores.ledger import budgets, locks
from dibs.stores.ledger.snapshots import claim_of

if TYPE_CHECKING:
    from collections.abc import Container

    from dibs.model.claim import Claim
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State


def take_others(
    state: State, record: Record, agent: str, taken: Container[int], room: int, max_bytes: int
) -> list[Record]:
    """The others that go with a task which was just taken by an agent. Each has its new fence, its locks, and its share
    of budgets; who does not get them is left where it is."""
    others: list[Record] = []
    for other in [other for other in _others(state, record) if other.number not in taken][:LOOKED_AT]:
        size = size_of(other.payload)
        if len(others) >= room or size > max_bytes:
            break
        if not budgets.can_pay(state, other, agent) or locks.closed(state, other) is not None:
            continue
        max_bytes -= size
        other.fence = state.next_fence(other)
        locks.take(state, other)
        budgets.take(state, other, agent)
        others.append(other)
    return others


def _others(state: State, record: Record) -> list[Record]:
    """Those of its group: what is ready, best first, then what gathers, what was never ready before the others."""
    group = state.groups.get((record.lane, record.spec.coalesce_key or ""), {})
    waiting = [other for number in group if (other := state.numbered[number]) is not record and not other.solo]
    ready = [other for other in waiting if other.status is Status.READY and other.parked_on is None]
    gathering = [other for other in waiting if _gathers(other)]
    return sorted(ready, key=_by_rank) + sorted(gathering, key=_by_rank)


def _by_rank(record: Record) -> tuple[bool, float, int]:
    return record.rank is not None, record.rank or 0.0, record.number


def _gathers(record: Record) -> bool:
    until = record.spec.gathers_until
    return is_gathering(record.status, record.run_after, None if until is None else to_micros(until))


def claim_of_group(state: State, group: list[Record]) -> Claim:
    """What was taken together, as the claim of its first."""
    claim, *others = [claim_of(state, record) for record in group]
    claim.group = others
    return claim
