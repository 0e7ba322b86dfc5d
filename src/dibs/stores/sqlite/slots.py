"""What people and the keeper ask of locks: how many slots they have, who holds them, whose turn it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.instants import seconds
from dibs.model.views import Lock, LockHolder
from dibs.rules import locks as rules
from dibs.rules.budgets import PREFIX
from dibs.stores.sqlite import saving
from dibs.stores.sqlite.jobs import UNKNOWN
from dibs.stores.sqlite.locks import Locks
from dibs.stores.sqlite.rows import decode, encode, instant

if TYPE_CHECKING:
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.jobs import Unknown

_SET_SLOTS = """
INSERT INTO locks (project, name, slots) VALUES (?, ?, ?)
ON CONFLICT (project, name) DO UPDATE SET slots = excluded.slots
"""
_KNOWN = """
SELECT l.name, l.slots, t.id FROM locks AS l LEFT JOIN tasks AS t ON t.n = l.reserved_for
WHERE l.project = ? AND l.name NOT GLOB 'budget:*'
"""
_HOLDERS = """
SELECT h.name, t.id, h.fence, t.agent, t.claimed_at FROM holds AS h CROSS JOIN tasks AS t ON t.n = h.n
WHERE h.project = ? ORDER BY h.name, h.n, h.fence
"""
_WAITING = """
SELECT parked_on, count(*) FROM tasks INDEXED BY task_parked
WHERE project = ? AND parked_on IS NOT NULL GROUP BY parked_on
"""
_ANY_PASSED_OVER = "SELECT 1 FROM tasks INDEXED BY task_passed_over WHERE parked_since IS NOT NULL LIMIT 1"
_ANY_BROKE = """
SELECT 1 FROM budgets AS b WHERE EXISTS (
    SELECT 1 FROM tasks AS t INDEXED BY task_parked WHERE t.project = b.project AND t.parked_on = b.name
) LIMIT 1
"""
_ANY_SAVED = "SELECT 1 FROM locks WHERE reserved_for IS NOT NULL LIMIT 1"
_ALL_WAITED_FOR = "SELECT DISTINCT project, parked_on FROM tasks INDEXED BY task_parked WHERE parked_on IS NOT NULL"
_PASSED_OVER = """
SELECT n, project, locks, parked_on FROM tasks INDEXED BY task_passed_over
WHERE parked_since <= ? ORDER BY parked_since, n LIMIT ?
"""
_RESERVATIONS = "SELECT project, name, reserved_for FROM locks WHERE reserved_for IS NOT NULL"
_RESERVE = """
INSERT INTO locks (project, name, reserved_for) SELECT value->>0, value->>1, value->>2 FROM json_each(?) WHERE true
ON CONFLICT (project, name) DO UPDATE SET reserved_for = excluded.reserved_for
"""


def set_slots(tx: Transaction, project: str, name: str, slots: int) -> Lock:
    """How many may hold it at once. Fewer than hold it now: nobody is let in until enough have let go."""
    tx.run(_SET_SLOTS, (project, name, slots))
    shown = next(lock for lock in all_locks(tx, project) if lock.name == name)
    locks = Locks(tx)
    locks.forget_usual((project, name))
    locks.free((project, name))
    locks.follow()
    return shown


def all_locks(tx: Transaction, project: str) -> list[Lock]:
    """Those that are held, waited for, reserved, or have other slots than usual; by name."""
    found: dict[str, Lock] = {}
    for name, slots, reserved_for in tx.connection.execute(_KNOWN, (project,)):
        found[name] = Lock(name=name, slots=slots, reserved_for=reserved_for)
    for name, task_id, fence, agent, claimed_at in tx.connection.execute(_HOLDERS, (project,)):
        holder = LockHolder(task_id=task_id, fence=fence, agent=agent, since=instant(claimed_at))
        found.setdefault(name, Lock(name=name)).holders.append(holder)
    for name, count in tx.connection.execute(_WAITING, (project,)):
        if name.startswith(PREFIX):
            continue
        found.setdefault(name, Lock(name=name)).waiting = count
    return [lock for _, lock in sorted(found.items())]


def unpark(tx: Transaction, limit: int) -> int:
    """Whatever was parked long ago and is still not claimed reserves its locks, longest first; then look at every lock
    and budget once more.

    How many were parked on a lock that admitted them, or on a budget with room.
    """
    locks = Locks(tx)
    saving.save(tx, locks.budgets)
    _reserve(tx, locks, limit)
    locks.follow()
    for project, name in list(tx.connection.execute(_ALL_WAITED_FOR)):
        if name.startswith(PREFIX):
            locks.budgets.roomy[project, name] = None
        else:
            locks.free((project, name))
    return locks.follow()


def unpark_glance(tx: Transaction) -> int | Unknown:
    """0 while nothing is parked, or was."""
    return UNKNOWN if tx.row(_ANY_PASSED_OVER) or tx.row(_ANY_BROKE) or tx.row(_ANY_SAVED) else 0


def _reserve(tx: Transaction, locks: Locks, limit: int) -> None:
    """In the order of their names, up to the first that is reserved for another: so nobody waits in a circle."""
    before = tx.now - seconds(rules.PASSED_OVER_S)
    passed_over = list(tx.connection.execute(_PASSED_OVER, (before, limit)))
    if not passed_over:
        return
    owners = {(project, name): number for project, name, number in tx.connection.execute(_RESERVATIONS)}
    new: list[tuple[str, str, int]] = []
    for number, project, needed, parked_on in passed_over:
        for name in decode(needed):
            if (project, name) not in owners:
                owners[project, name] = number
                new.append((project, name, number))
            elif owners[project, name] != number:
                break
        else:
            # All of them are its own; it may be parked on one that is free already.
            if parked_on is not None:
                locks.free((project, parked_on))
    if new:
        tx.run(_RESERVE, (encode(new).decode(),))
