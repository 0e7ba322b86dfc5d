"""Adding tasks: first everything is looked up and checked, then everything is added."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dibs.model.ids import dag_of
from dibs.model.instants import to_micros
from dibs.model.status import ENDED_BADLY, DagStatus, Outcome, Status
from dibs.rules import graph
from dibs.stores import refusals
from dibs.stores.ledger import asking, budgets, dags, escalating, journal, linking, moving
from dibs.stores.ledger.records import DagRecord, Record
from dibs.stores.ledger.snapshots import task_of
from dibs.stores.values import Dependency, Draft, Entry, Inserted

if TYPE_CHECKING:
    from collections.abc import Container

    from dibs.stores.ledger.state import State
    from dibs.stores.values import DagDraft, Insertion, Spawn


class _Planned(Struct):
    """A draft that will become a task: in which dag, and after which tasks."""

    draft: Draft
    dag_id: str
    dependencies: list[Dependency]


class _Plan:
    """What an insertion will do: `ids` answers each draft, `new` holds those that add a task."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.existing: list[bool] = []
        self.new: dict[str, _Planned] = {}
        self.keys: dict[tuple[str, str], str] = {}
        self.answered_by: dict[str, str] = {}


def insert(state: State, insertion: Insertion) -> Inserted:
    """Add tasks, their edges and possibly a dag: all or nothing."""
    spawner = None
    if insertion.spawn is not None:
        spawner = state.get(insertion.spawn.task_id)
        earlier = _spawned_before(state, spawner, insertion.spawn)
        if earlier is not None:
            return earlier
        _check_spawner(state, spawner, insertion.spawn, len(insertion.drafts))
    if insertion.dag is not None:
        same = _same_dag(state, insertion.dag)
        if same is not None:
            return same
    plan = _plan(state, insertion, spawner)
    if insertion.spawn is not None and insertion.spawn.wait and spawner is not None:
        _check_waiting(state, spawner, plan)
    return _apply(state, insertion, plan, spawner)


def _spawned_before(state: State, spawner: Record, spawn: Spawn) -> Inserted | None:
    """The children that the journal remembers under this name.

    Once the claim has ended there is an answer only where this very call may have ended it and its reply was lost.
    """
    entry = spawner.journal.get(("spawn", spawn.name))
    if entry is None:
        return None
    held = spawner.held_under(spawn.fence)
    if not held and not (spawn.wait and _was_suspended(spawner, spawn.fence)):
        raise refusals.lease_lost(spawner.id, spawn.fence)
    if entry.digest != spawn.digest:
        raise refusals.spawned_otherwise(spawner.id, spawn.name)
    ids = [child for child in msgspec.json.decode(entry.value, type=list[str]) if child in state.tasks]
    suspended = not held
    if held and spawn.wait:
        linking.refuse_cycles(state, spawner.id, [(child, spawner.id) for child in ids])
        suspended = _wait_for(state, spawner, ids, spawn)
    return Inserted(
        tasks=[task_of(state, state.tasks[child]) for child in ids],
        existing=[True] * len(ids),
        suspended=suspended,
    )


def _was_suspended(spawner: Record, fence: int) -> bool:
    """Whether the claim under this fence ended because it waits for children."""
    ending = spawner.endings.get(fence)
    return ending is not None and ending.attempt.outcome is Outcome.SUSPENDED


def _check_spawner(state: State, spawner: Record, spawn: Spawn, count: int) -> None:
    if not spawner.held_under(spawn.fence):
        raise refusals.lease_lost(spawner.id, spawn.fence)
    if spawner.over_timeout(state.now):
        raise refusals.over_timeout(spawner.id, spawn.fence, spawner.timeout_s)
    if len(state.children.get(spawner.id, ())) + count > spawn.max_children:
        raise refusals.too_many_children(spawner.id, spawn.max_children)


def _same_dag(state: State, draft: DagDraft) -> Inserted | None:
    """The dag that this key belongs to already."""
    if draft.key is None:
        return None
    dag = dags.find_by_key(state, draft.project, draft.key)
    if dag is None or dag.id == draft.id:
        return None
    if dag.body_hash != draft.body_hash:
        raise refusals.key_of_dag(draft.key, dag.id)
    tasks = [task_of(state, state.tasks[task_id]) for task_id in dag.drafted if task_id in state.tasks]
    return Inserted(tasks=tasks, existing=[True] * len(tasks), dag_id=dag.id)


