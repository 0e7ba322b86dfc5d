"""The limit of the store itself: rows updated twice, 100 per transaction, and nothing else done.

WAL and `synchronous=FULL` as in dibs. A row counts when both of its updates are committed, as a task counts when its
claim and its outcome are.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import apsw

if TYPE_CHECKING:
    from pathlib import Path

PER_TRANSACTION = 100


def rows_per_second(folder: Path, rows: int) -> float:
    connection = apsw.Connection(str(folder / "raw.db"))
    try:
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        connection.execute("CREATE TABLE work (id INTEGER PRIMARY KEY, payload TEXT, status TEXT)")
        with connection:
            connection.executemany(
                "INSERT INTO work VALUES (?, ?, 'ready')", ((id, f'{{"number": {id}}}') for id in range(rows))
            )
        connection.pragma("wal_checkpoint(TRUNCATE)")
        started = time.perf_counter()
        for first in range(0, rows, PER_TRANSACTION):
            ids = [(id,) for id in range(first, min(rows, first + PER_TRANSACTION))]
            for status in ("running", "completed"):
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany(f"UPDATE work SET status = '{status}' WHERE id = ?", ids)
                connection.execute("COMMIT")
        return rows / (time.perf_counter() - started)
    finally:
        connection.close()
