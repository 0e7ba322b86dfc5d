"""`python -m benchmarks.pages`: pages, counts and the overview over HTTP, of a queue with 1,000,000 tasks.

Six days of work of twenty types, most of it completed, a sixth of it ready: 10,000 tasks are added with the verbs; what
became of them, and the others, are written by SQL. A server in a process of its own; one client, one request at a time,
so that what is timed is what somebody at a dashboard waits for. Each filter is asked for its first page, warm, `--asks`
times.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import socket
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

import dibs
from benchmarks import machine, report
from benchmarks.bench import temporary_folder
from benchmarks.children import python, running
from benchmarks.http import TOKEN, wait_for
from dibs.model.task import NewTask
from dibs.queue import Queue
from dibs.stores import open_store
from dibs.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import Iterator

BOUND_MS = 300
PORTION = 10_000
DAYS = 6
TYPES = tuple(f"type-{number:02}" for number in range(19))
QUERIES = (
    "",
    "status:ready",
    "status:running",
    "status:completed",
    "status:dead_lettered",
    "-status:completed",
    "type:type-03",
    "type:rare",
    "status:completed type:rare",
    "status:ready type:type-03",
    "tag:repo:17",
    "tag:seldom",
    "user:user-7",
    "agent:agent-3",
    "cost>0.9",
    "age>1d",
    "age<10m",
    "priority<20",
    "attempts>1",
    "reason:error",
    "needle",
    "nowhere-to-be-found",
    "type:type-03 tag:repo:17 cost>0.5 age>1d word",
    "dag:DAG",
)
"""What is looked for: what indexes lead to, what only a scan finds, what is rare, and what is not there at all."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__)
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--asks", type=int, default=20)
    parser.add_argument("--folder", help="where the stores are made; a disk, not memory")
    parser.add_argument("--results", help="keep the tables in this folder")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a bound is missed")
    options = parser.parse_args()
    missed = 0
    with temporary_folder(options.folder) as folder:
        for name in ("sqlite", "postgres") if options.store == "both" else (options.store,):
            with stored(name, folder) as url:
                load = machine.describe(folder)["load before"]
                filled_s, dag = asyncio.run(fill(url, options.tasks))
                table, over = measured(url, folder, dag, options.asks)
                missed += over
                head = (
                    f"{name}: {options.tasks:,} tasks, made in {filled_s:.0f} s; load before {load}; "
                    f"{options.asks} asks each; dibs {dibs.__version__}\n\n"
                )
                print(head + table, flush=True)
                kept_in = report.results_folder(options, whole=False)
                if kept_in is not None:
                    (kept_in / f"{name}-pages.md").write_text(f"# Pages on {name}\n\n{head}{table}", encoding="utf-8")
    return int(options.check and missed > 0)


@contextmanager
def stored(name: str, folder: Path) -> Iterator[str]:
    """An empty store; gone afterwards."""
    if name == "sqlite":
        yield f"sqlite:{folder}/pages.db"
        for file in folder.glob("pages.db*"):
            file.unlink()
        return
    from benchmarks.postgres.server import serving

    with serving(None, Path(gettempdir()), None, lambda text: print(text, file=sys.stderr)) as server:
        yield server.fresh("_pages")
        server.drop("_pages")


# Filling


