"""What time does to tasks: duties and whose turn they are, due work, expired leases, ranks, deadlines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.model.instants import seconds
from dibs.rules import graph, schedule
from dibs.stores import refusals
from dibs.stores.sqlite import reading
from dibs.stores.sqlite.cascade import STEP, Cascade
from dibs.stores.sqlite.jobs import UNKNOWN
from dibs.stores.sqlite.rows import FINAL, encode
from dibs.stores.sqlite.work import Work
from dibs.stores.values import Expired

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.jobs import Unknown
    from dibs.stores.sqlite.lanes import Lanes

_DUE = """
SELECT n FROM (
    SELECT * FROM (SELECT n, due_at FROM tasks WHERE status = 'scheduled' AND due_at IS NOT NULL AND due_at <= ?1
        ORDER BY due_at, n LIMIT ?2)
    UNION ALL
    SELECT * FROM (SELECT n, due_at FROM tasks WHERE status = 'retrying' AND due_at IS NOT NULL AND due_at <= ?1
        ORDER BY due_at, n LIMIT ?2)
) ORDER BY due_at, n LIMIT ?2
"""
_SHUT_DUE = """
SELECT EXISTS (SELECT 1 FROM pauses WHERE until <= ?1)
    OR EXISTS (SELECT 1 FROM backoffs WHERE until <= ?1)
    OR EXISTS (SELECT 1 FROM breakers WHERE due_at <= ?1 OR shut = 'probing')
    OR EXISTS (SELECT 1 FROM budgets WHERE ends_at <= ?1)
"""
_OVER = """
SELECT n FROM tasks WHERE status IN ('claimed', 'running') AND due_at IS NOT NULL AND due_at <= ?1
ORDER BY due_at, n LIMIT ?2
"""
_UNWRITTEN = """
SELECT n FROM tasks WHERE status = 'cancelled' AND due_at IS NOT NULL AND due_at <= ?1 ORDER BY due_at, n LIMIT ?2
"""
_STEPPED = "SELECT n FROM tasks WHERE step_at IS NOT NULL AND step_at <= ?1 ORDER BY step_at, n LIMIT ?2"
_LATE = """
SELECT n FROM tasks
WHERE deadline IS NOT NULL AND deadline <= ?1 AND overdue = 0
    AND status NOT IN ('completed', 'dead_lettered', 'cancelled')
ORDER BY deadline, n LIMIT ?2
"""
_LIVE_EDGES = """
SELECT p.id, c.id FROM json_each(?) j
CROSS JOIN edges e ON e.parent = j.value CROSS JOIN tasks p ON p.n = e.parent CROSS JOIN tasks c ON c.n = e.child
WHERE c.status NOT IN ('completed', 'dead_lettered', 'cancelled')
"""
_WRITTEN_AT_ONCE = 1_000


# Duties


def elect(tx: Transaction, intervals_s: Mapping[str, float]) -> list[str]:
    """The duties that are due and now the caller's."""
    due = _due_duties(tx, intervals_s)
    for duty in due:
        tx.run("INSERT OR REPLACE INTO duties VALUES (?, ?)", (duty, tx.now + seconds(intervals_s[duty])))
    return due


def elect_glance(tx: Transaction, intervals_s: Mapping[str, float]) -> list[str] | Unknown:
    """The answer while none is due."""
    return UNKNOWN if _due_duties(tx, intervals_s) else []


def _due_duties(tx: Transaction, intervals_s: Mapping[str, float]) -> list[str]:
    at = dict(tx.connection.execute("SELECT name, due_at FROM duties"))
    return [duty for duty, interval_s in intervals_s.items() if schedule.due(at.get(duty), tx.now, interval_s)]


def postpone(tx: Transaction, duty: str, delay_s: float) -> None:
    """Nobody shall run it before then."""
    tx.run(
        "INSERT INTO duties VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET due_at = max(due_at, excluded.due_at)",
        (duty, tx.now + seconds(delay_s)),
    )


# Due work


def promote(tx: Transaction, lanes: Lanes, limit: int) -> int:
    """Make due scheduled and retrying tasks ready, oldest due first; open what was closed until now."""
    opened = 0
    if tx.row(_SHUT_DUE, (tx.now,))[0]:
        from dibs.stores.sqlite import pausing

        opened = pausing.tend(tx, lanes)
    work = Work(tx)
    found = work.select(_DUE, (tx.now, limit))
    for row in found:
        work.make_ready(row)
    work.flush()
    return len(found) + opened


