"""Forgetting what ended long ago: whole dags, never while something live depends on any of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dibs.model.instants import seconds
from dibs.stores.sqlite import escalating, lanes, outbox, registry
from dibs.stores.sqlite.rows import encode

if TYPE_CHECKING:
    from dibs.stores.sqlite.engine import Transaction

_IDLE_LANE_S = 86_400.0
_ROWS_AT_ONCE = 10_000
_LONGEST_S = 0.15

_LET_GO_AT = """
    CASE
        WHEN t.status IN ('completed', 'cancelled') THEN coalesce(t.completed_at, t.cancelled_at)
        WHEN t.status = 'dead_lettered' AND t.resolution = 'kept' THEN t.reviewed_at
    END
"""
_KEPT = f"""
    ifnull({_LET_GO_AT} >= :before, true)
    OR t.due_at IS NOT NULL  -- Cancelled, and its agent has not stopped yet.
    OR (t.has_dependents AND EXISTS (
        SELECT 1 FROM edges e CROSS JOIN tasks c ON c.n = e.child
        WHERE e.parent = t.n AND c.status NOT IN ('completed', 'dead_lettered', 'cancelled')))
"""  # noqa: S608
_IN_NO_KEPT_DAG = """
    (t.dag IS NULL OR NOT EXISTS (SELECT 1 FROM tasks AS o WHERE o.dag = t.dag AND o.status IN
        ('pending', 'scheduled', 'ready', 'claimed', 'running', 'validating', 'waiting', 'retrying'))
    AND NOT EXISTS (
        SELECT 1 FROM tasks AS o WHERE o.dag = t.dag AND o.status = 'dead_lettered' AND o.resolution IS NOT 'kept'))
"""
_CANDIDATES = f"""
SELECT t.n, t.dag FROM tasks t INDEXED BY task_ended
WHERE t.status IN ('completed', 'cancelled') AND coalesce(t.completed_at, t.cancelled_at) < :before
    AND NOT ({_KEPT}) AND {_IN_NO_KEPT_DAG}
ORDER BY coalesce(t.completed_at, t.cancelled_at)
LIMIT :limit
"""  # noqa: S608
# Dead letters that stay one as somebody decided; as rules.review.lets_go says.
_REVIEWED = f"""
SELECT t.n, t.dag FROM tasks t INDEXED BY task_reviewed
WHERE t.resolution IS NOT NULL AND t.reviewed_at < :before AND t.status = 'dead_lettered' AND t.resolution = 'kept'
    AND NOT ({_KEPT}) AND {_IN_NO_KEPT_DAG}
ORDER BY t.reviewed_at
LIMIT :limit
"""  # noqa: S608
_KEEPS_DAG = f"SELECT EXISTS (SELECT 1 FROM tasks t WHERE t.dag = :dag AND ({_KEPT}))"  # noqa: S608
_OLD_CLAIMS = """
DELETE FROM claims WHERE (project, claim_id) IN (
    SELECT project, claim_id FROM claims WHERE at < ? ORDER BY at LIMIT ?
)
"""


def prune(tx: Transaction, retention_s: float, limit: int) -> int:
    """Delete what ended before now − retention, old events and claim ids. How many tasks."""
    before = tx.now - seconds(retention_s)
    numbers: dict[int, None] = {}
    dags: dict[str, bool] = {}
    window = max(limit * 2, 1_000)
    asked = {"before": before, "limit": window}
    for number, dag in [row for query in (_CANDIDATES, _REVIEWED) for row in tx.connection.execute(query, asked)]:
        if len(numbers) >= limit:
            break
        if dag is None:
            numbers[number] = None
        elif dag not in dags:
            dags[dag] = not tx.row(_KEEPS_DAG, {"dag": dag, "before": before})[0]
            if dags[dag]:
                for row in tx.connection.execute("SELECT n FROM tasks WHERE dag = ?", (dag,)):
                    numbers[row[0]] = None
    _forget(tx, list(numbers), [dag for dag, whole in dags.items() if whole])
    _forget_log(tx, before)
    registry.prune(tx, before)
    lanes.retire(tx, _IDLE_LANE_S)
    return len(numbers)


_THEIR_BUDGETS = """
DELETE FROM budgets WHERE (project, scope) IN (
    SELECT t.project, 'dag:' || coalesce(t.dag, 'dag_' || iif(substr(t.id, 1, 5) = 'task_', substr(t.id, 6), t.id))
    FROM json_each(?) AS j CROSS JOIN tasks AS t ON t.n = j.value
)
"""


def _forget_log(tx: Transaction, before: int) -> None:
    """Delete old events and claim ids: as many as there is time for, because a busy store makes many."""
    end = time.monotonic() + _LONGEST_S
    deleted = _ROWS_AT_ONCE
    while deleted >= _ROWS_AT_ONCE and time.monotonic() < end:
        deleted = outbox.prune(tx.connection, before, _ROWS_AT_ONCE)
        tx.run(_OLD_CLAIMS, (before, _ROWS_AT_ONCE))
        deleted = max(deleted, tx.connection.changes())


def _forget(tx: Transaction, numbers: list[int], dags: list[str]) -> None:
    """Delete tasks with everything that belongs to them."""
    if not numbers:
        return
    gone = encode(numbers).decode()
    # A dependent that ended keeps its count true: the edge it never resolved goes with its parent.
    tx.run(
        "UPDATE tasks SET open = open - lost.count FROM ("
        " SELECT e.child, count(*) AS count FROM json_each(?1) j CROSS JOIN edges e ON e.parent = j.value"
        " WHERE e.resolved_at IS NULL GROUP BY e.child"
        ") AS lost WHERE tasks.n = lost.child",
        (gone,),
    )
    tx.run(_THEIR_BUDGETS, (gone,))
    escalating.forget_ladders(tx, gone)
    for table, column in (
        ("edges", "parent"),
        ("edges", "child"),
        ("artifacts", "n"),
        ("attempts", "n"),
        ("blobs", "n"),
        ("holds", "n"),
        ("reserves", "n"),
        ("journal", "n"),
        ("questions", "n"),
        ("specs", "n"),
        ("tasks", "n"),
    ):
        tx.run(f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(?))", (gone,))  # noqa: S608
    if dags:
        names = encode(dags).decode()
        tx.run("DELETE FROM dags WHERE id IN (SELECT value FROM json_each(?))", (names,))
        tx.run("DELETE FROM grown WHERE dag IN (SELECT value FROM json_each(?))", (names,))
