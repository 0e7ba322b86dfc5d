"""Adding tasks with edges, dags, keys or a spawner: everything is looked up and checked first, then added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.model.ids import alone_in, dag_of
from dibs.model.status import ENDED_BADLY
from dibs.rules import graph
from dibs.rules.large import size_of
from dibs.stores import refusals
from dibs.stores.specs import spec_of
from dibs.stores.sqlite import asking, coalescing, journal, reading
from dibs.stores.sqlite.cascade import find_virtual
from dibs.stores.sqlite.lanes import lane_keys
from dibs.stores.sqlite.links import refuse_cycles
from dibs.stores.sqlite.rows import ADD_SPECS, Row, decode, encode, kept_locks, micros
from dibs.stores.sqlite.work import Work, merge_usage
from dibs.stores.values import Dependency, Draft, Entry, Inserted

if TYPE_CHECKING:
    from dibs.model.task import Task
    from dibs.stores.sqlite.engine import Transaction
    from dibs.stores.sqlite.lanes import Lanes
    from dibs.stores.values import DagDraft, Insertion, LaneKey, Spawn

_ADD_EDGES = """
INSERT INTO edges (parent, child, kind, resolved_at)
SELECT value->>0, value->>1, value->>2, value->>3 FROM json_each(?)
"""
_KEY_OWNERS = """
SELECT j.value->>0, j.value->>1, t.id, t.body_hash FROM json_each(?) j
CROSS JOIN tasks t ON t.project = j.value->>0 AND t.key = j.value->>1
    AND t.key IS NOT NULL AND t.status NOT IN ('cancelled', 'dead_lettered')
