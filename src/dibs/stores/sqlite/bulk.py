"""Adding standalone tasks, the common case: a handful of statements however many they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.model.ids import dag_of
from dibs.model.instants import from_micros
from dibs.model.status import Status
from dibs.rules import priority
from dibs.rules.large import size_of
from dibs.rules.lifecycle import first_status
from dibs.stores.specs import specs_of
from dibs.stores.sqlite.lanes import lane_keys
from dibs.stores.sqlite.rows import ADD_SPEC, ADD_SPECS, encode, micros
from dibs.stores.sqlite.statements import sql
from dibs.stores.values import Draft, Inserted

if TYPE_CHECKING:
    from dibs.model.task import Task
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes
    from dibs.stores.values import Insertion, LaneKey

_FEW = 8
"""Kinds of tasks up to which each kind is inserted by a statement of its own."""


class Prepared(Struct):
    """What can be encoded before the transaction begins."""

    ids: str
    specs: list[str]


def prepare(insertion: Insertion) -> Prepared:
    """Encode standalone tasks."""
    drafts = insertion.drafts
    return Prepared(encode([draft.task.id for draft in drafts]).decode(), specs_of(drafts))


def insert_plain(tx: Transaction, lanes: Lanes, insertion: Insertion, prepared: Prepared) -> Inserted:
    """Add standalone tasks."""
    version, newest, existing = tx.row(sql("insert_look"), (prepared.ids,))
    if existing:
        from dibs.stores.sqlite.insert import insert

        return insert(tx, lanes, insertion)
    drafts = insertion.drafts
    now = tx.now
    lanes.refresh(tx, version)
    numbers = lanes.numbers(tx, lane_keys(drafts))
    frames = _frames(drafts, numbers, now)
    start = (newest, drafts[0].task.project, now)
    if len(drafts) == 1:
        [draft], [frame], [spec] = drafts, frames, prepared.specs
        tx.run(sql("insert_one"), (*start, draft.task.id, *frame, size_of(draft.payload)))
        tx.run(ADD_SPEC, (newest + 1, spec))
    else:
        _insert_many(tx, start, drafts, frames)
        tx.run(ADD_SPECS, (newest, encode(prepared.specs).decode()))
    _announce(tx, drafts, frames)
    return Inserted(tasks=_snapshots(drafts, frames, now), existing=[False] * len(drafts))


def _insert_many(tx: Transaction, start: tuple[Any, ...], drafts: list[Draft], frames: list[tuple[Any, ...]]) -> None:
    kinds: dict[int, tuple[tuple[Any, ...], list[tuple[int, str, int]]]] = {}
    for place, (draft, frame) in enumerate(zip(drafts, frames, strict=True)):
        alike = kinds.get(id(frame))
        if alike is None:
            alike = kinds[id(frame)] = (frame, [])
        alike[1].append((place, draft.task.id, size_of(draft.payload)))
    if len(kinds) <= _FEW:
        # Reading twenty values out of JSON costs more than inserting them: what is alike travels once.
        for frame, items in kinds.values():
            tx.run(sql("insert"), (*start, encode(items).decode(), *frame))
    else:
        arrays = [(*item, *frame) for frame, items in kinds.values() for item in items]
        tx.run(sql("insert_mixed"), (*start, encode(arrays).decode()))


def _frames(drafts: list[Draft], numbers: dict[LaneKey, int], now: int) -> list[tuple[Any, ...]]:
    """For each draft the columns that many tasks have in common; drafts that are alike share the same tuple."""
    known: dict[int, tuple[Any, ...]] = {}
    frames = []
    for draft in drafts:
        task = draft.task
        if draft.kind is None or draft.weight or task.deadline is not None or task.run_after is not None:
            frames.append(_frame(draft, numbers, now))
            continue
        frame = known.get(id(draft.kind))
        if frame is None:
            frame = known[id(draft.kind)] = _frame(draft, numbers, now)
        frames.append(frame)
    return frames


def _frame(draft: Draft, numbers: dict[LaneKey, int], now: int) -> tuple[Any, ...]:
    """The columns `type` to `ready_at` of `insert.sql`."""
    task = draft.task
    boost, weight = draft.lane.boost, draft.weight
    deadline = micros(task.deadline)
    run_after = micros(task.run_after)
    status = first_status(open_edges=0, run_after=run_after, now=now)
    rank = ready_at = step_at = due_at = None
    if status is Status.READY:
        ready_at = now
        rank = priority.rank(task.priority, boost, now, weight, priority.steps(deadline, now))
        step_at = priority.next_step_at(deadline, now)
    else:
        due_at = run_after
    return (
        task.type,
        status.value,
        numbers[draft.lane],
        None if draft.fallback_lane is None else numbers[draft.fallback_lane],
        rank,
        task.priority,
        boost,
        weight,
        deadline,
        task.on_deadline,
        step_at,
        run_after,
        due_at,
        task.max_attempts,
        int(task.max_attempts == 1),
        task.timeout,
        task.user,
        ready_at,
    )


def _announce(tx: Transaction, drafts: list[Draft], frames: list[tuple[Any, ...]]) -> None:
    """`task.added` and the event of its status, task by task."""
    items: list[str] = []
    status = ""
    for draft, frame in zip(drafts, frames, strict=True):
        if frame[1] != status:
            tx.outbox.add(("task.added", f"task.{status}"), tx.now, items)
            items, status = [], frame[1]
        items.append(draft.task.id)
    tx.outbox.add(("task.added", f"task.{status}"), tx.now, items)


def _snapshots(drafts: list[Draft], frames: list[tuple[Any, ...]], now: int) -> list[Task]:
    """The drafts' tasks in the state they were added in."""
    instant = from_micros(now)
    tasks = []
    last: tuple[Any, ...] | None = None
    ready, effective = Status.SCHEDULED, None
    for draft, frame in zip(drafts, frames, strict=True):
        if frame is not last:
            last = frame
            rank = frame[4]
            ready = Status.SCHEDULED if rank is None else Status.READY
            effective = None if rank is None else priority.effective(rank, frame[6], now)
        task = draft.task
        task.dag_id = dag_of(task.id)
        task.created_at = task.updated_at = instant
        task.status = ready
        task.effective_priority = effective
        if effective is not None:
            task.ready_at = instant
        tasks.append(task)
    return tasks
