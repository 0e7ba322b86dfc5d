"""Graph: how many graphs per second one worker process completes. Each is one task, ten that wait for it, and one that
waits for those ten. DBOS has them as a workflow that waits for ten others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.contest.stage import Contest, Contestant

UNITS = {"graphs": "/s"}
LIMIT_S = 300.0


def once(contest: Contest, contestant: Contestant) -> dict[str, float]:
    count = contest.sizes.graphs
    with contest.stage(contestant) as stage:
        stage.command("graphs", count)
        stage.tidy()
        with stage.workers(1) as children:
            stage.await_hits(count * contestant.peer.tasks_per_graph, children, LIMIT_S)
            ended_at = stage.await_outcomes(children)
        return {"graphs": count / (ended_at - stage.hits.first_at())}