"""
_CHILD_EDGES = """
SELECT id, parent, resolved_at FROM edges
WHERE child = ? AND kind = 'child' AND parent IN (SELECT value FROM json_each(?))
"""
_SUSPENDED = "SELECT 1 FROM attempts WHERE n = ? AND fence = ? AND outcome = 'suspended'"
_DAG_OF_KEY = """
SELECT id, body_hash, drafted FROM dags
WHERE project = ? AND key = ? AND key IS NOT NULL AND status NOT IN ('cancelled', 'failed')
"""


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
        self.known: dict[str, Row] = {}
        self.owners: dict[tuple[str, str], tuple[str, str | None]] = {}
        self.owned: set[str] = set()
        self.answered_by: dict[str, str] = {}


def insert(tx: Transaction, lanes: Lanes, insertion: Insertion) -> Inserted:
    """Add tasks, their edges and possibly a dag: all or nothing."""
    work = Work(tx)
    spawner = None
    if insertion.spawn is not None:
        spawner = work.get(insertion.spawn.task_id)
        earlier = _spawned_before(work, spawner, insertion.spawn)
        if earlier is not None:
            return earlier
        _check_spawner(work, spawner, insertion.spawn, len(insertion.drafts))
    if insertion.dag is not None:
        same = _same_dag(work, insertion.dag)
        if same is not None:
            return same
    plan = _look_up(work, insertion)
    for draft in insertion.drafts:
        _plan_draft(work, plan, insertion, spawner, draft)
    if insertion.spawn is not None and insertion.spawn.wait and spawner is not None:
        _check_waiting(work, plan, spawner)
    suspended = _apply(work, lanes, insertion, plan, spawner)
    return Inserted(
        tasks=_answers(work, plan.ids),
        existing=plan.existing,
        dag_id=insertion.dag.id if insertion.dag is not None else None,
        suspended=suspended,
    )


def _answers(work: Work, ids: list[str]) -> list[Task]:
    return [task for task in reading.get(work.tx, ids) if task is not None]


def _held_under(row: Row, fence: int) -> bool:
    return row.held and row.fence == fence


def _spawned_before(work: Work, spawner: Row, spawn: Spawn) -> Inserted | None:
    """The children that the journal remembers under this name.

    Once the claim has ended there is an answer only where this very call may have ended it and its reply was lost.
    """
    entry = journal.find(work.tx, spawner.n, "spawn", spawn.name)
    if entry is None:
        return None
    held = _held_under(spawner, spawn.fence)
    if not held and not (spawn.wait and _was_suspended(work, spawner, spawn.fence)):
        raise refusals.lease_lost(spawner.id, spawn.fence)
    if entry.digest != spawn.digest:
        raise refusals.spawned_otherwise(spawner.id, spawn.name)
    known = work.by_id(decode(entry.value))
    ids = [child for child in decode(entry.value) if child in known]
    suspended = not held
    if held and spawn.wait:
        refuse_cycles(work, spawner, [(child, spawner.id) for child in ids])
        suspended = _wait_for(work, spawner, [known[child] for child in ids], spawn)
        work.flush()
    return Inserted(tasks=_answers(work, ids), existing=[True] * len(ids), suspended=suspended)


def _was_suspended(work: Work, spawner: Row, fence: int) -> bool:
    """Whether the claim under this fence ended because it waits for children."""
    return work.tx.row(_SUSPENDED, (spawner.n, fence)) is not None


def _check_spawner(work: Work, spawner: Row, spawn: Spawn, count: int) -> None:
    if not _held_under(spawner, spawn.fence):
        raise refusals.lease_lost(spawner.id, spawn.fence)
    if spawner.over_timeout(work.now):
        raise refusals.over_timeout(spawner.id, spawn.fence, spawner.timeout_s)
    [children] = work.tx.row("SELECT count(*) FROM tasks WHERE parent = ?", (spawner.id,))
    if children + count > spawn.max_children:
        raise refusals.too_many_children(spawner.id, spawn.max_children)


def _same_dag(work: Work, draft: DagDraft) -> Inserted | None:
    """The dag that this key belongs to already."""
    if draft.key is None:
        return None
    found = work.tx.row(_DAG_OF_KEY, (draft.project, draft.key))
    if found is None or found[0] == draft.id:
        return None
    dag_id, body_hash, drafted = found
    if body_hash != draft.body_hash:
        raise refusals.key_of_dag(draft.key, dag_id)
    tasks = _answers(work, decode(drafted))
    return Inserted(tasks=tasks, existing=[True] * len(tasks), dag_id=dag_id)


def _look_up(work: Work, insertion: Insertion) -> _Plan:
    """Everything that exists already and is named by the drafts."""
    plan = _Plan()
    drafts = insertion.drafts
    named = dict.fromkeys(draft.task.id for draft in drafts)
    named.update(dict.fromkeys(edge.parent for draft in drafts for edge in draft.dependencies))
    plan.known = work.by_id(named)
    keys = list({(draft.task.project, draft.task.key) for draft in drafts if draft.task.key is not None})
    if keys:
        for project, key, owner, body_hash in work.tx.connection.execute(_KEY_OWNERS, (encode(keys).decode(),)):
            plan.owners[project, key] = (owner, body_hash)
    return plan


def _plan_draft(work: Work, plan: _Plan, insertion: Insertion, spawner: Row | None, draft: Draft) -> None:
    """Find out what one draft will be. Changes nothing; raises if it is refused."""
    known = _known(plan, draft)
    if known is None:
        dependencies = _dependencies(plan, draft)
        dag_id = _dag_for(work, plan, insertion, spawner, draft, dependencies)
        plan.new[draft.task.id] = _Planned(draft, dag_id, dependencies)
        if draft.task.key is not None:
            plan.owners[draft.task.project, draft.task.key] = (draft.task.id, draft.body_hash)
    task_id = known or draft.task.id
    plan.answered_by[draft.task.id] = task_id
    plan.ids.append(task_id)
    plan.existing.append(known is not None)


def _known(plan: _Plan, draft: Draft) -> str | None:
    """The task that answers a draft without adding one: same id, or same key and body."""
    task = draft.task
    if task.id in plan.known or task.id in plan.new:
        return task.id
    if task.key is None:
        return None
    owner, body_hash = plan.owners.get((task.project, task.key), (None, None))
    if owner is not None and body_hash != draft.body_hash:
        raise refusals.key_of_task(task.key, owner)
    if owner is not None:
        plan.owned.add(owner)
    return owner


def _dependencies(plan: _Plan, draft: Draft) -> list[Dependency]:
    """Its edges, each once, pointing at the tasks that answer the drafts they name."""
    found: dict[Dependency, None] = {}
    for dependency in draft.dependencies:
        parent = plan.answered_by.get(dependency.parent, dependency.parent)
        if parent not in plan.known and parent not in plan.new and parent not in plan.owned:
            raise refusals.no_parent(dependency.parent, dependency.kind)
        found[Dependency(parent, dependency.kind)] = None
    return list(found)


def _dag_for(
    work: Work,
    plan: _Plan,
    insertion: Insertion,
    spawner: Row | None,
    draft: Draft,
    dependencies: list[Dependency],
) -> str:
    """The dag a new task belongs to; it must be open."""
    drafted = insertion.dag.id if insertion.dag is not None else ""
    # One of its own is no dag that was named: a commit that failed may have left that in the draft.
    named = "" if draft.task.dag_id == dag_of(draft.task.id) else draft.task.dag_id
    if spawner is not None:
        dag_id = spawner.dag_id
    elif named or drafted:
        dag_id = named or drafted
    elif dependencies:
        first = dependencies[0].parent
        dag_id = plan.new[first].dag_id if first in plan.new else _row(work, plan, first).dag_id
    else:
        return dag_of(draft.task.id)
    dag = work.dags.find(dag_id)
    if dag is not None:
        work.dags.refuse_closed(dag)
    elif spawner is None and named and dag_id != drafted and find_virtual(work, dag_id) is None:
        raise refusals.no_dag(dag_id)
    return dag_id


def _row(work: Work, plan: _Plan, task_id: str) -> Row:
    """A task that existed before this call, also one that only answers a draft by its key."""
    if task_id not in plan.known:
        plan.known[task_id] = work.get(task_id)
    return plan.known[task_id]


def _check_waiting(work: Work, plan: _Plan, spawner: Row) -> None:
    """Waiting for these children must not close a cycle."""
    edges = [
        (dependency.parent, task_id) for task_id, planned in plan.new.items() for dependency in planned.dependencies
    ]
    ended = {parent for parent, _ in edges if parent not in plan.new and _row(work, plan, parent).final}
    graph.check_waited_children(plan.ids, edges, ended)
    refuse_cycles(work, spawner, [*edges, *((child, spawner.id) for child in plan.ids)])


def _apply(work: Work, lanes: Lanes, insertion: Insertion, plan: _Plan, spawner: Row | None) -> bool:
    """Everything is known to be in order: add it. Whether the spawner's claim ended."""
    tx = work.tx
    given: int | None = None
    if insertion.dag is not None and work.dags.find(insertion.dag.id) is None:
        dag = work.dags.create(insertion.dag)
        dag.drafted = encode(plan.ids).decode()
        work.dags.save(dag)
        given = insertion.dag.budget
        if insertion.dag.ladder is not None:
            from dibs.stores.sqlite import escalating

            escalating.set_ladder(tx, insertion.dag.project, f"dag:{insertion.dag.id}", insertion.dag.ladder)
    added = _Added(work, plan, spawner)
    if plan.new:
        [newest] = tx.row("SELECT coalesce(max(n), 0) FROM tasks")
        lanes.current(tx)
        numbers = lanes.numbers(tx, lane_keys([planned.draft for planned in plan.new.values()]))
        for place, planned in enumerate(plan.new.values()):
            added.add(newest + place + 1, planned, numbers)
        tx.run(ADD_SPECS, (newest, encode(added.specs).decode()))
        work.save()
        coalescing.note(tx, enumerate((planned.draft for planned in plan.new.values()), newest + 1))
        if added.edges:
            tx.run(_ADD_EDGES, (encode(added.edges).decode(),))
    suspended = False
    if insertion.spawn is not None and spawner is not None:
        spawn = insertion.spawn
        value = encode(plan.ids)
        journal.write(tx, spawner.n, Entry(kind="spawn", name=spawn.name, digest=spawn.digest, value=value))
        if spawn.usage is not None:
            spawner.usage = encode(merge_usage(spawner.usage, spawn.usage)).decode()
            work.mend(spawner)
        if spawn.wait:
            children = [added.rows.get(child) or _row(work, plan, child) for child in plan.ids]
            suspended = _wait_for(work, spawner, children, spawn)
    if given is not None and insertion.dag is not None:
        from dibs.stores.sqlite import allotting

        # After the lanes were read: they are read again because of it.
        allotting.add(tx, insertion.dag.project, f"dag:{insertion.dag.id}", "usd", given, 0)
    work.flush()
    return suspended