def _plan(state: State, insertion: Insertion, spawner: Record | None) -> _Plan:
    """Find out what each draft will be. Changes nothing; raises for the first that is refused."""
    plan = _Plan()
    for draft in insertion.drafts:
        known = _known(state, plan, draft)
        if known is None:
            dependencies = _dependencies(state, plan, draft)
            dag_id = _dag_for(state, plan, insertion, spawner, draft, dependencies)
            plan.new[draft.task.id] = _Planned(draft, dag_id, dependencies)
            if draft.task.key is not None:
                plan.keys[draft.task.project, draft.task.key] = draft.task.id
        task_id = known or draft.task.id
        plan.answered_by[draft.task.id] = task_id
        plan.ids.append(task_id)
        plan.existing.append(known is not None)
    return plan


def _known(state: State, plan: _Plan, draft: Draft) -> str | None:
    """The task that answers a draft without adding one: same id, or same key and body."""
    task = draft.task
    if task.id in state.tasks or task.id in plan.new:
        return task.id
    if task.key is None:
        return None
    name = (task.project, task.key)
    owner = plan.keys.get(name) or state.keys.get(name)
    if owner is None:
        return None
    body_hash = plan.new[owner].draft.body_hash if owner in plan.new else state.tasks[owner].body_hash
    if body_hash != draft.body_hash:
        raise refusals.key_of_task(task.key, owner)
    return owner


def _dependencies(state: State, plan: _Plan, draft: Draft) -> list[Dependency]:
    """Its edges, each once, pointing at the tasks that answer the drafts they name."""
    found: dict[Dependency, None] = {}
    for dependency in draft.dependencies:
        parent = plan.answered_by.get(dependency.parent, dependency.parent)
        if parent not in state.tasks and parent not in plan.new:
            raise refusals.no_parent(dependency.parent, dependency.kind)
        found[Dependency(parent, dependency.kind)] = None
    return list(found)


def _dag_for(
    state: State,
    plan: _Plan,
    insertion: Insertion,
    spawner: Record | None,
    draft: Draft,
    dependencies: list[Dependency],
) -> str:
    """The dag a new task belongs to; it must be open."""
    if spawner is not None:
        dag_id = spawner.dag_id
    elif draft.task.dag_id or insertion.dag is not None:
        drafted = insertion.dag.id if insertion.dag is not None else ""
        dag_id = draft.task.dag_id or drafted
        if dag_id != drafted and dag_id not in state.dags and dag_id not in state.members:
            raise refusals.no_dag(dag_id)
    elif dependencies:
        first = dependencies[0].parent
        dag_id = plan.new[first].dag_id if first in plan.new else state.tasks[first].dag_id
    else:
        return dag_of(draft.task.id)
    dag = state.dags.get(dag_id)
    if dag is not None and dag.status in (DagStatus.FAILED, DagStatus.CANCELLED):
        raise refusals.dag_closed(dag_id, dag.status)
    return dag_id


def _check_waiting(state: State, spawner: Record, plan: _Plan) -> None:
    """Waiting for these children must not close a cycle."""
    edges = [
        (dependency.parent, task_id) for task_id, planned in plan.new.items() for dependency in planned.dependencies
    ]
    ended = {parent for parent, _ in edges if parent in state.tasks and state.tasks[parent].final}
    graph.check_waited_children(plan.ids, edges, ended)
    linking.refuse_cycles(state, spawner.id, [*edges, *((child, spawner.id) for child in plan.ids)])


