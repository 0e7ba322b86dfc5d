"""Kill: how long the tasks of a worker that was killed (`kill -9`) wait for another one that is there.

Each peer is set so that a worker counts as dead after about 10 s, where that can be set. Timed from the kill until the
other worker has started the last of ten tasks (of one, where a worker holds no more).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.contest.stage import Contest, Contestant

UNITS = {"recovery from kill -9": "s"}
LIMIT_S = 90.0


def once(contest: Contest, contestant: Contestant) -> dict[str, float]:
    count = contestant.peer.at_once
    with contest.stage(contestant, contestant.peer.recovery) as stage:
        stage.load(count)
        stage.tidy()
        with stage.workers(1, hang=True) as [victim]:
            stage.await_hits(count, [victim], LIMIT_S)
            with stage.workers(1) as others:
                time.sleep(contestant.peer.warm_up_s)
                killed_at = time.time()
                victim.kill()
                stage.await_hits(2 * count, others, LIMIT_S)
        return {"recovery from kill -9": max(at for at, _ in stage.hits.all()) - killed_at}
