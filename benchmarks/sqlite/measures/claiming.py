"""Claiming: how long a claim takes with a million tasks waiting, against a thousand.

One lane, and 50 lanes (10 types × 5 boosts) of mixed priorities that one agent may serve; claims of 1 and of 100. What
was claimed is completed and replaced outside the timing, so every claim meets the same number of waiting tasks. The two
backlogs take turns, claim by claim. Loading a million takes long, so the runs share one load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dibs
from benchmarks.findings import Figure, Findings, Floor
from benchmarks.sqlite import noop
from benchmarks.waiting import Backlog, take_turns

if TYPE_CHECKING:
    from benchmarks.bench import Bench
    from benchmarks.sqlite.sizes import Sizes

BOOSTS = (0.0, 0.05, 0.1, 0.5, 2.0)


def task(number: int, lanes: int) -> dibs.NewTask:
    if lanes == 1:
        return dibs.NewTask(noop.TYPE, {"number": number})
    lane = number % lanes
    boost = BOOSTS[lane % len(BOOSTS)]
    kind = f"{noop.TYPE}-{lane // len(BOOSTS)}"
    return dibs.NewTask(kind, {"number": number}, boost=boost, priority=number * 7919 % 101)


def run(bench: Bench[Sizes]) -> Findings:
    found = Findings()
    for lanes in (1, bench.sizes.lanes):
        found_here = measure(bench, lanes)
        found.figures += found_here.figures
        found.floors += found_here.floors
    return found


def measure(bench: Bench[Sizes], lanes: int) -> Findings:
    sizes = bench.sizes
    words = "1 lane" if lanes == 1 else f"{lanes} lanes"
    found = Findings()
    with (
        dibs.connect_sync(noop.url(bench.fresh_folder("few"))) as few_queue,
        dibs.connect_sync(noop.url(bench.fresh_folder("many"))) as many_queue,
    ):
        bench.say(f"claiming, {words}: loading {sizes.backlog:,}")
        few = Backlog(few_queue, lambda number: task(number, lanes), sizes.short_backlog)
        many = Backlog(many_queue, lambda number: task(number, lanes), sizes.backlog)
        for limit, claims in ((1, sizes.single_claims), (sizes.batch, sizes.batch_claims)):
            of_few, of_many = [], []
            for number in range(bench.runs):
                few_median, many_median = take_turns(few, many, limit, claims)
                of_few.append(few_median)
                of_many.append(many_median)
                bench.say(
                    f"claim {limit}, {words}, run {number + 1}/{bench.runs}:"
                    f" {few_median:.3f} ms with {sizes.short_backlog:,}, {many_median:.3f} ms with {sizes.backlog:,}"
                )
            few_figure = Figure(f"claim {limit}, {words}, {sizes.short_backlog:,} waiting", "ms", tuple(of_few))
            many_figure = Figure(f"claim {limit}, {words}, {sizes.backlog:,} waiting", "ms", tuple(of_many))
            found.figures += [few_figure, many_figure]
            found.floors.append(
                Floor(
                    f"claim {limit}, {words}: {sizes.backlog:,} / {sizes.short_backlog:,} waiting",
                    many_figure.value / few_figure.value,
                    1.5,
                    at_least=False,
                )
            )
    return found