def _apply(state: State, insertion: Insertion, plan: _Plan, spawner: Record | None) -> Inserted:
    """Nothing below raises."""
    if insertion.dag is not None and insertion.dag.id not in state.dags:
        dags.create(state, _dag_record(insertion.dag, plan.ids, state.now))
        if insertion.dag.budget is not None:
            budgets.give(state, insertion.dag.project, f"dag:{insertion.dag.id}", "usd", insertion.dag.budget, 0)
        if insertion.dag.ladder is not None:
            escalating.set_ladder(state, insertion.dag.project, f"dag:{insertion.dag.id}", insertion.dag.ladder)
        # Its drafts may all be answered by tasks of other dags; then it has ended already.
        state.stirred[insertion.dag.id] = None
    for planned in plan.new.values():
        _add(state, planned, plan.new, spawner)
    suspended = False
    if insertion.spawn is not None and spawner is not None:
        spawn = insertion.spawn
        value = msgspec.json.encode(plan.ids)
        journal.write(spawner, Entry(kind="spawn", name=spawn.name, digest=spawn.digest, value=value))
        spawner.usage = spawner.usage.updated(spawn.usage)
        state.changed = True
        if spawn.wait:
            suspended = _wait_for(state, spawner, plan.ids, spawn)
    return Inserted(
        tasks=[task_of(state, state.tasks[task_id]) for task_id in plan.ids],
        existing=plan.existing,
        dag_id=insertion.dag.id if insertion.dag is not None else None,
        suspended=suspended,
    )


def _add(state: State, planned: _Planned, new: Container[str], spawner: Record | None) -> None:
    """One new task with its edges, where it belongs. Weights count what is new of this call already."""
    record = _record(state, planned, spawner)
    if planned.dag_id != dag_of(record.id):
        dags.appear(state, planned.dag_id, record.spec.project)
    state.add(record)
    state.emit("task.added", record)
    bad = None
    for dependency in planned.dependencies:
        parent = state.tasks[dependency.parent]
        edge = state.join(parent, record, dependency.kind)
        if parent.id not in new:
            linking.mark_grown(state, parent)
        if bad is None and not edge.resolved and parent.status in ENDED_BADLY:
            bad = parent
    if bad is None:
        asking.begin(state, record)
        return
    record.reason = "dependency_failed"
    record.cause = bad.origin
    record.cancelled_at = state.now
    state.move(record, Status.CANCELLED, requested=bad.requested)
    state.file(record)
    state.emit("task.cancelled", record, reason=record.reason)


def _wait_for(state: State, spawner: Record, ids: list[str], spawn: Spawn) -> bool:
    """Let the spawner wait for these children; if one is still open its claim ends. Whether it did."""
    wanted = dict.fromkeys(ids)
    if wanted:
        dags.appear(state, spawner.dag_id, spawner.spec.project)
    edges = [edge for edge in state.edges_into.get(spawner.id, ()) if edge.kind == "child" and edge.parent in wanted]
    for edge in edges:
        del wanted[edge.parent]
        if edge.resolved and not state.tasks[edge.parent].final:
            # The child was given a new life: the spawner waits for it once more.
            edge.resolved = False
            spawner.open_edges += 1
    for child in wanted:
        edges.append(state.join(state.tasks[child], spawner, "child"))
        linking.mark_grown(state, state.tasks[child])
    if all(edge.resolved for edge in edges):
        state.file(spawner)
        return False
    agent = spawner.agent
    moving.end_claim(state, spawner, Outcome.SUSPENDED, usage=spawn.usage, reason="suspended")
    spawner.agent = None
    state.move(spawner, Status.PENDING)
    state.file(spawner)
    state.emit("task.released", spawner, agent=agent, reason="suspended")
    return True


def _record(state: State, planned: _Planned, spawner: Record | None) -> Record:
    draft, task = planned.draft, planned.draft.task
    return Record(
        number=state.last_number + 1,
        spec=replace(task, payload=None, expects=None, context=None),
        payload=bytes(draft.payload),
        expects=msgspec.json.encode(task.expects),
        context=msgspec.json.encode(task.context),
        lane=draft.lane,
        fallback_lane=draft.fallback_lane,
        body_hash=draft.body_hash,
        dag_id=planned.dag_id,
        parent_id=task.parent_id if spawner is None else spawner.id,
        depth=task.depth if spawner is None else spawner.depth + 1,
        priority=task.priority,
        weight=draft.weight,
        deadline=None if task.deadline is None else to_micros(task.deadline),
        run_after=None if task.run_after is None else to_micros(task.run_after),
        timeout_s=task.timeout,
        created_at=state.now,
        updated_at=state.now,
    )


def _dag_record(draft: DagDraft, drafted: list[str], now: int) -> DagRecord:
    return DagRecord(
        id=draft.id,
        project=draft.project,
        title=draft.title,
        key=draft.key,
        body_hash=draft.body_hash,
        drafted=list(drafted),
        on_failure=draft.on_failure,
        user=draft.user,
        created_by=draft.created_by,
        created_at=now,
    )
