"""All measures on PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from benchmarks.contest import running
from benchmarks.contest.measures import adding, bulk, drain, graph, kill, latency, restart
from benchmarks.contest.presenting import Heading
from benchmarks.contest.sizes import SIZES
from benchmarks.peers.postgres import PEERS, VARIANTS
from benchmarks.postgres import raw, server
from benchmarks.postgres.floors import floors
from benchmarks.postgres.measures import backlog, gates, held, producers

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from benchmarks.contest.stage import Contest

ROWS = "claim and complete 100 rows"


def _server(contest: Contest) -> server.Server:
    return cast("server.Server", contest.server)


ARENA = running.Arena(
    heading=Heading("postgres", "dibs and its peers on PostgreSQL", "fsync on", ROWS),
    schemes=("postgresql", "postgres"),
    peers=PEERS,
    variants=VARIANTS,
    contested={
        "add": adding,
        "bulk": bulk,
        "drain": drain,
        "latency": latency,
        "backlog": backlog,
        "gates": gates,
        "held": held,
        "kill": kill,
        "restart": restart,
        "graph": graph,
        "producers": producers,
    },
    limits={
        ROWS: lambda contest: raw.claims_per_second(_server(contest), contest.sizes.raw_claims),
        "COPY": lambda contest: raw.copied_per_second(_server(contest), contest.sizes.raw_copies),
    },
    sizes=SIZES,
    serving=server.serving,
    floors=floors,
)

MEASURES = ARENA.measures
SCHEMES = ARENA.schemes
contestants = ARENA.contestants


def run(chosen: Sequence[str], options: argparse.Namespace) -> bool:
    return running.run(ARENA, chosen, options)
