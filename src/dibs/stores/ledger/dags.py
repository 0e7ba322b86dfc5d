"""Dags: when their row appears, and how their status follows their tasks."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dibs.model.status import DagStatus, Status
from dibs.rules import graph
from dibs.stores.ledger.records import DagRecord

if TYPE_CHECKING:
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State

FINAL = frozenset({DagStatus.COMPLETED, DagStatus.FAILED, DagStatus.CANCELLED})

_EVENTS = {
    DagStatus.RUNNING: "dag.started",
    DagStatus.COMPLETED: "dag.completed",
    DagStatus.FAILED: "dag.failed",
    DagStatus.CANCELLED: "dag.cancelled",
}


def create(state: State, dag: DagRecord) -> None:
    """Give a dag its row; tasks that a virtual dag has already are counted."""
    tasks = state.members.get(dag.id, [])
    dag.tally = Counter((task.status, task.requested) for task in tasks)
    dag.started = any(task.ever_started for task in tasks)
    state.dags[dag.id] = dag
    if dag.key is not None:
        state.dag_keys[dag.project, dag.key] = dag.id
    state.changed = True


def appear(state: State, dag_id: str, project: str) -> None:
    """An edge or a child joins this dag: from now on it has a row."""
    if dag_id not in state.dags:
        create(state, DagRecord(id=dag_id, project=project, on_failure=graph.IMPLICIT, created_at=state.now))
        state.stirred[dag_id] = None


def find_by_key(state: State, project: str, key: str) -> DagRecord | None:
    """The dag that a key belongs to: one that did not end badly."""
    dag = state.dags.get(state.dag_keys.get((project, key), ""))
    if dag is None or dag.status is DagStatus.FAILED or dag.status is DagStatus.CANCELLED:
        return None
    return dag


def has_started(state: State, record: Record) -> None:
    """A task of this dag was started."""
    dag = state.dags.get(record.dag_id)
    if dag is not None:
        dag.started = True


def follow(state: State) -> None:
    """Before every commit: the status of dags whose tasks moved follows them."""
    for dag_id in state.stirred:
        dag = state.dags.get(dag_id)
        if dag is not None and not dag.closed:
            _become(state, dag, derived_status(dag.tally, started=dag.started))
    state.stirred.clear()


def derived_status(tally: Counter[tuple[Status, bool]], *, started: bool) -> DagStatus:
    """Where a dag with these tasks is."""
    counts: Counter[Status] = Counter()
    for (status, _), count in tally.items():
        counts[status] += count
    return graph.dag_status(counts, unrequested_cancels=tally[Status.CANCELLED, False], started=started)


def fails_now(dag: DagRecord) -> bool:
    """Whether its dead letters are too many."""
    dead = dag.tally[Status.DEAD_LETTERED, False]
    return graph.fails_now(graph.parse_on_failure(dag.on_failure), dead, dag.tally.total())


def close(
    state: State, dag: DagRecord, status: DagStatus, *, cause: str | None = None, text: str | None = None
) -> None:
    """It failed or was cancelled as a whole; `cascade` cancels what is left of it."""
    dag.closed = True
    dag.cause = cause
    dag.cancel_reason = text
    state.closing[dag.id] = None
    _become(state, dag, status)


def reopen(state: State, dag: DagRecord) -> None:
    """One of its tasks has a new life."""
    dag.closed = False
    dag.cause = dag.cancel_reason = None
    state.closing.pop(dag.id, None)
    if dag.key is not None:
        state.dag_keys[dag.project, dag.key] = dag.id
    if dag.status in FINAL:
        dag.started = True
        _become(state, dag, DagStatus.RUNNING)


def _become(state: State, dag: DagRecord, status: DagStatus) -> None:
    if status is dag.status:
        return
    dag.status = status
    dag.ended_at = state.now if status in FINAL else None
    if status is DagStatus.RUNNING and dag.started_at is None:
        dag.started_at = state.now
    state.changed = True
    if status in _EVENTS:
        state.emit(_EVENTS[status], dag_id=dag.id)
