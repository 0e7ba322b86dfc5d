"""Three ways to lay out a task in PostgreSQL, drained in batches by bare statements.

    python -m benchmarks.trials.layouts postgresql://localhost/postgres

a  one wide table, updated twice
b  an immutable spec, a narrow hot row that goes when the task ends, an insert-only outcome
c  as b, but the outcome is written into the row of the spec

Each is filled with the same tasks and drained by one and by two connections; then drained while an idle transaction
holds an old snapshot. Every claim raises a fence and every completion checks it.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from time import perf_counter
from typing import NamedTuple

import asyncpg

TASKS = 60_000
BATCH = 100
HELD_S = 30.0


class Layout(NamedTuple):
    """What makes its tables, fills them, claims a batch (answers numbers), and completes it."""

    tables: str
    fill: str
    claim: str
    complete: str


_SPEC = """'{"id":"task_' || lpad(g::text, 26, '0') || '","payload":{"i":' || g || '},"type":"noop"}'"""
_WIDE_COLUMNS = """
    n bigint PRIMARY KEY, rank float8, priority float8 NOT NULL, boost float8 NOT NULL, fence bigint NOT NULL DEFAULT 0,
    updated_at bigint NOT NULL, ready_at bigint, due_at bigint, claimed_at bigint, started_at bigint, lease_s float8,
    lane integer NOT NULL, attempts integer NOT NULL DEFAULT 0, status text NOT NULL, agent text
"""
_HOT_INDEXES = """
    CREATE INDEX ON dibs_layouts.work (lane, rank, n) WHERE status = 'ready';
    CREATE INDEX ON dibs_layouts.work (due_at, n) WHERE status = 'running';
"""
_SPEC_TABLE = """
    CREATE TABLE dibs_layouts.specs (
        n bigint PRIMARY KEY, created_at bigint NOT NULL, id text COLLATE "C" NOT NULL UNIQUE, type text NOT NULL,
        spec text NOT NULL, ended_at bigint, outcome text, digest text, output text
    );
"""
_CLAIM = """
    WITH c AS (
        SELECT n FROM dibs_layouts.work WHERE status = 'ready' AND lane = 1 ORDER BY rank, n LIMIT $1
        FOR UPDATE SKIP LOCKED
    ), t AS (
        UPDATE dibs_layouts.work w SET status = 'running', fence = fence + 1, agent = 'worker', claimed_at = 2,
            started_at = 2, due_at = 62, lease_s = 60, updated_at = 2
        FROM c WHERE w.n = c.n RETURNING w.n
    )