class _Added:
    """The rows, specifications and edges of new tasks, one after the other."""

    def __init__(self, work: Work, plan: _Plan, spawner: Row | None) -> None:
        self.work = work
        self.plan = plan
        self.spawner = spawner
        self.rows: dict[str, Row] = {}
        self.specs: list[str] = []
        self.edges: list[tuple[int, int, str, int | None]] = []
        self._depth = 0 if spawner is None else reading.depth_of(work.tx, spawner.n) + 1

    def add(self, number: int, planned: _Planned, lanes: dict[LaneKey, int]) -> None:
        """One new task with its edges, where it belongs."""
        work, draft = self.work, planned.draft
        row = _new_row(work, number, planned, lanes, self.spawner)
        if row.dag is not None:
            self._join_dag(row.dag)
        self.rows[row.id] = row
        work.adopt(row)
        work.dags.touch(row.dag)
        work.emit("task.added", row)
        bad = self._join(row, planned)
        if bad is None:
            asking.begin(work, row, approval=draft.task.approval)
        else:
            row.status = "cancelled"
            row.reason = "dependency_failed"
            row.cause = bad.cause or bad.id
            row.requested = bad.requested
            row.cancelled_at = work.now
            work.emit("task.cancelled", row, reason=row.reason)
        if self.spawner is not None:
            draft.task.parent_id = self.spawner.id
            draft.task.depth = self._depth
        draft.task.depends_on = tuple(dict.fromkeys(edge.parent for edge in planned.dependencies))
        self.specs.append(spec_of(draft.task, draft.payload))

    def _join_dag(self, dag_id: str) -> None:
        """Something joins this dag: it gets a row if it was virtual."""
        work = self.work
        if work.dags.find(dag_id) is not None:
            return
        new = [row for row in map(self.rows.get, alone_in(dag_id)) if row is not None]
        for row in new if self.spawner is None else (self.spawner, *new):
            if row.dag is None and row.dag_id == dag_id:
                work.materialise(row)
                return
        virtual = find_virtual(work, dag_id)
        if virtual is not None:
            work.materialise(virtual)

    def _join(self, row: Row, planned: _Planned) -> Row | None:
        """Its edges; the first parent that ended badly, if it must not run after that."""
        bad = None
        for edge in planned.dependencies:
            old = edge.parent not in self.rows
            parent = _row(self.work, self.plan, edge.parent) if old else self.rows[edge.parent]
            satisfied = parent.status == "completed" if edge.kind == "after" else parent.final
            row.deps += 1
            row.open += not satisfied
            self.edges.append((parent.n, row.n, edge.kind, self.work.now if satisfied else None))
            if not parent.has_dependents:
                parent.has_dependents = 1
                self.work.mend(parent)
            if old:
                self.work.grow(parent)
            if bad is None and not satisfied and parent.status in ENDED_BADLY:
                bad = parent
        return bad


