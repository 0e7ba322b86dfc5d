"""All measures on Redis."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from benchmarks.contest import running
from benchmarks.contest.measures import adding, bulk, drain, kill, latency, restart
from benchmarks.contest.presenting import Heading
from benchmarks.contest.sizes import SIZES
from benchmarks.redis import raw, server
from benchmarks.redis.floors import floors
from benchmarks.redis.measures import backlog
from benchmarks.redis.peers import PEERS, VARIANTS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from benchmarks.contest.stage import Contest

ROWS = "claim and complete 100 rows"
PIPELINE = 16
SHARE_OF_SINGLES = 0.1
"""Calls for one row at a time are slower by about so much."""


def _rows(contest: Contest, *, depth: int) -> float:
    here = cast("server.Server", contest.server)
    return raw.claims_per_second(here, contest.sizes.raw_claims, at_once=100, depth=depth)


def _singles(contest: Contest, *, depth: int) -> float:
    here, rows = cast("server.Server", contest.server), int(SHARE_OF_SINGLES * contest.sizes.raw_claims)
    return raw.claims_per_second(here, rows, at_once=1, depth=depth)


ARENA = running.Arena(
    heading=Heading("redis", "dibs and its peers on Redis", "appendfsync everysec", ROWS),
    schemes=("redis",),
    peers=PEERS,
    variants=VARIANTS,
    contested={
        "add": adding,
        "bulk": bulk,
        "drain": drain,
        "latency": latency,
        "backlog": backlog,
        "kill": kill,
        "restart": restart,
    },
    limits={
        ROWS: partial(_rows, depth=1),
        f"{ROWS}, {PIPELINE} calls in a pipeline": partial(_rows, depth=PIPELINE),
        "claim and complete 1 row": partial(_singles, depth=1),
        f"claim and complete 1 row, {PIPELINE} calls in a pipeline": partial(_singles, depth=PIPELINE),
    },
    sizes={name: replace(sizes, short_backlog=1_000) for name, sizes in SIZES.items()},
    serving=server.serving,
    floors=floors,
)

MEASURES = ARENA.measures
SCHEMES = ARENA.schemes
contestants = ARENA.contestants


def run(chosen: Sequence[str], options: argparse.Namespace) -> bool:
    return running.run(ARENA, chosen, options)
