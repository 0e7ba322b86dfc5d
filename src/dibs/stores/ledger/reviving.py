"""A new life for a task that ended badly, and for everything that was cancelled because of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.model.instants import seconds
from dibs.model.status import ENDED_BADLY, Status
from dibs.rules import lifecycle
from dibs.stores import refusals
from dibs.stores.ledger import asking, dags, journal, moving, validating
from dibs.stores.ledger.snapshots import task_of

if TYPE_CHECKING:
    from dibs.model.task import Task
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State


def revive(
    state: State, task_id: str, payload: bytes | None, body_hash: str | None, delay_s: float, keep_steps: bool
) -> Task:
    """All that comes back does so in one commit, or nothing does."""
    record, coming_back, staying = _planned(state, task_id)
    keys = {each.id: each.spec.key for each in coming_back.values()}
    renamed = payload is not None and body_hash is not None and record.spec.key is not None
    if renamed and record.spec.key == record.body_hash:
        keys[task_id] = body_hash
    _check_keys(state, coming_back, keys)

    for follower, cause in staying:
        follower.cause = cause
        state.file(follower)
    if payload is not None:
        record.payload = bytes(payload)
    if renamed:
        record.body_hash = body_hash
        record.spec = replace(record.spec, key=keys[task_id])
    if delay_s > 0:
        record.run_after = state.now + seconds(delay_s)
    if not keep_steps:
        journal.drop_steps(record)
    for each in coming_back.values():
        _reset(state, each)
    for each in coming_back.values():
        if each is record and not record.open_edges and delay_s <= 0 and not record.spec.approval:
            # Asked for now: an older run_after no longer counts.
            moving.make_ready(state, record)
        else:
            asking.begin(state, each)
    for dag_id in {each.dag_id: None for each in coming_back.values()}:
        if dag_id in state.dags:
            dags.reopen(state, state.dags[dag_id])
    return task_of(state, record)


def refuse(state: State, task_id: str) -> None:
    """Raises what `revive` would, without another payload."""
    _, coming_back, _ = _planned(state, task_id)
    _check_keys(state, coming_back, {each.id: each.spec.key for each in coming_back.values()})


def _planned(state: State, task_id: str) -> tuple[Record, dict[str, Record], list[tuple[Record, str]]]:
    """The task, if it may be retried; and what comes back and what stays down with it."""
    record = state.get(task_id)
    lifecycle.check(record.status, lifecycle.Verb.RETRY, task_id)
    stopper = _failed_parent(state, record, coming_back={})
    if stopper is not None:
        raise refusals.waits_for(task_id, stopper.id, stopper.status)
    return record, *_who_comes_back(state, record)


def _who_comes_back(state: State, record: Record) -> tuple[dict[str, Record], list[tuple[Record, str]]]:
    """The task and those it took down; beside them those that another failure still keeps down, with it."""
    followers = [
        other
        for other in state.caused_by(record.id)
        if other.status is Status.CANCELLED
        and not any(edge.kind == "judge" for edge in state.edges_out_of.get(other.id, ()))
    ]
    coming_back = {record.id: record} | {follower.id: follower for follower in followers}
    causes: dict[str, str] = {}
    settled = False
    while not settled:
        settled = True
        for follower in followers:
            if follower.id not in coming_back:
                continue
            parent = _failed_parent(state, follower, coming_back)
            if parent is not None:
                del coming_back[follower.id]
                causes[follower.id] = causes.get(parent.id, parent.origin)
                settled = False
    return coming_back, [(state.tasks[task_id], cause) for task_id, cause in causes.items()]


def _failed_parent(state: State, record: Record, coming_back: dict[str, Record]) -> Record | None:
    """A task it needs to succeed, but which ended badly and does not come back."""
    for edge in state.edges_into.get(record.id, ()):
        if edge.kind == "after" and not edge.resolved and edge.parent not in coming_back:
            parent = state.tasks[edge.parent]
            if parent.status in ENDED_BADLY:
                return parent
    return None


def _check_keys(state: State, coming_back: dict[str, Record], keys: dict[str, str | None]) -> None:
    """Every key, of tasks (`keys`, as they will be) and of dags, must be free."""
    owners: dict[tuple[str, str], str] = {}
    for record in coming_back.values():
        key = keys[record.id]
        if key is not None:
            name = (record.spec.project, key)
            owner = owners.setdefault(name, state.keys.get(name, record.id))
            if owner != record.id:
                raise refusals.task_key_taken(record.id, owner)
        dag = state.dags.get(record.dag_id)
        if dag is not None and dag.key is not None:
            other = dags.find_by_key(state, dag.project, dag.key)
            if other is not None and other is not dag:
                raise refusals.dag_key_taken(dag.id, other.id)


def _reset(state: State, record: Record) -> None:
    """Forget how it ended; keep its history, fence, and the time since when it ages."""
    if record.unwritten:
        moving.write_cancelled_attempt(state, record)
    state.marked.pop(record.id, None)
    record.attempts = record.crashes = record.releases = 0
    record.error = record.reason = record.cancel_reason = record.cause = None
    record.resolution = record.reviewed_at = None
    if record.spec.escalations:
        record.spec = replace(record.spec, escalations=())
    moving.close_inquiries(record)
    record.exit_code = None
    validating.forget(record)
    record.poison_pill = False
    record.agent = None
    record.cancelled_at = record.dead_lettered_at = None
    state.move(record, Status.PENDING)
