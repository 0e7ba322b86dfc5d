"""Reading: pages, dags, statistics, events. Nothing here changes anything."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dibs.model.dag import Dag, Edge
from dibs.model.event import Event
from dibs.model.ids import alone_in
from dibs.model.instants import from_micros, seconds
from dibs.model.status import Status
from dibs.model.views import Lane, Stats
from dibs.rules import graph, priority
from dibs.stores.ledger import asking, budgets, dags, locks, registry, snapshots
from dibs.stores.ledger.records import DagRecord
from dibs.stores.ledger.snapshots import instant, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.model.task import Task
    from dibs.stores.ledger.records import Record
    from dibs.stores.ledger.state import State
    from dibs.stores.values import LaneKey

_DAY_S = 86_400.0


def get(state: State, ids: Sequence[str], *, listed: bool) -> list[Task | None]:
    """Snapshots, or as lists have them."""
    shown = snapshots.listed if listed else snapshots.task_of
    records = [state.tasks.get(task_id) for task_id in ids]
    return [None if record is None else shown(state, record) for record in records]


def dag(state: State, dag_id: str) -> Dag | None:
    """A dag with its tasks, the edges into them, and counts."""
    records = state.members.get(dag_id, [])
    row = state.dags.get(dag_id)
    virtual = row is None
    if row is None:
        if not records:
            return None
        row = _virtual(records)
    tasks = [listed(state, record) for record in records]
    edges = [
        Edge(edge.parent, edge.child, edge.kind)
        for record in records
        for edge in state.edges_into.get(record.id, ())
        if edge.kind != "judge"
    ]
    return Dag(
        id=row.id,
        project=row.project,
        title=row.title,
        key=row.key,
        status=row.status,
        on_failure=row.on_failure,
        user=row.user,
        created_by=row.created_by,
        virtual=virtual,
        created_at=from_micros(row.created_at),
        started_at=instant(row.started_at),
        ended_at=instant(row.ended_at),
        counts=_counts(records),
        tasks=tasks,
        edges=edges,
        cost_usd=_cost(records),
    )


def _virtual(records: list[Record]) -> DagRecord:
    """What the row of a standalone task's dag would say."""
    task = records[0]
    tally = Counter((record.status, record.requested) for record in records)
    return DagRecord(
        id=task.dag_id,
        project=task.spec.project,
        on_failure=graph.IMPLICIT,
        status=dags.derived_status(tally, started=task.ever_started),
        created_at=task.created_at,
        started_at=task.started_at,
        ended_at=task.ended_at,
    )


def stats(state: State, project: str) -> Stats:
    """The queue at a glance."""
    found = state.census(project)
    by_status: Counter[Status] = Counter()
    for counts in found.types.values():
        by_status += counts
    lanes = [_lane(state.lane_ids[key], key, *waits) for key, waits in found.ready.items()]
    dues = (at for at, number in state.due if state.numbered[number].spec.project == project)
    next_due_at = next(dues, None)
    since = state.now - seconds(_DAY_S)
    return Stats(
        by_status=_shown_counts(by_status),
        by_type={type: _shown_counts(counts) for type, counts in sorted(found.types.items())},
        lanes=sorted(lanes, key=lambda lane: lane.id),
        agents=registry.agents(state, project, since),
        oldest_ready_at=min((lane.oldest_ready_at for lane in lanes if lane.oldest_ready_at), default=None),
        next_due_at=None if next_due_at is None else from_micros(int(next_due_at)),
        cost_usd=found.cost_usd,
        by_tier=priority.by_tier(found.tiers),
    )


def ready(state: State, project: str) -> list[Lane]:
    """Lanes with something ready."""
    found = state.census(project).ready
    return sorted((_lane(state.lane_ids[key], key, *waits) for key, waits in found.items()), key=lambda lane: lane.id)


def _lane(lane_id: int, key: LaneKey, ready: int, oldest: int) -> Lane:
    return Lane(
        id=lane_id,
        type=key.type,
        assignee=key.assignee,
        requires=key.requires,
        models=key.models,
        boost=key.boost,
        provider=key.provider,
        ready=ready,
        oldest_ready_at=from_micros(oldest),
    )


def _counts(records: Iterable[Record]) -> dict[str, int]:
    """Tasks by status; statuses that nobody has are left out."""
    return _shown_counts(Counter(record.status for record in records))


def _shown_counts(counts: Counter[Status]) -> dict[str, int]:
    return {status.value: counts[status] for status in Status if counts[status]}


def _cost(records: Iterable[Record]) -> float | None:
    """The sum of what is known; None if nothing is."""
    known = [record.cost_usd for record in records if record.cost_usd is not None]
    return sum(known) if known else None


def events(state: State, after: int, limit: int) -> list[Event]:
    """Events with seq > after; a `gap` first if some of those are gone."""
    last_lost, events = state.events_after(after, limit)
    found: list[Event] = []
    if after < last_lost:
        at = events[0].at if events else from_micros(state.now)
        found.append(Event(seq=last_lost, type="gap", at=at))
    return found + events[: limit - len(found)]


def check(state: State) -> list[str]:
    """What must always hold, tested: a sentence for each thing that does not."""
    wrong = []
    for record in state.tasks.values():
        edges = state.edges_into.get(record.id, [])
        still_open = sum(not edge.resolved for edge in edges)
        if still_open != record.open_edges:
            wrong.append(f"Task {record.id} counts {record.open_edges} open edges and has {still_open}.")
        if record.status is Status.PENDING and not still_open:
            wrong.append(f"Task {record.id} is pending, but waits for nothing.")
        if record.status not in (Status.PENDING, Status.VALIDATING, Status.WAITING) and not record.final and still_open:
            wrong.append(f"Task {record.id} is {record.status}, but has open edges.")
        if record.held and record.lease_expires_at is None:
            wrong.append(f"Task {record.id} is {record.status}, but has no lease.")
        for edge in edges:
            parent = state.tasks.get(edge.parent)
            if parent is None:
                wrong.append(f"Task {record.id} waits for {edge.parent}, which does not exist.")
            elif not edge.resolved and parent.status is Status.COMPLETED:
                wrong.append(f"Task {record.id} still waits for {parent.id}, which is completed.")
    ready = sum(len(order) for order in state.lanes.values())
    if ready != sum(record.status is Status.READY and record.parked_on is None for record in state.tasks.values()):
        wrong.append(f"The lanes hold {ready} tasks, which is not how many are ready.")
    return wrong + asking.check(state) + locks.wrong(state) + budgets.wrong(state)


def projects(state: State, ids: Sequence[str]) -> list[str | None]:
    """The project of each task, dag or question; None: nobody knows it."""
    state.will_read(tasks=ids)
    return [_project(state, id) for id in ids]


def _project(state: State, id: str) -> str | None:
    if id in state.tasks:
        return state.tasks[id].spec.project
    if id in state.dags:
        return state.dags[id].project
    if id in state.inquiries:
        return state.tasks[state.inquiries[id].task_id].spec.project
    alone = (state.tasks.get(task_id) for task_id in alone_in(id)) if id.startswith("dag_") else ()
    return next((record.spec.project for record in alone if record is not None and record.dag_id == id), None)