def promote_glance(tx: Transaction, limit: int) -> int | Unknown:
    """0 while nothing is due."""
    if tx.row(_DUE, (tx.now, 1)):
        return UNKNOWN
    if tx.row(_SHUT_DUE, (tx.now,))[0]:
        from dibs.stores.sqlite import pausing

        return pausing.tend_glance(tx)
    return 0


def expired(tx: Transaction, limit: int) -> list[Expired]:
    """Held tasks whose time is over. Cancelled ones whose lease is over get their attempt written."""
    work = Work(tx)
    while stopped := work.select(_UNWRITTEN, (tx.now, _WRITTEN_AT_ONCE)):
        for row in stopped:
            work.write_cancelled_attempt(row)
        work.save()
    work.flush()
    return _expired(tx, work, limit)


def expired_glance(tx: Transaction, limit: int) -> list[Expired] | Unknown:
    """The answer while there is nothing to write."""
    return UNKNOWN if tx.row(_UNWRITTEN, (tx.now, 1)) else _expired(tx, Work(tx), limit)


def _expired(tx: Transaction, work: Work, limit: int) -> list[Expired]:
    over = work.select(_OVER, (tx.now, limit))
    return [
        Expired(
            claim=claim,
            confirmed=bool(row.confirmed),
            timed_out=row.over_timeout(tx.now),
        )
        for row, claim in zip(over, reading.claims_of(tx, over), strict=True)
    ]


# Ranks


def rerank(tx: Transaction, limit: int) -> int:
    """Refresh ranks that a deadline or the growth of a dag changed. How many tasks changed."""
    work = Work(tx)
    stepped = work.select(_STEPPED, (tx.now, limit))
    for row in stepped:
        row.rerank(tx.now)
        work.reranked(row)
    changed = len(stepped)
    for id, dag_id in list(tx.connection.execute("SELECT id, dag FROM grown ORDER BY id")):
        if changed >= limit:
            break
        changed += _reweigh(work, dag_id)
        tx.run("DELETE FROM grown WHERE id = ?", (id,))
    work.flush()
    return changed


def rerank_glance(tx: Transaction, limit: int) -> int | Unknown:
    """0 while there is nothing to do."""
    if tx.row(_STEPPED, (tx.now, 1)) or tx.row("SELECT 1 FROM grown LIMIT 1"):
        return UNKNOWN
    return 0


def _reweigh(work: Work, dag_id: str) -> int:
    """Recompute the critical path weights of a dag's live tasks."""
    found = work.select(
        "SELECT n FROM tasks WHERE dag = ?1 OR (id = ?2 AND dag IS NULL) ORDER BY n",
        (dag_id, "task_" + dag_id.removeprefix("dag_")),
    )
    live = [row for row in found if row.status not in FINAL]
    numbers = encode([row.n for row in live]).decode()
    weights = graph.weights(work.tx.connection.execute(_LIVE_EDGES, (numbers,)))
    changed = 0
    for row in live:
        weight = weights.get(row.id, 0)
        if weight != row.weight:
            row.weight = weight
            row.rerank(work.now)
            work.reranked(row)
            changed += 1
    return changed


# Deadlines


def overdue(tx: Transaction, limit: int) -> list[str]:
    """Mark tasks whose deadline passed, once each; cancel those that asked for it."""
    work = Work(tx)
    marked = []
    for row in work.select(_LATE, (tx.now, limit)):
        if row.final:
            # An earlier one of these took it down.
            continue
        row.overdue = 1
        work.touch(row)
        work.emit("task.overdue", row)
        marked.append(row.id)
        if row.on_deadline == "cancel":
            cascade = Cascade(work, STEP)
            cascade.cancel(row, "deadline", cause=None, requested=False, text=refusals.DEADLINE_PASSED)
            cascade.run()
    work.flush()
    return marked


def overdue_glance(tx: Transaction, limit: int) -> list[str] | Unknown:
    """Nothing, while no deadline passed."""
    found: Any = tx.row(_LATE, (tx.now, 1))
    return UNKNOWN if found else []
