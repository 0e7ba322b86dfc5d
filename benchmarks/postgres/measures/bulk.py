"""Bulk: tasks per second that one producer commits, 1,000 per call."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.postgres.stage import Contest, Contestant

UNITS = {"bulk": "/s"}


def once(contest: Contest, contestant: Contestant) -> dict[str, float]:
    with contest.stage(contestant) as stage:
        stage.tidy()
        count = max(2_000, contest.sizes.of(contestant.peer.sizes.bulk))
        return {"bulk": stage.command("bulk", count)["rate"]}