"""

LAYOUTS = {
    "a": Layout(
        "CREATE TABLE dibs_layouts.work ("
        + _WIDE_COLUMNS
        + """, created_at bigint NOT NULL, id text COLLATE "C" NOT NULL UNIQUE, type text NOT NULL, spec text NOT NULL,
             ended_at bigint, outcome text, digest text, output text);"""
        + _HOT_INDEXES,
        f"""INSERT INTO dibs_layouts.work (
                n, rank, priority, boost, updated_at, ready_at, lane, status, created_at, id, type, spec
            )
            SELECT g, 50, 50, 0.1, 1, 1, 1, 'ready', 1, 'task_' || lpad(g::text, 26, '0'), 'noop', {_SPEC}
            FROM generate_series(1, $1) g""",
        _CLAIM + "SELECT array_agg(t.n), string_agg(s.spec, ',') FROM t JOIN dibs_layouts.work s ON s.n = t.n",
        """UPDATE dibs_layouts.work SET status = 'completed', ended_at = 3, updated_at = 3, outcome = 'completed',
            digest = '0123456789abcdef01234567', output = 'null', attempts = attempts + 1, due_at = NULL
            WHERE n = ANY ($1) AND fence = 1 AND status = 'running'""",
    ),
    "b": Layout(
        "CREATE TABLE dibs_layouts.work ("
        + _WIDE_COLUMNS
        + ");"
        + _HOT_INDEXES
        + _SPEC_TABLE
        # As in a, a row people can look up: one index.
        + """CREATE TABLE dibs_layouts.ended (n bigint PRIMARY KEY, ended_at bigint NOT NULL, fence bigint NOT NULL,
                ready_at bigint, claimed_at bigint, started_at bigint, rank float8, priority float8, boost float8,
                lane integer, attempts integer, status text, agent text, digest text, output text);""",
        f"""WITH s AS (
                INSERT INTO dibs_layouts.specs (n, created_at, id, type, spec)
                SELECT g, 1, 'task_' || lpad(g::text, 26, '0'), 'noop', {_SPEC} FROM generate_series(1, $1) g
            )
            INSERT INTO dibs_layouts.work (n, rank, priority, boost, updated_at, ready_at, lane, status)
            SELECT g, 50, 50, 0.1, 1, 1, 1, 'ready' FROM generate_series(1, $1) g""",
        _CLAIM + "SELECT array_agg(t.n), string_agg(s.spec, ',') FROM t JOIN dibs_layouts.specs s ON s.n = t.n",
        """WITH gone AS (
                DELETE FROM dibs_layouts.work WHERE n = ANY ($1) AND fence = 1 AND status = 'running' RETURNING *
            )
            INSERT INTO dibs_layouts.ended
            SELECT n, 3, fence, ready_at, claimed_at, started_at, rank, priority, boost, lane, attempts + 1,
                'completed', agent, '0123456789abcdef01234567', 'null' FROM gone""",
    ),
}
LAYOUTS["c"] = LAYOUTS["b"]._replace(
    complete="""WITH gone AS (
            DELETE FROM dibs_layouts.work WHERE n = ANY ($1) AND fence = 1 AND status = 'running' RETURNING *
        )
        UPDATE dibs_layouts.specs s SET ended_at = 3, outcome = 'completed', digest = '0123456789abcdef01234567',
            output = 'null'
        FROM gone WHERE s.n = gone.n""",
)


async def _prepare(connection: asyncpg.Connection, layout: Layout, tasks: int) -> None:
    await connection.execute("DROP SCHEMA IF EXISTS dibs_layouts CASCADE; CREATE SCHEMA dibs_layouts")
    await connection.execute(layout.tables)
    await connection.execute(layout.fill, tasks)
    await connection.execute("VACUUM ANALYZE")
    await connection.execute("CHECKPOINT")


async def _drain(url: str, layout: Layout, until: float) -> int:
    """Claim and complete until nothing is left or time is up; how many."""
    connection = await asyncpg.connect(url)
    await connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off")
    claim = await connection.prepare(layout.claim)
    complete = await connection.prepare(layout.complete)
    done = 0
    while perf_counter() < until:
        numbers, _ = await claim.fetchrow(BATCH)
        if numbers is None:
            break
        await complete.fetch(numbers)
        done += len(numbers)
    await connection.close()
    return done


async def _rate(url: str, layout: Layout, workers: int) -> tuple[float, float]:
    """Tasks per second, and bytes of WAL for each."""
    connection = await asyncpg.connect(url)
    await _prepare(connection, layout, TASKS)
    before = await connection.fetchval("SELECT pg_current_wal_lsn()")
    start = perf_counter()
    done = sum(await asyncio.gather(*(_drain(url, layout, start + 600) for _ in range(workers))))
    took = perf_counter() - start
    written = await connection.fetchval("SELECT pg_current_wal_lsn() - $1::pg_lsn", before)
    await connection.close()
    assert done == TASKS, f"{done} of {TASKS}"
    return done / took, int(written) / done


async def _held_rate(url: str, layout: Layout) -> float:
    """Tasks per second over the last third of a drain behind an idle REPEATABLE READ transaction."""
    connection, holder = await asyncpg.connect(url), await asyncpg.connect(url)
    await _prepare(connection, layout, 1_000_000)
    async with holder.transaction(isolation="repeatable_read"):
        await holder.fetchval("SELECT count(*) FROM pg_class")
        start = perf_counter()
        await _drain(url, layout, start + HELD_S * 2 / 3)
        start = perf_counter()
        done = await _drain(url, layout, start + HELD_S / 3)
        rate = done / (perf_counter() - start)
    await connection.close()
    await holder.close()
    return rate


async def _main(url: str, runs: int, held: bool) -> None:
    print(
        "| layout | drain, 1 connection | 2 connections | WAL per task |"
        + (" behind a held snapshot |" if held else "")
    )
    for name, layout in LAYOUTS.items():
        one = [await _rate(url, layout, 1) for _ in range(runs)]
        two = [await _rate(url, layout, 2) for _ in range(runs)]
        cells = [
            name,
            f"{statistics.median(rate for rate, _ in one):,.0f}/s",
            f"{statistics.median(rate for rate, _ in two):,.0f}/s",
            f"{statistics.median(wal for _, wal in one):,.0f} B",
        ]
        if held:
            cells.append(f"{await _held_rate(url, layout):,.0f}/s")
        print("| " + " | ".join(cells) + " |", flush=True)
    connection = await asyncpg.connect(url)
    await connection.execute("DROP SCHEMA IF EXISTS dibs_layouts CASCADE")
    await connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--held", action="store_true", help=f"also drain for {HELD_S:.0f} s behind a held snapshot")
    options = parser.parse_args()
    asyncio.run(_main(options.url, options.runs, options.held))


if __name__ == "__main__":
    main()
