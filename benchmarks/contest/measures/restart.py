"""Restart: how long a busy worker needs to go on after the server was stopped and started again.

Timed from the moment at which the server answers again until the next handler start. A worker that gives up instead is
said to: somebody would have to start it again.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmarks.children import Ended, wait_until
from benchmarks.contest.stage import Unable, last_line

if TYPE_CHECKING:
    from benchmarks.contest.stage import Contest, Contestant

UNITS = {"recovery from a restart": "s"}
SHARE_BEFORE = 0.05
"""Of the tasks, done before the restart."""
LIMIT_S = 60.0
FEWEST = 2_000
"""Tasks, so that some are left when the server is back."""


def once(contest: Contest, contestant: Contestant) -> dict[str, float]:
    if not contest.server.can_restart:
        raise Unable("the server is not ours to restart")
    count = max(FEWEST, contest.sizes.of(contestant.peer.sizes.drain))
    with contest.stage(contestant) as stage:
        stage.load(count)
        stage.tidy()
        with stage.workers(1) as children:
            stage.await_hits(max(1, int(SHARE_BEFORE * count)), children, LIMIT_S)
            contest.server.restart()
            back_at, started = time.time(), stage.hits.count()
            if started >= count:
                raise RuntimeError("everything had been started before the server was back")
            try:
                wait_until(
                    lambda: stage.hits.count() > started, what="a handler start", timeout_s=LIMIT_S, alive=children
                )
            except Ended as error:
                raise Unable(f"its worker ends when the server goes away: {last_line(str(error))}") from error
            except TimeoutError as error:
                raise Unable(f"its worker had not gone on after {LIMIT_S:.0f} s") from error
        return {"recovery from a restart": min(at for at, _ in stage.hits.all()[started:]) - back_at}
