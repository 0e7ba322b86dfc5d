"""What time does to tasks: duties and whose turn they are, due work, expired leases, ranks, deadlines, age."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.instants import seconds
from dibs.model.status import Status
from dibs.rules import graph, review, schedule
from dibs.stores.ledger import cascade, locks, moving, pausing
from dibs.stores.ledger.snapshots import claim_of
from dibs.stores.values import Expired

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State

_PRUNED = frozenset({Status.COMPLETED, Status.CANCELLED})


def elect(state: State, intervals_s: Mapping[str, float]) -> list[str]:
    """The duties that are due and now the caller's."""
    due = [
        duty for duty, interval_s in intervals_s.items() if schedule.due(state.duties.get(duty), state.now, interval_s)
    ]
    for duty in due:
        state.duties[duty] = state.now + seconds(intervals_s[duty])
        state.changed = True
    return due


def first_due(state: State, duties: Iterable[str]) -> int:
    """When the first of these is due; one that nobody has run is now."""
    return min((state.duties.get(duty, state.now) for duty in duties), default=state.now)


def postpone(state: State, duty: str, delay_s: float) -> None:
    """Nobody shall run it before then."""
    state.duties[duty] = max(state.duties.get(duty, 0), state.now + seconds(delay_s))
    state.changed = True


def promote(state: State, limit: int) -> int:
    """Make due scheduled and retrying tasks ready, oldest due first; open what was closed until now."""
    opened = pausing.tend(state)
    numbers = state.due.until(state.now)[:limit]
    for number in numbers:
        moving.make_ready(state, state.numbered[number])
    return len(numbers) + opened


def expired(state: State, limit: int) -> list[Expired]:
    """Held tasks whose time is over. Cancelled ones whose lease is over get their attempt written."""
    for number in state.stopping.until(state.now):
        moving.write_cancelled_attempt(state, state.numbered[number])
    over = [state.numbered[number] for number in state.leases.until(state.now)[:limit]]
    return [
        Expired(
            claim=claim_of(state, record),
            confirmed=record.confirmed,
            timed_out=record.over_timeout(state.now),
        )
        for record in over
    ]


def rerank(state: State, limit: int) -> int:
    """Refresh ranks that a deadline or the growth of a dag changed. How many tasks changed."""
    changed = 0
    for number in state.steps.until(state.now)[:limit]:
        _refresh(state, state.numbered[number])
        changed += 1
    for dag_id in list(state.grown):
        if changed >= limit:
            break
        changed += _reweigh(state, dag_id)
        del state.grown[dag_id]
    return changed


def _reweigh(state: State, dag_id: str) -> int:
    """Recompute the critical path weights of a dag's live tasks."""
    live = [record for record in state.members.get(dag_id, ()) if not record.final]
    weights = graph.weights(
        (edge.parent, edge.child)
        for record in live
        for edge in state.edges_out_of.get(record.id, ())
        if not state.tasks[edge.child].final
    )
    changed = 0
    for record in live:
        weight = weights.get(record.id, 0)
        if weight != record.weight:
            record.weight = weight
            _refresh(state, record)
            changed += 1
    return changed


def _refresh(state: State, record: Record) -> None:
    """A rank is how dibs sees a task, not the task: `updated_at` stays."""
    updated_at = record.updated_at
    moving.rerank(state, record)
    state.file(record)
    locks.moved(state, record)
    record.updated_at = updated_at


def overdue(state: State, limit: int) -> list[str]:
    """Mark tasks whose deadline passed, once each; cancel those that asked for it."""
    marked = []
    for number in state.deadlines.until(state.now)[:limit]:
        record = state.numbered[number]
        if record.final:
            # An earlier one of these took it down.
            continue
        record.overdue = True
        state.file(record)
        state.emit("task.overdue", record)
        marked.append(record.id)
        if record.spec.on_deadline == "cancel":
            cascade.cancel_at_deadline(state, record)
    return marked


def prune(state: State, retention_s: float, limit: int) -> int:
    """Delete dags that ended as a whole before then, old events and claim ids, agents long gone. How many tasks."""
    before = state.now - seconds(retention_s)
    pruned = 0
    for records in state.old_dags(before):
        if pruned >= limit:
            break
        if _may_be_pruned(state, records, before):
            pruned += len(records)
            for record in list(records):
                state.forget(record)
    state.forget_before(before)
    return pruned


def _may_be_pruned(state: State, records: list[Record], before: int) -> bool:
    """All of them ended well, were cancelled or decided about, long ago, and nothing live depends on any."""
    return all(
        _let_go_at(state, record) < before
        and all(state.tasks[edge.child].final for edge in state.edges_out_of.get(record.id, ()))
        for record in records
    )


def _let_go_at(state: State, record: Record) -> int:
    """Since when retention counts: its end; of a dead letter, the decision to leave it at that. Never, while the agent
    of what was cancelled has not stopped."""
    if record.unwritten:
        return state.now
    if record.status in _PRUNED:
        return record.ended_at or state.now
    return record.reviewed_at or state.now if review.lets_go(record.resolution) else state.now