def _new_row(work: Work, number: int, planned: _Planned, lanes: dict[LaneKey, int], spawner: Row | None) -> Row:
    draft, task = planned.draft, planned.draft.task
    blank: dict[str, Any] = dict.fromkeys(Row.__struct_fields__)
    blank.update(dict.fromkeys(_ZERO, 0))
    blank.update(
        n=number,
        project=task.project,
        id=task.id,
        type=task.type,
        parent=task.parent_id if spawner is None else spawner.id,
        key=task.key,
        body_hash=draft.body_hash,
        user=task.user,
        deadline=micros(task.deadline),
        on_deadline=task.on_deadline,
        boost=draft.lane.boost,
        max_attempts=task.max_attempts,
        locks=kept_locks(task.locks) or (None if task.coalesce_key is None else coalescing.NO_LOCKS),
        created_at=work.now,
        status="pending",
        dag=None if planned.dag_id == dag_of(task.id) else planned.dag_id,
        lane=lanes[draft.lane],
        fallback_lane=None if draft.fallback_lane is None else lanes[draft.fallback_lane],
        priority=task.priority,
        weight=draft.weight,
        run_after=micros(task.run_after),
        solo=int(task.max_attempts == 1),
        bytes=size_of(draft.payload),
        timeout_s=task.timeout,
        updated_at=work.now,
    )
    return Row(**blank)


_ZERO = (
    "open",
    "deps",
    "has_dependents",
    "fence",
    "confirmed",
    "attempts",
    "crashes",
    "releases",
    "poison_pill",
    "output_sanitized",
    "requested",
    "marked",
    "overdue",
)


def _wait_for(work: Work, spawner: Row, children: list[Row], spawn: Spawn) -> bool:
    """Let the spawner wait for these children; if one is still open its claim ends. Whether it did."""
    tx = work.tx
    wanted = {child.n: child for child in children}
    if wanted:
        work.materialise(spawner)
    still_open = False
    numbers = encode(list(wanted)).decode()
    for edge, parent, resolved_at in list(tx.connection.execute(_CHILD_EDGES, (spawner.n, numbers))):
        child = wanted.pop(parent)
        if resolved_at is None:
            still_open = True
        elif not child.final:
            # The child was given a new life: the spawner waits for it once more.
            tx.run("UPDATE edges SET resolved_at = NULL WHERE id = ?", (edge,))
            spawner.open += 1
            still_open = True
    edges = []
    for child in wanted.values():
        edges.append((child.n, spawner.n, "child", work.now if child.final else None))
        spawner.deps += 1
        if not child.final:
            spawner.open += 1
            still_open = True
        child.has_dependents = 1
        work.mend(child)
        work.grow(child)
    if edges:
        tx.run(_ADD_EDGES, (encode(edges).decode(),))
    work.touch(spawner)
    if not still_open:
        return False
    agent = spawner.agent
    work.end_claim(spawner, "suspended", status="pending", usage=spawn.usage, reason="suspended")
    spawner.agent = None
    spawner.status = "pending"
    work.dags.touch(spawner.dag)
    work.emit("task.released", spawner, agent=agent, reason="suspended")
    return True
