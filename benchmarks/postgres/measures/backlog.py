"""Backlog: is work taken as fast with a million tasks waiting as with twenty thousand?

The rate is that of handler starts; the worker goes on after the last one counted. Twenty thousand are soon done, so
there it takes several passes, each with a new worker; with a million it is one long pass: what its first claims pay for
all that follow (a page goes to the log as a whole at its first change after a checkpoint, and is new to the worker's
session) must not count for more than it does in a day's work.
The first starts of each worker are left out: it connects, the server plans its statements and reads its pages.
dibs is also measured with its tasks spread over 50 lanes (a type for each, mixed boosts and priorities), and by how
long a claim of one task takes: what was claimed is completed and replaced outside the timing, and the two backlogs take
turns. Loading a million takes long, so the runs share one load, with enough to spare that a million always wait.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import dibs
from benchmarks import lanes as laid_out
from benchmarks.waiting import Backlog, take_turns

if TYPE_CHECKING:
    from benchmarks.contest.stage import Contest, Contestant, Stage

LIMIT_S = 180.0
SKIPPED = 0.25
"""Warm-up, as a share of the handler starts that are timed."""
PASSES = 4
"""Over which the rate with few waiting is taken."""
LONG = 12
"""As many starts as in so many of these passes make the one with many waiting."""

UNITS = {
    f"{what}, {lanes}, {backlog}": unit
    for lanes in ("1 lane", "many lanes")
    for backlog in ("few waiting", "many waiting")
    for what, unit in (("drain", "/s"), ("claim", "ms"))
}


def together(contest: Contest, contestant: Contestant) -> dict[str, list[float]]:
    found = of_lanes(contest, contestant, 1, "1 lane")
    if contestant.is_dibs:
        found |= of_lanes(contest, contestant, contest.sizes.lanes, "many lanes")
    return found


def of_lanes(contest: Contest, contestant: Contestant, lanes: int, words: str) -> dict[str, list[float]]:
    sizes, runs = contest.sizes, contest.bench.runs
    sample = min(contestant.peer.sizes.sample, int(0.75 * sizes.short_backlog))
    found: dict[str, list[float]] = {}
    with ExitStack() as stack:
        few = stack.enter_context(contest.stage(contestant, suffix="_few"))
        stack.callback(contest.server.drop, "_few")
        many = stack.enter_context(contest.stage(contestant, suffix="_many"))
        stack.callback(contest.server.drop, "_many")
        contest.bench.say(f"backlog, {contestant.name}: loading {sizes.backlog:,} in {sizes.worded(words)}")
        many.load(sizes.backlog + runs * (LONG + 1) * sample, lanes)
        drains: dict[str, list[float]] = {"few": [], "many": []}
        for number in range(runs):
            spent_s = 0.0
            for _ in range(PASSES):
                few.load(sizes.short_backlog, lanes)
                spent_s += seconds_for(few, sample, sample, lanes)
            drains["few"].append(PASSES * sample / spent_s)
            drains["many"].append(LONG * sample / seconds_for(many, sample, LONG * sample, lanes))
            latest = ", ".join(f"{values[-1]:,.0f}/s with {name} waiting" for name, values in drains.items())
            contest.bench.say(sizes.worded(f"backlog, {contestant.name}, {words}, run {number + 1}/{runs}: {latest}"))
        for name, values in drains.items():
            found[f"drain, {words}, {name} waiting"] = values
        if contestant.is_dibs:
            found |= claims(contest, few, many, lanes, words)
    return found


def seconds_for(stage: Stage, sample: int, count: int, lanes: int) -> float:
    """How long one worker takes for so many handler starts, once it is warm."""
    skipped = int(SKIPPED * sample)
    stage.release()
    stage.tidy()
    with stage.workers(1, lanes=lanes) as children:
        stage.await_hits(skipped + count, children, LIMIT_S)
    starts = sorted(at for at, _ in stage.hits.all())
    return starts[skipped + count - 1] - starts[skipped - 1]


def claims(contest: Contest, few: Stage, many: Stage, lanes: int, words: str) -> dict[str, list[float]]:
    sizes = contest.sizes
    found: dict[str, list[float]] = {f"claim, {words}, {name} waiting": [] for name in ("few", "many")}
    with dibs.connect_sync(few.url) as few_queue, dibs.connect_sync(many.url) as many_queue:

        def task(number: int) -> dibs.NewTask:
            return laid_out.task(number, lanes)

        short, long = Backlog(few_queue, task, sizes.short_backlog), Backlog(many_queue, task, 0)
        for stage in (few, many):
            stage.tidy()
        for number in range(contest.bench.runs):
            samples = take_turns(short, long, 1, sizes.claims)
            for values, sample in zip(found.values(), samples, strict=True):
                values.append(sample)
            latest = ", ".join(f"{values[-1]:.2f} ms" for values in found.values())
            contest.bench.say(sizes.worded(f"claim 1, {words}, run {number + 1}/{contest.bench.runs}: {latest}"))
    return found
