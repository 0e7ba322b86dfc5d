"""Changing tasks: new edges into them, another priority, another assignee, other tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.model.status import ENDED_BADLY, Status
from dibs.rules import graph, lifecycle, matching
from dibs.rules.tagging import retagged
from dibs.stores import refusals
from dibs.stores.ledger import dags, locks, moving
from dibs.stores.ledger.snapshots import task_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.task import Task
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import Dependency


def link(state: State, task_id: str, dependencies: Sequence[Dependency]) -> Task:
    """Add edges into a task that has not started; with an open one it becomes pending."""
    record = state.get(task_id)
    lifecycle.check(record.status, lifecycle.Verb.LINK, task_id)
    new = _new_edges(state, record, dependencies)
    refuse_cycles(state, task_id, [(parent.id, task_id) for parent, _ in new])
    for parent, kind in new:
        if kind == "after" and parent.status in ENDED_BADLY:
            raise refusals.never_succeeds(parent.id, parent.status)
    if not new:
        return task_of(state, record)
    dags.appear(state, record.dag_id, record.spec.project)
    for parent, kind in new:
        state.join(parent, record, kind)
        mark_grown(state, parent)
    if record.open_edges and record.status is not Status.WAITING:
        record.retry_at = None
        state.move(record, Status.PENDING)
    state.file(record)
    return task_of(state, record)


def _new_edges(state: State, record: Record, dependencies: Sequence[Dependency]) -> list[tuple[Record, str]]:
    """The parents and kinds that it does not have yet."""
    seen = {(edge.parent, edge.kind) for edge in state.edges_into.get(record.id, ())}
    new = []
    for dependency in dependencies:
        parent = state.get(dependency.parent, field=dependency.kind)
        if (parent.id, dependency.kind) not in seen:
            seen.add((parent.id, dependency.kind))
            new.append((parent, dependency.kind))
    return new


def refuse_cycles(state: State, below: str, new: Sequence[tuple[str, str]]) -> None:
    """Raise CycleDetected if new edges close a cycle through the task `below` them."""
    edges = list(new)
    seen = {below}
    to_visit = [below]
    while to_visit:
        for edge in state.edges_out_of.get(to_visit.pop(), ()):
            edges.append((edge.parent, edge.child))
            if edge.child not in seen:
                seen.add(edge.child)
                to_visit.append(edge.child)
    cycle = graph.find_cycle(edges)
    if cycle is not None:
        graph.refuse_cycle(cycle)


def mark_grown(state: State, parent: Record) -> None:
    """Something was added below a task: the critical path above it is longer now."""
    if not parent.final:
        state.grown[parent.dag_id] = None


def reprioritise(state: State, task_id: str, priority: float) -> Task:
    """Change the priority of a task that is not final; its rank follows."""
    record = state.get(task_id)
    if record.final:
        raise refusals.priority_over(task_id, record.status)
    record.priority = priority
    moving.rerank(state, record)
    state.file(record)
    locks.moved(state, record)
    locks.follow(state)
    return task_of(state, record)


def reassign(state: State, task_id: str, assignee: str | None) -> Task:
    """Move a task that nobody holds to the lane of an agent, of agents of a type, or of anybody (None)."""
    record = state.get(task_id)
    known = record.spec.assignee
    if not matching.may_be_given(record.status, known):
        raise refusals.not_reassigned(task_id, record.status, known)
    if assignee != known:
        fallback = record.fallback_lane
        state.leave_lane(record)
        record.spec = replace(record.spec, assignee=assignee)
        record.lane = replace(record.lane, assignee=assignee)
        record.fallback_lane = None if fallback is None else replace(fallback, assignee=assignee)
        state.lane_ids.setdefault(record.lane, len(state.lane_ids) + 1)
        state.file(record)
        state.emit("task.reassigned", record, data={"assignee": assignee})
        locks.moved(state, record)
        locks.follow(state)
    return task_of(state, record)


def retag(state: State, task_id: str, add: Sequence[str], remove: Sequence[str]) -> Task:
    """Change the tags of a task, whatever its status."""
    record = state.get(task_id)
    tags = retagged(record.spec.tags, add, remove)
    if tags != record.spec.tags:
        record.spec = replace(record.spec, tags=tags)
        record.updated_at = state.now
        state.changed = True
    return task_of(state, record)
