"""Locks: held with a claim, and let go with it. What does not get all of its locks is parked on one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.instants import from_micros, seconds
from dibs.model.status import Status
from dibs.model.views import Lock, LockHolder
from dibs.rules import locks as rules
from dibs.rules.budgets import PREFIX
from dibs.stores.ledger import budgets

if TYPE_CHECKING:
    from dibs.stores.ledger.records import LockRecord, Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import LaneKey


def closed(state: State, record: Record) -> str | None:
    """The lock, or else the budget, that does not admit this task; None if all do."""
    lock = rules.first_closed(record.spec.locks, lambda name: _admits(state, record, name))
    return budgets.closed(state, record) if lock is None else lock


def _admits(state: State, record: Record, name: str) -> bool:
    lock = state.locks.get((record.spec.project, name))
    return lock is None or rules.admits(
        slots=lock.slots, taken=len(lock.holders), reserved_for=lock.reserved_for, number=record.number
    )


def take(state: State, record: Record) -> None:
    """Hold all its locks, under the fence that it is being claimed with."""
    for name in record.spec.locks:
        state.lock(record.spec.project, name).holders[record.number, record.fence] = None


def let_go(state: State, record: Record) -> None:
    """Its claim ended."""
    for name in record.spec.locks:
        lock = state.locks.get((record.spec.project, name))
        if lock is not None and lock.holders.pop((record.number, record.fence), 0) is None:
            state.freed[record.spec.project, name] = None


def park(state: State, record: Record, name: str) -> None:
    """Not to be looked at until this lock or budget admits it. What else it would have taken is free for others.

    That is how dibs sees a task, not the task: `updated_at` stays.
    """
    move(state, record, name)
    for other in record.spec.locks:
        state.freed[record.spec.project, other] = None


def moved(state: State, record: Record) -> None:
    """It has another rank, and so another place among those who wait."""
    if not record.held:
        state.freed.update(dict.fromkeys((record.spec.project, name) for name in record.spec.locks))


def follow(state: State) -> int:
    """Unpark what the locks that became free admit, and the budgets that have room, before the commit; how many."""
    unparked = 0
    while state.freed or state.roomy:
        freed, state.freed = sorted(state.freed), {}
        unparked += sum(_open_up(state, project, name) for project, name in freed)
        if not state.freed:
            unparked += budgets.open_up(state)
    return unparked


def _open_up(state: State, project: str, name: str) -> int:
    """Unpark the best of each lane that are parked on a lock, so that as many as it has slots free are on their way."""
    lock = state.locks.get((project, name))
    if lock is None:
        return 0
    unparked = 0
    for lane in {state.numbered[number].lane: None for number in lock.parked}:
        places = lock.slots - len(lock.holders)
        for record in _waiting(state, lane, name, lock):
            if places <= 0:
                break
            other = closed(state, record)
            if record.parked_on is not None and other != name:
                move(state, record, other)
                unparked += other is None
            if record.parked_on is None:
                places -= 1
    _forget_if_idle(state, project, name, lock)
    return unparked


def _waiting(state: State, lane: LaneKey, name: str, lock: LockRecord) -> list[Record]:
    """Those of a lane that are parked on this lock, as many as are looked at, and those that are on their way to it:
    ready, and not parked. Best first."""
    on_their_way = (state.numbered[number] for _, number in state.lanes.get(lane, ()))
    parked = sorted((r for r in map(state.numbered.__getitem__, lock.parked) if r.lane == lane), key=_by_rank)
    return sorted(
        [*parked[: rules.LOOKED_AT], *(record for record in on_their_way if name in record.spec.locks)], key=_by_rank
    )


def _by_rank(record: Record) -> tuple[float, int]:
    return record.rank or 0.0, record.number


def move(state: State, record: Record, name: str | None) -> None:
    """Park it on this lock or budget instead of the one it is parked on; None: unpark it.

    Whoever waits for a budget is not passed over by those who take locks, and keeps none for himself.
    """
    project = record.spec.project
    if record.parked_on is not None:
        del state.parked_at(project, record.parked_on)[record.number]
    if name is not None:
        state.parked_at(project, name)[record.number] = None
    if name is not None and not name.startswith(PREFIX):
        record.parked_since = record.parked_since or state.now
    elif name is not None:
        record.parked_since = None
        for reserved in record.spec.locks:
            lock = state.locks.get((project, reserved))
            if lock is not None and lock.reserved_for == record.number:
                lock.reserved_for = None
                state.freed[project, reserved] = None
    record.parked_on = name
    updated_at = record.updated_at
    state.file(record)
    record.updated_at = updated_at


def unpark(state: State, limit: int) -> int:
    """Whatever was parked long ago and is still not claimed reserves its locks, longest first; then look at every lock
    once more.

    How many were parked on a lock that admitted them.
    """
    budgets.save(state)
    before = state.now - seconds(rules.PASSED_OVER_S)
    for number in state.passed_over.until(before)[:limit]:
        _reserve(state, state.numbered[number])
    follow(state)
    state.freed = dict.fromkeys(name for name, lock in state.locks.items() if lock.parked)
    state.roomy = dict.fromkeys(name for name, budget in state.budgets.items() if budget.parked)
    return follow(state)


def _reserve(state: State, record: Record) -> None:
    """In the order of their names, up to the first that is reserved for another: so nobody waits in a circle."""
    for name in sorted(record.spec.locks):
        lock = state.lock(record.spec.project, name)
        if lock.reserved_for not in (None, record.number):
            return
        if lock.reserved_for is None:
            lock.reserved_for = record.number
            state.changed = True
    # All of them are its own; it may be parked on one that is free already.
    if record.parked_on is not None:
        state.freed[record.spec.project, record.parked_on] = None


def set_slots(state: State, project: str, name: str, slots: int) -> Lock:
    """How many may hold it at once. Fewer than hold it now: nobody is let in until enough have let go."""
    lock = state.lock(project, name)
    lock.slots = slots
    state.freed[project, name] = None
    state.changed = True
    shown = _shown(state, name, lock)
    _forget_if_idle(state, project, name, lock)
    return shown


def all_locks(state: State, project: str) -> list[Lock]:
    """Those that are held, waited for, or have other slots than usual; by name."""
    return [_shown(state, name, lock) for (home, name), lock in sorted(state.locks.items()) if home == project]


def _shown(state: State, name: str, lock: LockRecord) -> Lock:
    reserved_for = None if lock.reserved_for is None else state.numbered[lock.reserved_for].id
    return Lock(
        name=name,
        slots=lock.slots,
        holders=[_holder(state.numbered[number], fence) for number, fence in sorted(lock.holders)],
        waiting=len(lock.parked),
        reserved_for=reserved_for,
    )


def _holder(record: Record, fence: int) -> LockHolder:
    return LockHolder(
        task_id=record.id,
        fence=fence,
        agent=record.agent,
        since=None if record.claimed_at is None else from_micros(record.claimed_at),
    )


def _forget_if_idle(state: State, project: str, name: str, lock: LockRecord) -> None:
    if lock.slots == rules.SLOTS and not lock.holders and not lock.parked and lock.reserved_for is None:
        state.locks.pop((project, name), None)


def wrong(state: State) -> list[str]:
    """What must always hold of locks: a sentence for each thing that does not."""
    found = []
    for (project, name), lock in state.locks.items():
        for number, fence in lock.holders:
            record = state.numbered.get(number)
            if record is None or record.fence != fence or not (record.held or record.unwritten):
                found.append(f"Lock {name} of {project} is held by task {number}, whose claim has ended.")
    found += [
        f"Task {record.id} is {record.status}, but parked on {record.parked_on}."
        for record in state.tasks.values()
        if record.parked_on is not None and record.status is not Status.READY
    ]
    return found
