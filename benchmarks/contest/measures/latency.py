"""Latency: from an add in one process to the start of the handler in another whose worker is idle; one task each 20 ms.

From the call of add, so that its own cost is included, and from its return.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from benchmarks.findings import percentile

if TYPE_CHECKING:
    from benchmarks.contest.stage import Contest, Contestant

PERCENTILES = (50, 95, 99)
SINCE = ("call", "return")
UNITS = {f"latency p{share} from {since}": "ms" for since in SINCE for share in PERCENTILES}
LIMIT_S = 30.0


def once(contest: Contest, contestant: Contestant) -> dict[str, float]:
    with contest.stage(contestant) as stage:
        stage.tidy()
        with stage.workers(1) as children:
            time.sleep(contestant.peer.warm_up_s)
            adds = {
                number: (called, returned)
                for number, called, returned in stage.command("ping", contest.sizes.pings)["adds"]
            }
            stage.await_hits(len(adds), children, LIMIT_S)
            time.sleep(1.0)
        starts = [(at, number) for at, number in stage.hits.all() if number in adds]
    if len(starts) != len(adds):
        raise RuntimeError(f"{len(starts)} handler starts of {len(adds)} tasks")
    found = {}
    for position, since in enumerate(SINCE):
        waits = [1_000 * (at - adds[number][position]) for at, number in starts]
        for share in PERCENTILES:
            found[f"latency p{share} from {since}"] = percentile(waits, share / 100)
    return found
