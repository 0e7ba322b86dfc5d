"""asyncpg and psycopg 3 on the calls that the PostgreSQL store makes most: claim 100, settle 100, add one.

    python -m benchmarks.trials.drivers postgresql://localhost/postgres

Both call the same functions with the same parameters, one call after the other on one connection.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import asyncpg
import psycopg

import dibs
from dibs.stores.postgres.adding import _ADD_ONE
from dibs.stores.postgres.claiming import _CLAIM
from dibs.stores.postgres.settling import _SETTLE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Fetch = Callable[..., Awaitable[Any]]

TASKS = 20_000
BATCH = 100
DIGEST = "0123456789abcdef01234567"
SPEC = '{"id":"%s","payload":{"i":1},"type":"noop"}'


async def _asyncpg(url: str) -> tuple[Fetch, Callable[[], Awaitable[None]]]:
    connection = await asyncpg.connect(url)
    return connection.fetch, connection.close


async def _psycopg(url: str) -> tuple[Fetch, Callable[[], Awaitable[None]]]:
    connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
    connection.prepare_threshold = 0
    cursor = connection.cursor(binary=True)
    texts: dict[str, str] = {}

    async def fetch(sql: str, *args: Any) -> Any:
        text = texts.get(sql)
        if text is None:
            text = sql
            for place in range(len(args), 0, -1):
                text = text.replace(f"${place}", "%s")
            texts[sql] = text
        await cursor.execute(text, args)
        return await cursor.fetchall()

    return fetch, connection.close


async def _measure(url: str, open_connection: Any) -> dict[str, tuple[float, float]]:
    """Microseconds that pass, and that this process works, for each task."""
    async with dibs.connect(url) as queue:
        [task] = await queue.add_many([dibs.NewTask("noop", {"i": 0})])
        for _ in range(0, TASKS, 1_000):
            await queue.add_many([dibs.NewTask("noop", {"i": 1})] * 1_000)
    fetch, close = await open_connection(url)
    [(version, lane, *_)] = await fetch("SELECT version, id FROM dibs.lanes_in_use() LIMIT 1")
    times = {name: [0.0, 0.0, 0] for name in ("claim 100", "settle 100", "add one")}

    async def timed(name: str, tasks: int, sql: str, *args: Any) -> Any:
        wall, cpu = perf_counter(), process_time()
        [row] = await fetch(sql, *args)
        times[name][0] += perf_counter() - wall
        times[name][1] += process_time() - cpu
        times[name][2] += tasks
        return row

    for turn in range(TASKS // BATCH):
        found = await timed(
            "claim 100", BATCH, _CLAIM, None, version, "default", "agent", None, [lane], [0.1], None, None, BATCH,
            2**23,
            60.0, True, f"{task.id}-{turn}", False,
        )  # fmt: skip
        numbers = list(found[3])
        ids = [f"task_{number}" for number in numbers]
        await timed(
            "settle 100", BATCH, _SETTLE, None, ids, numbers, list(found[4]), [DIGEST] * len(ids), None, None,
            ['{"payload":{"i":1}}'] * len(ids), None,
        )  # fmt: skip
    for turn in range(2_000):
        id = f"{task.id}{turn}{open_connection.__name__}"
        await timed(
            "add one", 1, _ADD_ONE, None, version, "default", id, SPEC % id, 7, "noop", lane, None, 50.0, 0.1, 0, 3,
            None, None, None, "keep", None, None,
        )  # fmt: skip
    await close()
    return {name: (wall / tasks * 1e6, cpu / tasks * 1e6) for name, (wall, cpu, tasks) in times.items()}


async def _main(url: str, runs: int) -> None:
    print("| driver | call | µs per task | of which in Python |\n|---|---|---:|---:|")
    for open_connection in (_asyncpg, _psycopg):
        found = [await _measure(url, open_connection) for _ in range(runs)]
        for name in found[0]:
            wall = statistics.median(run[name][0] for run in found)
            cpu = statistics.median(run[name][1] for run in found)
            print(f"| {open_connection.__name__[1:]} | {name} | {wall:.1f} | {cpu:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    asyncio.run(_main(options.url, options.runs))


if __name__ == "__main__":
    main()
