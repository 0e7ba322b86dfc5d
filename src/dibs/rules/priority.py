"""Which ready task runs first: lower is more urgent.

    effective(task, now) = priority − boost · age in minutes − urgency(deadline, now) − critical path weight

It changes every second, so it cannot be indexed; but tasks of one boost keep their order when the common
`boost · now` is left out. What remains is the *rank*, and only a deadline that comes closer changes it,
in whole steps of one point:

    rank = priority + boost · (minute at which it was first ready) − weight − ⌊urgency⌋
    effective = rank − boost · now        (at most one point above the exact value)
"""

from __future__ import annotations

from bisect import bisect_right
from math import floor, log, log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

EPOCH = 1_735_689_600_000_000
"""2025-01-01 in micros: minutes count from here, so that ranks keep their precision."""

MAX_WEIGHT = 20
"""The most points that the critical path below a task is worth."""

MAX_URGENCY = 50
"""The urgency of a task at and after its deadline."""

BOOSTS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
"""The boosts there are. Boost is part of a lane, and lanes must stay few."""

TIERS = ("critical", "high", "normal", "low", "background")
TIER_BOUNDS = (10.0, 30.0, 60.0, 80.0)
"""The effective priority at which each tier but the first begins."""

_LOGS = tuple((log(boost), boost) for boost in BOOSTS[1:])
_MINUTE = 60_000_000
_HALVING = 15 * _MINUTE


def round_boost(boost: float) -> float:
    """The nearest boost there is, by ratio. 0 stays 0, and nothing else becomes 0."""
    if boost in BOOSTS:
        return float(boost)
    position = log(boost)
    return min(_LOGS, key=lambda pair: abs(pair[0] - position))[1]


def minutes(now: int) -> float:
    """Minutes since `EPOCH`."""
    return (now - EPOCH) / _MINUTE


def urgency(deadline: int | None, now: int) -> float:
    """Points that a deadline is worth now: 50 when it is reached, half as much for every 15 minutes left."""
    if deadline is None:
        return 0.0
    if now >= deadline:
        return float(MAX_URGENCY)
    return float(MAX_URGENCY * 2.0 ** (-(deadline - now) / _HALVING))


def steps(deadline: int | None, now: int) -> int:
    """Urgency in whole points, as ranks count it."""
    return floor(urgency(deadline, now))


def next_step_at(deadline: int | None, now: int) -> int | None:
    """The first instant at which `steps` is one more than now; None if it will not change again."""
    if deadline is None:
        return None
    wanted = steps(deadline, now) + 1
    if wanted > MAX_URGENCY:
        return None
    at = deadline - round(_HALVING * log2(MAX_URGENCY / wanted))
    # The logarithm is right to a few micros; the promise is exact.
    while steps(deadline, at) < wanted:
        at += 1
    while steps(deadline, at - 1) >= wanted:
        at -= 1
    return at


def rank(priority: float, boost: float, aged_from: int, weight: int, steps: int) -> float:
    """What a store sorts by within a lane; `aged_from` is when the task was first ready."""
    return priority + boost * minutes(aged_from) - weight - steps


def effective(rank: float, boost: float, now: int) -> float:
    """The effective priority that a rank stands for now; comparable between boosts."""
    return rank - boost * minutes(now)


def exact_effective(
    priority: float, boost: float, aged_from: int, weight: int, deadline: int | None, now: int
) -> float:
    """The definition, with urgency in fractions of a point."""
    age = (now - aged_from) / _MINUTE
    return priority - boost * age - urgency(deadline, now) - weight


def tier(priority: float) -> str:
    """The word for a priority: critical, high, normal, low or background."""
    return TIERS[bisect_right(TIER_BOUNDS, priority)]


def tier_ranks(boost: float, now: int) -> list[float]:
    """The ranks at which tasks of this boost are of the next tier now; all but the last tier end at one."""
    return [bound + boost * minutes(now) for bound in TIER_BOUNDS]


def by_tier(counts: Iterable[int]) -> dict[str, int]:
    """How many are of each tier, given in their order; tiers that nothing is in are left out."""
    return {tier: count for tier, count in zip(TIERS, counts, strict=True) if count}
