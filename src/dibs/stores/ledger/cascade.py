"""What follows when a task ends: edges resolve, or the trouble spreads to what depended on it.

A task that ended badly is marked until all its consequences are applied. Applying stops after `limit`
tasks and can go on later, because every consequence is applied once however often it is looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.status import DagStatus, Status
from dibs.rules.escalation import fails_dag
from dibs.stores import refusals
from dibs.stores.ledger import dags, moving

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.stores.ledger.records import DagRecord, Record
    from dibs.stores.ledger.state import State

LIMIT = 500


def completed(state: State, record: Record) -> None:
    """Whatever waited for it waits no longer."""
    for edge in list(state.edges_out_of.get(record.id, ())):
        if not edge.resolved:
            moving.resolve(state, edge)


def ended_badly(state: State, record: Record) -> None:
    """It was dead-lettered: spread, as far as one commit allows."""
    state.marked[record.id] = None
    spread(state, LIMIT, record.origin)


def cancel(state: State, target: str, text: str | None) -> list[str]:
    """Cancel a task or a dag by request, and spread. The ids that this ended, in order."""
    record = state.tasks.get(target)
    if record is None and target not in state.dags:
        # A virtual dag is its task.
        alone = state.members.get(target)
        if not alone:
            raise refusals.no_task_or_dag(target)
        record = alone[0]
    ended: list[str] = []
    if record is not None:
        if record.final:
            return []
        _cancel(state, record, "cancelled", ended, cause=None, requested=True, text=text)
    else:
        dag = state.dags[target]
        if dag.status in dags.FINAL and all(member.final for member in state.members.get(target, ())):
            return []
        dags.close(state, dag, DagStatus.CANCELLED, text=text)
        _sweep(state, dag, ended, LIMIT)
    return ended + spread(state, LIMIT - len(ended), target if record is None else record.id)


def cancel_at_deadline(state: State, record: Record) -> None:
    """Its deadline passed, and it asked to be cancelled then."""
    _cancel(state, record, "deadline", [], cause=None, requested=False, text=refusals.DEADLINE_PASSED)
    spread(state, LIMIT, record.id)


def spread(state: State, limit: int, cause: str | None = None) -> list[str]:
    """Apply the consequences of marked tasks and closing dags; the ids ended by this call."""
    ended: list[str] = []
    for dag_id in [dag_id for dag_id in state.closing if _concerns(state.dags[dag_id], cause)]:
        _sweep(state, state.dags[dag_id], ended, limit)
    while len(ended) < limit:
        record = next((state.tasks[i] for i in state.marked if _began_at(state, i, cause)), None)
        if record is None or not _apply_consequences(state, record, ended, limit):
            break
        del state.marked[record.id]
    return ended


def _apply_consequences(state: State, record: Record, ended: list[str], limit: int) -> bool:
    """Everything that follows from one bad end; False if the limit came first."""
    edges = [edge for edge in state.edges_out_of.get(record.id, ()) if not edge.resolved]
    for edge in edges:
        if edge.kind != "after":
            moving.resolve(state, edge)
    dependents = [state.tasks[edge.child] for edge in edges if edge.kind == "after"]
    if not _cancel_all(state, record, dependents, "dependency_failed", ended, limit):
        return False
    if record.status is Status.CANCELLED:
        children = state.children.get(record.id, [])
        return _cancel_all(state, record, children, "parent_cancelled", ended, limit)
    dag = state.dags.get(record.dag_id)
    if dag is not None and not dag.closed and (fails_dag(record.spec.escalations) or dags.fails_now(dag)):
        dags.close(state, dag, DagStatus.FAILED, cause=record.origin)
        _sweep(state, dag, ended, limit)
    return True


def _cancel_all(
    state: State, origin: Record, records: Iterable[Record], reason: str, ended: list[str], limit: int
) -> bool:
    """Cancel those that are not final, in insertion order; False if the limit came first."""
    for record in sorted(records, key=lambda record: record.number):
        if record.final:
            continue
        if len(ended) >= limit:
            return False
        _cancel(state, record, reason, ended, cause=origin.origin, requested=origin.requested)
    return True


def _sweep(state: State, dag: DagRecord, ended: list[str], limit: int) -> None:
    """Cancel what is left of a closed dag, as far as the limit allows."""
    failed = dag.status is DagStatus.FAILED
    for record in state.members.get(dag.id, []):
        if record.final or (failed and _spared(state, record)):
            continue
        if len(ended) >= limit:
            return
        if failed:
            _cancel(state, record, "dag_failed", ended, cause=dag.cause, requested=False)
        else:
            _cancel(state, record, "cancelled", ended, cause=None, requested=True, text=dag.cancel_reason)
    state.closing.pop(dag.id, None)


def _spared(state: State, record: Record) -> bool:
    """It runs whatever happens to others: it waits for ends, or for children of its own, not for success."""
    edges = state.edges_into.get(record.id, ())
    if any(edge.kind == "after" and not edge.resolved for edge in edges):
        return False
    return any(edge.kind not in ("after", "judge") for edge in edges)


def _cancel(
    state: State,
    record: Record,
    reason: str,
    ended: list[str],
    *,
    cause: str | None,
    requested: bool,
    text: str | None = None,
) -> None:
    """End one task, whatever it did, and mark it. If it is held, its attempt is written later."""
    moving.close_inquiries(record)
    record.unwritten = record.held
    if not record.held:
        record.agent = None
    record.retry_at = None
    record.reason = reason
    record.cancel_reason = text
    record.cause = cause
    record.cancelled_at = state.now
    state.move(record, Status.CANCELLED, requested=requested)
    state.file(record)
    state.emit("task.cancelled", record, agent=record.agent, reason=reason)
    state.marked[record.id] = None
    ended.append(record.id)


def _concerns(dag: DagRecord, cause: str | None) -> bool:
    return cause is None or cause in (dag.id, dag.cause)


def _began_at(state: State, task_id: str, cause: str | None) -> bool:
    """Whether the trouble of a marked task began at the task or dag `cause`."""
    if cause is None:
        return True
    origin = state.tasks.get(state.tasks[task_id].origin)
    return origin is not None and cause in (origin.id, origin.dag_id)
