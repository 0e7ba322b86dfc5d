"""Held: does an idle transaction that keeps old rows from being vacuumed slow the queue down?

A producer keeps the queue filled and one worker drains it. The rate (handler starts) over some seconds without such a
transaction is compared with the rate at the end of the minutes in which a REPEATABLE READ transaction was open.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmarks.postgres.server import connect

if TYPE_CHECKING:
    from benchmarks.children import Child
    from benchmarks.contest.stage import Contest, Contestant, Stage

UNITS = {"drain before a held transaction": "/s", "drain at the end of a held transaction": "/s"}
LIMIT_S = 60.0


def once(contest: Contest, contestant: Contestant) -> dict[str, float]:
    sizes = contest.sizes
    with contest.stage(contestant) as stage:
        stage.load(sizes.fed)
        stage.tidy()
        with stage.process("feed", sizes.fed) as feeder, stage.workers(1) as workers:
            children = [feeder, *workers]
            stage.await_hits(sizes.fed, children, LIMIT_S)
            before = rate_at_the_end_of(stage, sizes.unheld_s, sizes.window_s, children)
            with connect(stage.url) as holder:
                holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                holder.execute("SELECT count(*) FROM pg_class")
                after = rate_at_the_end_of(stage, sizes.held_s, sizes.window_s, children)
                holder.execute("ROLLBACK")
    return dict(zip(UNITS, (before, after), strict=True))


def rate_at_the_end_of(stage: Stage, duration_s: float, window_s: float, children: list[Child]) -> float:
    """Handler starts per second over the last `window_s` of `duration_s`."""
    time.sleep(max(0.0, duration_s - window_s))
    started, first = time.perf_counter(), stage.hits.count()
    time.sleep(window_s)
    rate = (stage.hits.count() - first) / (time.perf_counter() - started)
    for child in children:
        child.check()
    return rate
