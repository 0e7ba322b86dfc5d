"""Budgets that are saved for a task that was passed over: no longer for whom that is of no use to, then for the next.

Such a budget has a row among the locks, with its own name: `reserved_for` the task, and one more than how often it was
offered that as `slots`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.instants import seconds
from dibs.rules import budgets as rules
from dibs.stores.sqlite.budgets import stuck_before

if TYPE_CHECKING:
    from dibs.stores.sqlite.budgets import Budgets
    from dibs.stores.sqlite.engine import Transaction

_SAVED = """
SELECT l.project, l.name, l.slots - 1, t.n, t.status, t.parked_on, b.cap, b.spent
FROM locks AS l LEFT JOIN tasks AS t ON t.n = l.reserved_for
LEFT JOIN budgets AS b ON b.project = l.project AND b.name = l.name
WHERE l.reserved_for IS NOT NULL AND l.name GLOB 'budget:*'
"""
_LET_GO = "DELETE FROM locks WHERE project = ? AND name = ?"
_OFFER = "UPDATE locks SET slots = ?3 + 1 WHERE project = ?1 AND name = ?2"
_NOT_SAVED = """
SELECT b.project, b.name, b.cap, b.spent FROM budgets AS b
WHERE NOT EXISTS (SELECT 1 FROM locks AS l WHERE l.project = b.project AND l.name = b.name) AND EXISTS (
    SELECT 1 FROM tasks AS t INDEXED BY task_parked WHERE t.project = b.project AND t.parked_on = b.name
)
"""
# The lanes of which some are parked on a budget, one seek for each.
_LANES = """
WITH RECURSIVE lanes (id) AS (
    SELECT min(lane) FROM tasks INDEXED BY task_parked WHERE project = ?1 AND parked_on = ?2
    UNION ALL
    SELECT (
        SELECT min(lane) FROM tasks INDEXED BY task_parked WHERE project = ?1 AND parked_on = ?2 AND lane > lanes.id
    )
    FROM lanes WHERE id IS NOT NULL
)
SELECT id FROM lanes WHERE id IS NOT NULL
"""
_PARKED = """
SELECT n, rank, ready_at FROM tasks INDEXED BY task_parked WHERE project = ?1 AND parked_on = ?2 AND lane = ?3
ORDER BY rank, n LIMIT ?4
"""
# Whether somebody better is on his way: ready, and not for long yet. Who is ready for longer may be one that no agent
# can pay for, where agents have budgets.
_IS_BEHIND = """
SELECT EXISTS (
    SELECT 1 FROM (
        SELECT o.ready_at, o.rank, o.n FROM tasks AS o INDEXED BY task_ready
        WHERE o.status = 'ready' AND o.parked_on IS NULL AND o.lane = ?1 ORDER BY o.rank, o.n LIMIT ?5
    ) AS better
    WHERE (better.rank, better.n) < (?2, ?3) AND better.ready_at > ?4
)
"""
_SAVE = "INSERT INTO locks (project, name, reserved_for) VALUES (?, ?, ?)"


def save(tx: Transaction, budgets: Budgets) -> None:
    """Save every budget for one of those that were passed over; no longer for whom that is of no use to."""
    for project, name, offered, number, status, parked_on, cap, spent in list(tx.connection.execute(_SAVED)):
        kept = status == "ready" and cap is not None and rules.is_kept(parked_on, name, offered)
        if kept and _could_fit(budgets, (project, name), number, cap, spent):
            tx.run(_OFFER, (project, name, offered + 1 if parked_on is None else 0))
        else:
            tx.run(_LET_GO, (project, name))
            budgets.roomy[project, name] = None
    for project, name, cap, spent in list(tx.connection.execute(_NOT_SAVED)):
        waited = _passed_over(tx, budgets, (project, name), cap, spent)
        if waited:
            tx.run(_SAVE, (project, name, min(waited)[1]))


def _passed_over(
    tx: Transaction, budgets: Budgets, budget: tuple[str, str], cap: int, spent: int
) -> list[tuple[int, int]]:
    """Of each lane the best that could fit, if it has been ready for long and is behind nobody who is on his way: since
    when, and its number."""
    before, stuck = tx.now - seconds(rules.PASSED_OVER_S), stuck_before(tx, budget[0])
    found = []
    for (lane,) in list(tx.connection.execute(_LANES, budget)):
        parked = list(tx.connection.execute(_PARKED, (*budget, lane, rules.LOOKED_AT)))
        fitting = (each for each in parked if _could_fit(budgets, budget, each[0], cap, spent))
        number, rank, ready_at = next(fitting, (0, 0.0, None))
        if ready_at is None or ready_at > before:
            continue
        if not tx.row(_IS_BEHIND, (lane, rank, number, stuck, rules.LOOKED_AT))[0]:
            found.append((ready_at, number))
    return found


def _could_fit(budgets: Budgets, budget: tuple[str, str], number: int, cap: int, spent: int) -> bool:
    wanted = budgets.wanted(budget, number)
    return wanted is not None and rules.could_fit(limit=cap, spent=spent, wanted=wanted)
