"""How much work the measures on SQLite do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """How much work each measure does. Rates need at least 3 s of it to be worth reading."""

    raw_rows: int = 600_000
    drain_dibs: int = 100_000
    drain_huey: int = 10_000
    crowd: int = 4
    bulk: int = 100_000
    bulk_chunk: int = 1_000
    adds: int = 4_000
    backlog: int = 1_000_000
    short_backlog: int = 1_000
    lanes: int = 50
    single_claims: int = 300
    batch_claims: int = 60
    batch: int = 100
    pings: int = 300
    ping_interval_s: float = 0.02
    memory_tasks: int = 500_000
    shell_pairs: int = 15


QUICK = Sizes(
    raw_rows=100_000,
    drain_dibs=20_000,
    drain_huey=3_000,
    bulk=20_000,
    adds=1_000,
    backlog=100_000,
    single_claims=100,
    batch_claims=20,
    pings=100,
    memory_tasks=60_000,
    shell_pairs=7,
)
"""For trying out a change. Too short to quote."""
