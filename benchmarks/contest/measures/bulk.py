"""Bulk: tasks per second that one producer commits, 1,000 and 10,000 per call."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.contest.stage import Contest, Contestant

CHUNKS = {"bulk": 1_000, "bulk large": 10_000}
UNITS = dict.fromkeys(CHUNKS, "/s")


def once(contest: Contest, contestant: Contestant) -> dict[str, float]:
    rates = {}
    for name, chunk in CHUNKS.items():
        with contest.stage(contestant) as stage:
            stage.tidy()
            count = max(2 * chunk, contest.sizes.of(contestant.peer.sizes.bulk))
            rates[name] = stage.command("bulk", count, chunk)["rate"]
    return rates
