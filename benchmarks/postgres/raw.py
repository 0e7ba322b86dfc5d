"""The limit of the server itself: pgbench claims rows of a plain table and completes them, 100 per commit, with four
clients; and COPY fills that table. A queue in any language does more than this for each task.
"""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.postgres.server import Server

HERE = Path(__file__).resolve().parent
CLIENTS = 4
PER_COMMIT = 100
SPARE = 1.1
"""Rows beyond those that are claimed: clients that find nothing would count as fast ones."""
LIMIT_S = 600


def claims_per_second(server: Server, rows: int) -> float:
    """Rows per second that are claimed and completed."""
    pgbench = server.pgbench()
    url = server.fresh()
    rounds = max(1, rows // (CLIENTS * PER_COMMIT))
    with server.connect(url) as connection:
        connection.execute((HERE / "raw_task.sql").read_text())
        connection.execute(
            "INSERT INTO raw_task (payload) SELECT jsonb_build_object('number', g) FROM generate_series(1, %s::int) g",
            [int(SPARE * rounds * CLIENTS * PER_COMMIT)],
        )
    server.tidy(url)
    options = ["-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "2", "-t", str(rounds)]
    done = subprocess.run(
        [pgbench, *options, "-f", str(HERE / "raw_claim.sql"), url], capture_output=True, text=True, timeout=LIMIT_S
    )
    found = re.search(r"^tps = ([\d.]+)", done.stdout, re.MULTILINE)
    if done.returncode or found is None:
        raise RuntimeError(f"pgbench ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return PER_COMMIT * float(found[1])


def copied_per_second(server: Server, rows: int) -> float:
    """Rows per second that one COPY brings in."""
    url = server.fresh()
    lines = b"".join(b'default\tnoop\t{"number": %d}\n' % number for number in range(rows))
    with server.connect(url) as connection:
        connection.execute((HERE / "raw_task.sql").read_text())
        connection.execute("CHECKPOINT")
        started = time.perf_counter()
        with connection.cursor().copy("COPY raw_task (queue, name, payload) FROM STDIN") as copy:
            copy.write(lines)
        return rows / (time.perf_counter() - started)