async def fill(url: str, count: int) -> tuple[float, str]:
    """Add some tasks with the verbs, let most of them be over, and multiply them, later and later; how long it took,
    and the id of a dag."""
    started = time.perf_counter()
    store = open_store(url, clock=FakeClock(datetime.now(UTC) - timedelta(days=DAYS)))
    await store.connect()
    queue = Queue(store)
    some = min(count, PORTION)
    try:
        await queue.add_many([new_task(number) for number in range(some)])
        dag = await queue.add_dag("Landing page", [NewTask("type-00", ref="a"), NewTask("type-01", after=["a"])])
    finally:
        await queue.close()
    live = live_on_sqlite if url.startswith("sqlite") else live_on_postgres
    live(url, count // some)
    return time.perf_counter() - started, dag.id


INSTANTS = ("created", "ready", "updated", "claimed", "started", "completed", "dead_lettered", "ended", "due")
_LATER = frozenset({*(f"{name}_at" for name in INSTANTS), "lease_expires_at"})


def multiplied(table: str, columns: list[str], which: str, later: int) -> str:
    """A statement that adds a copy of the first tasks, so much later, under other numbers and ids. `which`: how the
    copy's number is written."""
    changes = {
        "n": f"n + {which} * {2 * PORTION}",
        "id": f"id || '-' || {which}",
        "spec": f"replace(spec, id, id || '-' || {which})",
        **{name: f"{name} + {which} * {later}" for name in _LATER},
    }
    if table == "specs" and "id" not in columns:
        changes["spec"] = f"replace(spec, '\",\"type\"', '-' || {which} || '\",\"type\"')"
    values = ", ".join(changes.get(name, f'"{name}"') for name in columns)
    names = ", ".join(f'"{name}"' for name in columns)
    return f"INSERT INTO {table} ({names}) SELECT {values} FROM {table} WHERE n <= {2 * PORTION}"


def new_task(number: int) -> NewTask:
    word = "needle in a haystack" if number % 30_011 == 0 else "some words to look through"
    return NewTask(
        "rare" if number % 10_007 == 0 else TYPES[number * 7919 % 361 % 19],
        {"prompt": f"Task {number}: {word}", "repo": number % 200, "text": "x" * 150},
        title=f"Work on {number}",
        priority=(10, 30, 50, 50, 50, 80)[number % 6],
        tags=[f"repo:{number % 200}", *(["seldom"] if number % 50_021 == 0 else [])],
        user=f"user-{number % 97}" if number % 3 == 0 else None,
    )


def live_on_sqlite(url: str, times: int) -> None:
    """What became of them: a sixth is ready, one in a thousand runs, one in twenty is dead, the rest is completed."""
    import apsw

    connection = apsw.Connection(url.removeprefix("sqlite:"))
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA cache_size = -500000")
    with connection:
        connection.execute(
            "CREATE TEMP TABLE fates AS SELECT n, n * 2654435761 % 1000 AS fate FROM tasks WHERE dag IS NULL"
        )
        connection.execute("CREATE UNIQUE INDEX temp.fate ON fates (n)")
        connection.execute(
            """UPDATE tasks SET
                status = CASE
                    WHEN f.fate < 161 THEN 'running' WHEN f.fate < 210 THEN 'dead_lettered' ELSE 'completed'
                END,
                fence = 1, confirmed = 1, agent = 'agent-' || (f.n / 7 % 40),
                claimed_at = created_at + f.n % 120 * 1000000,
                started_at = created_at + f.n % 120 * 1000000,
                lease_s = 86400, lease_expires_at = CASE WHEN f.fate < 161 THEN created_at + 30 * 86400000000 END,
                due_at = CASE WHEN f.fate < 161 THEN created_at + 30 * 86400000000 END,
                attempts = f.fate >= 161, output_fence = CASE WHEN f.fate >= 210 THEN 1 END,
                reason = CASE WHEN f.fate >= 161 AND f.fate < 210 THEN 'error' END,
                error = CASE WHEN f.fate >= 161 AND f.fate < 210 THEN 'it broke' END,
                cost_usd = CASE WHEN f.fate >= 161 AND f.fate < 600 THEN f.n * 31 % 1000 / 1000.0 END,
                tokens_in = CASE WHEN f.fate >= 161 AND f.fate < 600 THEN 900 END,
                dead_lettered_at = CASE WHEN f.fate >= 161 AND f.fate < 210 THEN created_at + f.n % 300 * 1000000 END,
                completed_at = CASE WHEN f.fate >= 210 THEN created_at + f.n % 300 * 1000000 END
            FROM fates f WHERE f.n = tasks.n AND f.fate >= 160"""
        )
        connection.execute(
            """INSERT INTO attempts (n, fence, number, agent, model, outcome, status, digest, started_at, ended_at,
                cost_usd, tokens_in, output)
            SELECT n, 1, 1, agent, CASE WHEN cost_usd IS NOT NULL THEN 'big' END,
                CASE status WHEN 'completed' THEN 'completed' ELSE 'failed' END, status, '', started_at,
                coalesce(completed_at, dead_lettered_at), cost_usd, tokens_in,
                CASE status WHEN 'completed' THEN '{"done":true}' END
            FROM tasks WHERE status IN ('completed', 'dead_lettered') AND status <> 'ready'"""
        )
        for table in ("tasks", "specs", "attempts"):
            print(f"{times:,} times: {table}", file=sys.stderr)
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for which in range(1, times):
                connection.execute(multiplied(table, columns, str(which), DAYS * 86_400_000_000 // times))
    connection.close()


def live_on_postgres(url: str, times: int) -> None:
    """The same."""
    from benchmarks.postgres.server import connect

    fate = "n * 2654435761 % 1000"
    with connect(url) as connection:
        connection.execute("SET search_path = dibs")
        connection.execute(
            f"""WITH gone AS (
                DELETE FROM work WHERE {fate} >= 161 AND n NOT IN (SELECT n FROM specs WHERE dag IS NOT NULL)
                RETURNING *
            )
            INSERT INTO ended (n, ended_at, updated_at, fence, ready_at, claimed_at, started_at, rank, priority, boost,
                lane, bytes, attempts, status, agent, output, cost_usd, tokens_in, reason, error)
            SELECT n, ready_at + n % 300 * 1000000, ready_at, 1, ready_at, ready_at, ready_at + n % 120 * 1000000, rank,
                priority, boost, lane, bytes, 1, CASE WHEN {fate} < 210 THEN 'dead_lettered' ELSE 'completed' END,
                'agent-' || (n / 7 % 40), CASE WHEN {fate} >= 210 THEN '{{"done":true}}' END,
                CASE WHEN {fate} < 600 THEN n * 31 % 1000 / 1000.0 END, CASE WHEN {fate} < 600 THEN 900 END,
                CASE WHEN {fate} < 210 THEN 'error' END, CASE WHEN {fate} < 210 THEN 'it broke' END
            FROM gone"""
        )
        connection.execute(
            """INSERT INTO attempts (n, fence, number, agent, model, outcome, status, digest, started_at, ended_at,
                cost_usd, tokens_in)
            SELECT n, 1, 1, agent, CASE WHEN cost_usd IS NOT NULL THEN 'big' END,
                CASE status WHEN 'completed' THEN 'completed' ELSE 'failed' END, status, '', started_at, ended_at,
                cost_usd, tokens_in
            FROM ended"""
        )
        connection.execute(
            f"""UPDATE work SET status = 'running', fence = 1, confirmed = true, agent = 'agent-' || (n / 7 % 40),
                claimed_at = ready_at, started_at = ready_at, lease_s = 86400,
                lease_expires_at = ready_at + 30 * 86400000000, due_at = ready_at + 30 * 86400000000
            WHERE {fate} = 160 AND status = 'ready'"""
        )
        for table in ("specs", "work", "ended", "attempts"):
            print(f"{times:,} times: {table}", file=sys.stderr)
            found = connection.execute(
                "SELECT column_name FROM information_schema.columns WHERE table_schema = 'dibs' AND table_name = %s",
                (table,),
            )
            columns = [str(row[0]) for row in found]
            for which in range(1, times):
                connection.execute(multiplied(table, columns, str(which), DAYS * 86_400_000_000 // times).encode())
        connection.execute("SELECT setval(pg_get_serial_sequence('specs', 'n'), (SELECT max(n) FROM specs))")
        connection.execute("VACUUM ANALYZE")


# Asking


def measured(url: str, folder: Path, dag: str, asks: int) -> tuple[str, int]:
    """A table of what each page took, and how many were too slow."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    work = folder / "pages-server"
    work.mkdir(exist_ok=True)
    lines = ["| asked | found | more | p50 ms | p95 ms | |", "|---|---|---|---|---|---|"]
    over = 0
    with running(python("-m", "benchmarks.http", "--serve", url, str(port)), work) as child:
        wait_for(port, child)
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        queries = [query.replace("DAG", dag) for query in QUERIES]
        paths = [(f"find {query}", f"/v1/tasks?limit=50&query={quote(query)}") for query in queries]
        paths += [
            (f"count {query}", f"/v1/found/count?query={quote(query)}") for query in ("", "status:ready", "tag:repo:17")
        ]
        paths += [
            ("the second page", f"/v1/tasks?limit=50&cursor={ask(line, '/v1/tasks?limit=50')['cursor']}"),
            ("dags", "/v1/dags?limit=50"),
            ("suggest tag:", f"/v1/found/suggestions?query={quote('tag:')}"),
            ("overview", "/v1/overview"),
            ("lanes, an hour", "/v1/lanes?minutes=60"),
            ("costs, a week", "/v1/costs?since=7d"),
            ("stats", "/v1/stats"),
        ]
        for name, path in paths:
            ask(line, path)
            times = []
            bounded = name.startswith(("find", "the second"))
            for _ in range(asks if bounded else max(1, asks // 4)):
                began = time.perf_counter()
                answer = ask(line, path)
                times.append((time.perf_counter() - began) * 1000)
            times.sort()
            p50, p95 = times[len(times) // 2], times[min(len(times) - 1, len(times) * 95 // 100)]
            late = bounded and p95 > BOUND_MS
            over += late
            verdict = "" if not bounded else f"over {BOUND_MS} ms" if late else "✓"
            lines.append(f"| `{name.strip()}` | {found(answer)} | {p50:.0f} | {p95:.0f} | {verdict} |")
    return "\n".join(lines) + "\n", over


def found(answer: Any) -> str:
    """How much was in the answer, and whether there is more."""
    if isinstance(answer, dict) and "items" in answer:
        return f"{len(answer['items'])} | {'yes' if answer['cursor'] else ''}"
    if isinstance(answer, dict) and "count" in answer:
        return f"{answer['count']:,} | {'yes' if answer['more'] else ''}"
    return f"{len(answer)} |"


def ask(line: http.client.HTTPConnection, path: str) -> Any:
    line.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"})
    answer = line.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise RuntimeError(body.decode())
    return msgspec.json.decode(body)


if __name__ == "__main__":
    raise SystemExit(main())
