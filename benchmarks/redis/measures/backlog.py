"""Backlog: is a claim as quick with a million tasks waiting as with a thousand? Only dibs is asked.

Claims of 1 and of 100, from one lane and from 50 (a type each, mixed boosts and priorities). What was claimed is
completed and replaced outside the timing, and the two backlogs take turns, claim by claim. Loading a million takes
long, so the runs share one load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dibs
from benchmarks import lanes as laid_out
from benchmarks.contest.stage import Unable
from benchmarks.waiting import Backlog, take_turns

if TYPE_CHECKING:
    from benchmarks.contest.stage import Contest, Contestant

LIMITS = (1, 100)
LANES = ("1 lane", "many lanes")
WAITING = ("few", "many")
UNITS = {
    f"claim {limit}, {lanes}, {backlog} waiting": "ms" for lanes in LANES for limit in LIMITS for backlog in WAITING
}


def together(contest: Contest, contestant: Contestant) -> dict[str, list[float]]:
    if not contestant.is_dibs:
        raise Unable("measured for dibs only")
    return {
        **_of_lanes(contest, contestant, 1, "1 lane"),
        **_of_lanes(contest, contestant, contest.sizes.lanes, "many lanes"),
    }


def _of_lanes(contest: Contest, contestant: Contestant, lanes: int, words: str) -> dict[str, list[float]]:
    sizes, bench = contest.sizes, contest.bench

    def task(number: int) -> dibs.NewTask:
        return laid_out.task(number, lanes)

    found: dict[str, list[float]] = {}
    with (
        contest.stage(contestant, suffix="_few") as few,
        contest.stage(contestant, suffix="_many") as many,
        dibs.connect_sync(few.url) as few_queue,
        dibs.connect_sync(many.url) as many_queue,
    ):
        bench.say(f"backlog, {contestant.name}: loading {sizes.backlog:,} in {sizes.worded(words)}")
        short = Backlog(few_queue, task, sizes.short_backlog)
        long = Backlog(many_queue, task, sizes.backlog)
        many.tidy()
        for limit in LIMITS:
            names = [f"claim {limit}, {words}, {backlog} waiting" for backlog in WAITING]
            for number in range(bench.runs):
                samples = take_turns(short, long, limit, sizes.claims)
                for name, sample in zip(names, samples, strict=True):
                    found.setdefault(name, []).append(sample)
                latest = ", ".join(f"{sample:.3f} ms" for sample in samples)
                bench.say(sizes.worded(f"claim {limit}, {words}, run {number + 1}/{bench.runs}: {latest}"))
    for suffix in ("_few", "_many"):
        contest.server.drop(suffix)
    return found
