"""Tasks in one lane, and spread over many: each lane a type of its own, with mixed boosts and priorities."""

from __future__ import annotations

import dibs

ONLY = "noop"
"""The type of all tasks of the single lane."""

BOOSTS = (0.0, 0.05, 0.1, 0.5, 2.0)


def types(lanes: int) -> list[str]:
    """What a worker must handle to serve all `lanes`."""
    return [ONLY] if lanes == 1 else [f"{ONLY}-{lane}" for lane in range(lanes)]


def task(number: int, lanes: int) -> dibs.NewTask:
    """Task `number` of a backlog that is spread over `lanes`."""
    if lanes == 1:
        return dibs.NewTask(ONLY, {"number": number})
    lane = number % lanes
    boost = BOOSTS[lane % len(BOOSTS)]
    return dibs.NewTask(f"{ONLY}-{lane}", {"number": number}, boost=boost, priority=number * 7919 % 101)
