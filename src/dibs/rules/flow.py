"""How work flows through lanes: how long tasks waited, and how many were done in each minute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from dibs.rules.metrics import percentile

if TYPE_CHECKING:
    from collections.abc import Sequence

MINUTE_US = 60_000_000
MAX_MINUTES = 24 * 60
MOST_ENDS = 20_000
"""So many of the newest completions are looked at."""


class End(Struct, array_like=True, gc=False):
    """A completed task: the number of its lane, when it was completed, and how long it had waited for its first claim;
    None if it was not completed by that one."""

    lane: int
    at: int
    wait: int | None = None


class Flow(Struct, kw_only=True):
    """What happened in one lane. A minute that was not looked at is None."""

    per_minute: list[int | None]
    wait_p50: int | None = None
    wait_p95: int | None = None


def since(now: int, minutes: int) -> int:
    """Where the first of so many whole minutes begins, of which the last is the one that is not over."""
    return (now // MINUTE_US - minutes + 1) * MINUTE_US


def nothing(ends: Sequence[End], begin: int, minutes: int) -> list[int | None]:
    """The minutes of a lane in which nothing was completed; None where that was not looked at."""
    unseen = 0
    if len(ends) >= MOST_ENDS:
        unseen = min(minutes, (ends[-1].at - begin) // MINUTE_US + 1)
    return [None] * unseen + [0] * (minutes - unseen)


def flows(ends: Sequence[End], begin: int, minutes: int) -> dict[int, Flow]:
    """Lane by lane, from completions since `begin`, newest first; as many as `MOST_ENDS` may not be all."""
    empty = nothing(ends, begin, minutes)
    unseen = empty.count(None)
    found: dict[int, Flow] = {}
    waits: dict[int, list[int]] = {}
    for end in ends:
        flow = found.setdefault(end.lane, Flow(per_minute=list(empty)))
        place = (end.at - begin) // MINUTE_US
        if unseen <= place < minutes:
            flow.per_minute[place] = (flow.per_minute[place] or 0) + 1
        if end.wait is not None:
            waits.setdefault(end.lane, []).append(end.wait)
    for lane, waited in waits.items():
        waited.sort()
        found[lane].wait_p50, found[lane].wait_p95 = percentile(waited, 50), percentile(waited, 95)
    return found
