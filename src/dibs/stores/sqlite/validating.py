"""Work that was handed in: who judges it, and what its attempt says once it was judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.status import Status
from dibs.stores import refusals
from dibs.stores.sqlite.work import Work

if TYPE_CHECKING:
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.rows import Row
    from dibs.stores.values import Settlement

_WAIT = """
INSERT INTO edges (parent, child, kind) VALUES (?, ?, 'judge')
ON CONFLICT (child, parent, kind) DO UPDATE SET resolved_at = NULL WHERE resolved_at IS NOT NULL
"""
_WAITS = "SELECT resolved_at FROM edges WHERE parent = ? AND child = ? AND kind = 'judge'"
_HANDED_IN = (
    "SELECT id FROM tasks INDEXED BY task_handed_in WHERE status = 'validating' AND open = 0 ORDER BY n LIMIT ?"
)
_REWRITE = """
UPDATE attempts SET number = ?, outcome = ?, status = ?, reason = ?, error = ?, fingerprint = ?, retry_at = ?
WHERE n = ? AND fence = ?
"""


def await_verdict(tx: Transaction, task_id: str, fence: int, judge_id: str) -> bool:
    """Let work that was handed in wait for the end of its judge's task; whether it does."""
    work = Work(tx)
    row = work.get(task_id)
    judge = work.get(judge_id)
    if row.status != "validating" or row.fence != fence:
        raise refusals.lease_lost(task_id, fence)
    if judge.final:
        return False
    known = tx.row(_WAITS, (judge.n, row.n))
    if known is None or known[0] is not None:
        # An edge that is there and resolved: the judge was given a new life before anybody noticed its end.
        tx.run(_WAIT, (judge.n, row.n))
        row.open += 1
        row.deps += known is None
        judge.has_dependents = 1
        work.mend(judge)
    work.touch(row)
    work.flush()
    return True


def handed_in(tx: Transaction, limit: int) -> list[str]:
    """Tasks whose work waits for a decision, and for nobody."""
    return [id for [id] in tx.connection.execute(_HANDED_IN, (limit,))]


def rewrite_attempt(tx: Transaction, row: Row, settlement: Settlement, number: int) -> None:
    """The attempt was submitted; now it is known how it ended. What it used was added up before."""
    tx.run(
        _REWRITE,
        (
            number,
            settlement.outcome.value,
            settlement.next.value,
            settlement.reason,
            settlement.error,
            settlement.fingerprint,
            row.retry_at,
            row.n,
            row.fence,
        ),
    )


def keep_results(tx: Transaction, row: Row, settlement: Settlement) -> None:
    """What was handed in stays, if it was good."""
    row.error = settlement.error
    row.reason = settlement.reason
    [row.exit_code] = tx.row("SELECT exit_code FROM attempts WHERE n = ? AND fence = ?", (row.n, row.fence))
    if settlement.next is not Status.COMPLETED:
        row.output_fence = None
        row.output_sanitized = 0
