"""Changing tasks: new edges into them, another priority, another assignee, other tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.status import ENDED_BADLY, Status
from dibs.rules import graph, lifecycle, matching
from dibs.rules.tagging import retagged
from dibs.stores import refusals
from dibs.stores.sqlite import reading
from dibs.stores.sqlite.escalating import move_to
from dibs.stores.sqlite.rows import change_spec, encode
from dibs.stores.sqlite.work import Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.task import Task
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes
    from dibs.stores.sqlite.rows import Row
    from dibs.stores.values import Dependency

_BELOW = """
WITH RECURSIVE below (n) AS (
    SELECT ?1 UNION SELECT e.child FROM below b CROSS JOIN edges e ON e.parent = b.n
)
SELECT p.id, c.id FROM below b
CROSS JOIN edges e ON e.parent = b.n CROSS JOIN tasks p ON p.n = e.parent CROSS JOIN tasks c ON c.n = e.child
"""
_ADD_EDGE = "INSERT INTO edges (parent, child, kind, resolved_at) VALUES (?, ?, ?, ?)"


def link(tx: Transaction, task_id: str, dependencies: Sequence[Dependency]) -> Task:
    """Add edges into a task that has not started; with an open one it becomes pending."""
    work = Work(tx)
    row = work.get(task_id)
    lifecycle.check(Status(row.status), lifecycle.Verb.LINK, task_id)
    new = _new_edges(work, row, dependencies)
    refuse_cycles(work, row, [(parent.id, task_id) for parent, _ in new])
    for parent, kind in new:
        if kind == "after" and parent.status in ENDED_BADLY:
            raise refusals.never_succeeds(parent.id, parent.status)
    if new:
        _join(work, row, new)
        work.flush()
    return reading.get_one(tx, task_id)


def _new_edges(work: Work, row: Row, dependencies: Sequence[Dependency]) -> list[tuple[Row, str]]:
    """The parents and kinds that it does not have yet."""
    parents = work.by_id([dependency.parent for dependency in dependencies])
    seen = set(work.tx.connection.execute("SELECT parent, kind FROM edges WHERE child = ?", (row.n,)))
    new = []
    for dependency in dependencies:
        parent = parents.get(dependency.parent)
        if parent is None:
            raise refusals.no_task(dependency.parent, field=dependency.kind)
        if (parent.n, dependency.kind) not in seen:
            seen.add((parent.n, dependency.kind))
            new.append((parent, dependency.kind))
    return new


def _join(work: Work, row: Row, new: list[tuple[Row, str]]) -> None:
    tx = work.tx
    work.materialise(row)
    for parent, kind in new:
        satisfied = parent.status == "completed" if kind == "after" else parent.final
        tx.run(_ADD_EDGE, (parent.n, row.n, kind, tx.now if satisfied else None))
        row.deps += 1
        row.open += not satisfied
        parent.has_dependents = 1
        work.mend(parent)
        work.grow(parent)
    task = reading.get_one(tx, row.id)
    known = dict.fromkeys((*task.depends_on, *(parent.id for parent, _ in new)))
    change_spec(tx, row.n, "depends_on", encode(list(known)))
    if row.open and row.status != "waiting":
        row.status = "pending"
        row.due_at = row.retry_at = row.step_at = None
        work.dags.touch(row.dag)
    work.touch(row)


def refuse_cycles(work: Work, below: Row, new: Sequence[tuple[str, str]]) -> None:
    """Raise CycleDetected if new edges close a cycle through the task `below` them."""
    edges = [*new, *work.tx.connection.execute(_BELOW, (below.n,))]
    cycle = graph.find_cycle(edges)
    if cycle is not None:
        graph.refuse_cycle(cycle)


def reprioritise(tx: Transaction, task_id: str, priority: float) -> Task:
    """Change the priority of a task that is not final; its rank follows."""
    work = Work(tx)
    row = work.get(task_id)
    if row.final:
        raise refusals.priority_over(task_id, row.status)
    row.priority = priority
    row.rerank(tx.now)
    work.touch(row)
    work.reranked(row)
    work.flush()
    return reading.get_one(tx, task_id)


def reassign(tx: Transaction, lanes: Lanes, task_id: str, assignee: str | None) -> Task:
    """Move a task that nobody holds to the lane of an agent, of agents of a type, or of anybody (None)."""
    work = Work(tx)
    row = work.get(task_id)
    known = reading.get_one(tx, task_id).assignee
    if not matching.may_be_given(row.status, known):
        raise refusals.not_reassigned(task_id, row.status, known)
    if assignee != known:
        move_to(tx, lanes, row, assignee=assignee)
        work.touch(row)
        work.reranked(row)
        work.emit("task.reassigned", row, data={"assignee": assignee})
        work.flush()
    return reading.get_one(tx, task_id)


def retag(tx: Transaction, task_id: str, add: Sequence[str], remove: Sequence[str]) -> Task:
    """Change the tags of a task, whatever its status."""
    work = Work(tx)
    row = work.get(task_id)
    task = reading.get_one(tx, task_id)
    tags = retagged(task.tags, add, remove)
    if tags == task.tags:
        return task
    change_spec(tx, row.n, "tags", encode(tags))
    row.updated_at = tx.now
    work.mend(row)
    work.flush()
    return reading.get_one(tx, task_id)
