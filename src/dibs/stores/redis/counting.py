"""How many tasks there are: from what is counted as they move, and from the lanes of those that are ready."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.status import Status
from dibs.rules import priority
from dibs.stores.ledger.records import Census
from dibs.stores.redis.tables import as_dict
from dibs.stores.redis.tasks import cost_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dibs.stores.redis.working import Working
    from dibs.stores.values import LaneKey


def census(state: Working, project: str) -> Census:
    """The tasks of a project."""
    found = Census()
    for (home, type, status), count in _counted(state):
        if home == project:
            found.count(type, Status(status), count)
    costs = as_dict(state.reader.ask("HGETALL", state.where.costs))
    sum_field, known_field = cost_fields(project)
    if int(costs.get(known_field, 0)):
        found.cost_usd = float(costs[sum_field])
    lanes = [lane for lane in state.lane_ids if lane.project == project]
    sizes = _ready(state, lanes)
    firsts = state.reader.ask_all([("ZRANGE", _key(state, lane), 0, 0, "WITHSCORES") for lane in lanes])
    for lane, size, first in zip(lanes, sizes, firsts, strict=True):
        if size:
            found.count(lane.type, Status.READY, size)
            found.wait(lane, int(float(first[1])), size)
    _count_tiers(state, [lane for lane, size in zip(lanes, sizes, strict=True) if size], found.tiers)
    return found


def by_status(state: Working) -> dict[str, int]:
    """All tasks of a namespace."""
    found: dict[str, int] = {}
    for (_, _, status), count in _counted(state):
        found[status] = found.get(status, 0) + count
    if ready := sum(_ready(state, state.lane_ids)):
        found[Status.READY.value] = ready
    return found


def _counted(state: Working) -> Iterator[tuple[tuple[str, str, str], int]]:
    """How many are counted by project, type and status: all but those that are ready."""
    for name, count in as_dict(state.reader.ask("HGETALL", state.where.counts)).items():
        if int(count):
            yield msgspec.json.decode(name, type=tuple[str, str, str]), int(count)


def _ready(state: Working, lanes: Iterable[LaneKey]) -> list[int]:
    """How many are ready in each lane."""
    return state.reader.ask_all([("ZCARD", _key(state, lane)) for lane in lanes])


def _key(state: Working, lane: LaneKey) -> str:
    return state.where.order(f"ready:{state.lane_ids[lane]}")


def _count_tiers(state: Working, lanes: list[LaneKey], tiers: list[int]) -> None:
    """Add what is ready in these lanes, and not parked, to the count of its tier."""
    asked: list[tuple[Any, ...]] = []
    for lane in lanes:
        key = state.where.order(f"lane:{state.lane_ids[lane]}")
        bounds = ["-inf", *map(repr, priority.tier_ranks(lane.boost, state.now)), "+inf"]
        asked += [("ZCOUNT", key, low, high if high == "+inf" else f"({high}") for low, high in pairwise(bounds)]
    for place, count in enumerate(state.reader.ask_all(asked)):
        tiers[place % len(tiers)] += int(count)
