"""A task's journal: steps and spawns that are never done twice, the last checkpoint, log lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.stores import refusals
from dibs.stores.sqlite.work import Work
from dibs.stores.values import Entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.stores.sqlite.engine import Transaction

MAX_LOG_LINES = 1_000

_FIND = "SELECT digest, value FROM journal WHERE n = ? AND kind = ? AND name = ? AND kind <> 'log'"
_WRITE = "INSERT INTO journal (n, kind, name, digest, value) VALUES (?, ?, ?, ?, ?)"
_REPLACE = "UPDATE journal SET digest = ?4, value = ?5 WHERE n = ?1 AND kind = ?2 AND name = ?3 AND kind <> 'log'"
_TRIM = """
DELETE FROM journal WHERE n = ?1 AND kind = 'log' AND id <= (
    SELECT id FROM journal WHERE n = ?1 AND kind = 'log' ORDER BY id DESC LIMIT 1 OFFSET ?2
)
"""


def find(tx: Transaction, number: int, kind: str, name: str) -> Entry | None:
    """The entry of this name, if there is one."""
    found = tx.row(_FIND, (number, kind, name))
    if found is None:
        return None
    return Entry(kind=kind, name=name, digest=found[0], value=found[1].encode())


def write(tx: Transaction, number: int, entry: Entry) -> Entry:
    """Write one entry; what is now recorded."""
    name = "" if entry.kind in ("checkpoint", "log", "made") else entry.name
    values = (number, entry.kind, name, entry.digest, entry.value.decode())
    if entry.kind != "log":
        known = find(tx, number, entry.kind, name)
        if known is not None:
            if entry.kind not in ("checkpoint", "made"):
                return known
            tx.run(_REPLACE, values)
            return entry
    tx.run(_WRITE, values)
    return entry


def write_journal(tx: Transaction, task_id: str, fence: int, entries: Sequence[Entry]) -> list[Entry]:
    """Write entries under a held fence; what is now recorded for each. All or nothing."""
    work = Work(tx)
    row = work.get(task_id)
    if not row.held or row.fence != fence:
        raise refusals.lease_lost(task_id, fence)
    if row.over_timeout(tx.now):
        raise refusals.over_timeout(task_id, fence, row.timeout_s)
    written = []
    for entry in entries:
        kept = write(tx, row.n, entry)
        if entry.kind in ("step", "spawn") and kept.digest != entry.digest:
            raise refusals.journal_mismatch(entry.kind, entry.name, task_id)
        written.append(kept)
    if any(entry.kind == "log" for entry in entries):
        tx.run(_TRIM, (row.n, MAX_LOG_LINES))
    if not row.confirmed:
        row.confirmed = 1
        work.mend(row)
    work.flush()
    return written


def read_journal(tx: Transaction, task_id: str) -> list[Entry]:
    """All entries, in the order they were first written."""
    row = Work(tx).get(task_id)
    return [
        Entry(kind=kind, name=name, digest=digest, value=value.encode())
        for kind, name, digest, value in tx.connection.execute(
            "SELECT kind, name, digest, value FROM journal WHERE n = ? ORDER BY id", (row.n,)
        )
    ]


def drop_steps(tx: Transaction, number: int) -> None:
    """Forget steps, spawns, questions and what was made: the next attempt does everything again."""
    tx.run("UPDATE questions SET name = NULL WHERE n = ?", (number,))
    tx.run("DELETE FROM journal WHERE n = ? AND kind IN ('step', 'spawn', 'made')", (number,))
