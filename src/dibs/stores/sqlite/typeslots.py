"""Slots of types: how many tasks of a type may be held at once, counted from what is held.

Lanes remember which types have slots; a change makes everybody read them again. Only claims in projects that have some
count anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.views import TypeSlots
from dibs.rules import slots as rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes

# Of each type that has slots: how many tasks are held, or were cancelled and not stopped yet. Both from indexes alone.
_HELD = """
SELECT type, sum(held) FROM (
    SELECT type, count(*) AS held FROM tasks INDEXED BY task_status
    WHERE project = ?1 AND status <> 'ready' AND status IN ('claimed', 'running') GROUP BY type
    UNION ALL
    SELECT type, count(*) FROM tasks INDEXED BY task_due
    WHERE project = ?1 AND status = 'cancelled' AND due_at IS NOT NULL GROUP BY type
) GROUP BY type
"""
_SET = """
INSERT INTO type_slots (project, type, slots) VALUES (?, ?, ?)
ON CONFLICT (project, type) DO UPDATE SET slots = excluded.slots
"""
_DROP = "DELETE FROM type_slots WHERE project = ? AND type = ?"
_ALL = "SELECT type, slots FROM type_slots WHERE project = ? ORDER BY type"


def rooms(tx: Transaction, project: str, slots: Mapping[str, int]) -> dict[str, int]:
    """How many more tasks of each of these types may be handed out."""
    return rules.rooms(slots, _held(tx, project))


def set_type_slots(tx: Transaction, lanes: Lanes, project: str, type: str, slots: int | None) -> TypeSlots | None:
    """How many may be held at once; None: any number."""
    if slots is None:
        tx.run(_DROP, (project, type))
    else:
        tx.run(_SET, (project, type, slots))
    lanes.change(tx)
    return next((found for found in type_slots(tx, project) if found.type == type), None)


def type_slots(tx: Transaction, project: str) -> list[TypeSlots]:
    """Of each type that has slots, how many, and how many are taken; by type."""
    held = _held(tx, project)
    return [
        TypeSlots(type=type, slots=most, held=held.get(type, 0))
        for type, most in tx.connection.execute(_ALL, (project,))
    ]


def _held(tx: Transaction, project: str) -> dict[str, int]:
    return dict(tx.connection.execute(_HELD, (project,)))
