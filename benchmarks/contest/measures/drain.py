"""Drain: no-op tasks per second that one worker process, and two, take, run and settle.

The clock runs from the first handler start until the store has nothing left that waits or runs. Workers wait at a gate
until all of them are ready, so start-up is left out. A run in which a task started twice is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.contest.stage import Contest, Contestant

UNITS = {"drain 1": "/s", "drain 2": "/s"}
LIMIT_S = 180.0


def once(contest: Contest, contestant: Contestant) -> dict[str, float]:
    count = contest.sizes.of(contestant.peer.sizes.drain)
    return {f"drain {workers}": drain(contest, contestant, workers, count) for workers in (1, 2)}


def drain(contest: Contest, contestant: Contestant, workers: int, count: int) -> float:
    with contest.stage(contestant) as stage:
        stage.load(count)
        stage.tidy()
        with stage.workers(workers) as children:
            stage.await_hits(count, children, LIMIT_S)
            ended_at = stage.await_outcomes(children)
        if stage.hits.count() != count:
            raise RuntimeError(f"{stage.hits.count():,} handler starts of {count:,} tasks")
        return count / (ended_at - stage.hits.first_at())
