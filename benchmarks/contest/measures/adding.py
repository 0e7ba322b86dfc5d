"""Adding: tasks per second that one producer commits, one by one (`add`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.contest.stage import Contest, Contestant

UNITS = {"add": "/s"}


def once(contest: Contest, contestant: Contestant) -> dict[str, float]:
    with contest.stage(contestant) as stage:
        stage.tidy()
        return {"add": stage.command("add", contest.sizes.of(contestant.peer.sizes.add))["rate"]}
