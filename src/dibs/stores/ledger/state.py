"""Everything a memory store knows, and the one place that keeps its indexes true.

A verb changes records and then files them: `State.move` changes a status, `State.file` sorts a record
into every index it belongs to. Instants are micros; JSON is kept as bytes, so that nobody outside can
hold a piece of what is inside.
"""

from __future__ import annotations

from collections import Counter
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from dibs.model.event import Event
from dibs.model.instants import from_micros, to_micros
from dibs.model.status import ENDED_BADLY, Status
from dibs.rules import priority, questions
from dibs.rules.budgets import PARTS, PREFIX, parked_on
from dibs.stores import refusals
from dibs.stores.ledger.order import Order
from dibs.stores.ledger.records import (
    BudgetRecord,
    Census,
    DagRecord,
    Edge,
    Inquiry,
    LockRecord,
    Record,
    time_over_at,
)
from dibs.stores.standing import Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, MutableMapping

    from dibs.model.attempt import Limited
    from dibs.model.escalation import Rung
    from dibs.rules.breaker import Override, Verdict
    from dibs.rules.breaker import Record as Breaker
    from dibs.rules.closing import Pause
    from dibs.rules.providers import Backoff
    from dibs.rules.rates import Rate
    from dibs.stores.agents import Known
    from dibs.stores.values import Document, LaneKey


class State:
    """All tasks, edges, dags and events, and what finds them quickly."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.now = clock()
        self.changed = False
        self.standing = Standing()
        """Whether it is in use, or everything is on its way into it, or out of it."""

        self.tasks: MutableMapping[str, Record] = {}
        self.numbered: MutableMapping[int, Record] = {}
        self.last_number = 0
        self.keys: MutableMapping[tuple[str, str], str] = {}
        self.edges_into: MutableMapping[str, list[Edge]] = {}
        self.edges_out_of: MutableMapping[str, list[Edge]] = {}
        self.children: MutableMapping[str, list[Record]] = {}

        self.last_put = 0
        """The number of the artifact that was put last."""
        self.inquiries: MutableMapping[str, Inquiry] = {}
        self.members: MutableMapping[str, list[Record]] = {}
        """The tasks of every dag, virtual ones too."""
        self.dags: MutableMapping[str, DagRecord] = {}
        self.dag_keys: MutableMapping[tuple[str, str], str] = {}
        """The newest dag of each key; one that ended badly has lost its right to it."""
        self.stirred: dict[str, None] = {}
        """Dags with a task that moved: their status is looked at before the commit."""
        self.grown: MutableMapping[str, None] = {}
        """Dags whose critical path weights are to be refreshed."""

        self.marked: MutableMapping[str, None] = {}
        """Tasks that ended badly and whose consequences are not all applied."""
        self.closing: MutableMapping[str, None] = {}
        """Closed dags that still have tasks to cancel."""

        self.lanes: MutableMapping[LaneKey, Order] = {}
        self.lane_ids: MutableMapping[LaneKey, int] = {}
        self.due = Order()
        self.leases = Order()
        self.stopping = Order()
        self.deadlines = Order()
        self.groups: MutableMapping[tuple[LaneKey, str], dict[int, None]] = {}
        """Who waits under a coalesce key, ready or not; by lane and key."""
        self.steps = Order()
        self.passed_over = Order()

        self.locks: MutableMapping[tuple[str, str], LockRecord] = {}
        """Those that have other slots than usual, are held, or are waited for; by project and name."""
        self.freed: dict[tuple[str, str], None] = {}
        """Locks that may admit somebody now: looked at before the commit."""

        self.budgets: MutableMapping[tuple[str, str], BudgetRecord] = {}
        """By project and what `parked_on` says of it."""
        self.roomy: dict[tuple[str, str], None] = {}
        """Budgets that may admit somebody now: looked at before the commit, after the locks."""

        self.type_slots: MutableMapping[tuple[str, str], int] = {}
        """By project and type: how many of its tasks may be held at once."""

        self.rates: MutableMapping[tuple[str, str], tuple[Rate, int]] = {}
        """By project and type: how many of its tasks are handed out in a time, and when its bucket is full."""

        self.documents: MutableMapping[tuple[str, str, str], Document] = {}
        """By project, kind and name."""

        self.claims: MutableMapping[tuple[str, str], tuple[int, list[list[tuple[str, int]]]]] = {}
        """By claim id: when, and what was taken, in groups."""
        self.agents: MutableMapping[tuple[str, str], Known] = {}
        self.duties: MutableMapping[str, int] = {}

        self.pauses: MutableMapping[tuple[str, str], Pause] = {}
        self.breakers: MutableMapping[tuple[str, str], Breaker] = {}
        self.overrides: MutableMapping[tuple[str, str], Override] = {}
        self.ladders: MutableMapping[tuple[str, str], tuple[Rung, ...]] = {}
        """By project and scope."""
        self.endings: list[tuple[tuple[str, str], tuple[str, int], Verdict]] = []
        """What the claims that this step settled say about their types."""
        self.backoffs: MutableMapping[tuple[str, str], Backoff] = {}
        self.replies: list[tuple[tuple[str, str], Limited | None]] = []
        """Whom they asked, by gate, and whether that turned them away."""

        self.events: list[tuple[Event, bytes | None]] = []
        self.last_seq = 0

    # Looking for more than one

    def will_read(self, *, tasks: Iterable[str] = (), lanes: Iterable[LaneKey] = ()) -> None:
        """These are looked at next: bring them in together, where that saves anything."""

    def lane_number(self, number: int) -> int:
        """The number of the lane of the task of this number."""
        return self.lane_ids[self.numbered[number].lane]

    def newest_first(self, before: float) -> Iterator[Record]:
        """Every task with a smaller number."""
        return (record for record in reversed(list(self.tasks.values())) if record.number < before)

    def occupied(self) -> Iterable[Record]:
        """Whatever is held, or was cancelled while it was held and is not written yet."""
        return [record for record in self.tasks.values() if record.held or record.unwritten]

    def held_in(self, project: str) -> dict[str, list[str]]:
        """The tasks that each agent holds, in the order they were added."""
        held: dict[str, list[str]] = {}
        for number in sorted(number for _, number in self.leases):
            record = self.numbered[number]
            if record.agent is not None and record.spec.project == project:
                held.setdefault(record.agent, []).append(record.id)
        return held

    def caused_by(self, task_id: str) -> list[Record]:
        """Those that ended because of this task, in insertion order."""
        return [record for record in self.tasks.values() if record.cause == task_id]

    def in_status(self, status: Status) -> list[Record]:
        """All tasks that are dead-lettered, or validating; in insertion order."""
        return [record for record in self.tasks.values() if record.status is status]

    def open_inquiries(self) -> list[Inquiry]:
        """The questions that nobody has answered yet."""
        return [inquiry for inquiry in self.inquiries.values() if inquiry.status == questions.OPEN]

    def windowed(self) -> list[tuple[tuple[str, str], BudgetRecord]]:
        """The budgets that begin anew now and then, by name."""
        return [(name, self.budgets[name]) for name in sorted(self.budgets) if self.budgets[name].ends_at is not None]

    def documents_of(self, project: str, kind: str, after: str, limit: int) -> list[Document]:
        """Those of a kind whose names come after this one, by name."""
        found = (each for each in self.documents.values() if (each.project, each.kind) == (project, kind))
        return nsmallest(limit, (each for each in found if each.name > after), key=lambda each: each.name)

    def old_dags(self, before: int) -> Iterator[list[Record]]:
        """Dags some of whose tasks may have ended before then."""
        yield from list(self.members.values())

    def newest_dags(self, before: str | None) -> Iterator[DagRecord]:
        """The rows of dags with a smaller id, the greatest first."""
        return (self.dags[dag_id] for dag_id in sorted(self.dags, reverse=True) if before is None or dag_id < before)

    def ended_since(self, at: int) -> Iterable[Record]:
        """Completed tasks that ended then or later; there may be others among them."""
        return [record for record in self.tasks.values() if (record.ended_at or 0) >= at]

    def forget_before(self, before: int) -> None:
        """Events, claim ids and agents that nobody has heard of since then."""
        kept = next((i for i, (event, _) in enumerate(self.events) if to_micros(event.at) >= before), len(self.events))
        if kept:
            del self.events[:kept]
            self.changed = True
        for name in [name for name, claim in self.claims.items() if claim[0] < before]:
            del self.claims[name]
        for name in [name for name, agent in self.agents.items() if agent.heard_at < before]:
            del self.agents[name]

    def events_after(self, after: int, limit: int) -> tuple[int, list[Event]]:
        """The seq of the last event that is gone, and those that come after both."""
        lost = self.last_seq - len(self.events)
        start = max(0, after - lost)
        return lost, [
            replace(event, data={} if data is None else msgspec.json.decode(data))
            for event, data in self.events[start : start + limit]
        ]

    def census(self, project: str) -> Census:
        """How many tasks there are, of which types and where, and what they cost."""
        found = Census()
        for record in self.tasks.values():
            if record.spec.project != project:
                continue
            found.count(record.spec.type, record.status, 1)
            if record.cost_usd is not None:
                found.cost_usd = (found.cost_usd or 0.0) + record.cost_usd
            if record.status is Status.READY and record.ready_at is not None:
                found.wait(record.lane, record.ready_at)
                if record.parked_on is None and record.rank is not None:
                    tier = priority.tier(priority.effective(record.rank, record.lane.boost, self.now))
                    found.tiers[priority.TIERS.index(tier)] += 1
        return found

    # Carrying

    def by_number(self, after: int, limit: int, *, live: bool) -> list[Record]:
        """Tasks with a greater number, in the order of the numbers. `live`: of which something is still to come."""
        found = (record for record in self.tasks.values() if record.number > after)
        wanted = (record for record in found if not live or self._lives(record))
        return nsmallest(limit, wanted, key=lambda record: record.number)

    def _lives(self, record: Record) -> bool:
        return not record.final or record.unwritten or record.id in self.marked

    def by_status(self) -> dict[str, int]:
        """How many tasks there are, in all projects."""
        return dict(Counter(record.status.value for record in self.tasks.values()))

    def empty_dags(self) -> list[str]:
        """Dags that have a row, and no task."""
        return [dag_id for dag_id in self.dags if dag_id not in self.members]

    def tie(self, edge: Edge) -> None:
        """An edge that was joined elsewhere; its other end may not be here yet."""
        self.edges_into.setdefault(edge.child, []).append(edge)
        self.edges_out_of.setdefault(edge.parent, []).append(edge)

    def withdraw(self, record: Record, *, gone: bool) -> None:
        """Take a task out of everything but the edges that lead out of it. Unless it is gone, another comes in its
        place at once."""
        number = record.number
        for order in (self.due, self.leases, self.stopping, self.deadlines, self.steps, self.passed_over):
            order.put(number, None)
        if record.lane in self.lanes:
            self.lanes[record.lane].put(number, None)
            if not self.lanes[record.lane]:
                del self.lanes[record.lane]
        if record.spec.coalesce_key is not None:
            self.groups.get((record.lane, record.spec.coalesce_key), {}).pop(number, None)
        for inquiry in record.inquiries:
            self.inquiries.pop(inquiry.id, None)
        self._withdraw(record)
        for edge in self.edges_into.pop(record.id, ()):
            _drop(self.edges_out_of, edge.parent, edge)
        _drop(self.members, record.dag_id, record)
        if record.parent_id is not None:
            _drop(self.children, record.parent_id, record)
        if gone:
            del self.tasks[record.id], self.numbered[number]

    def _withdraw(self, record: Record) -> None:
        name = (record.spec.project, record.spec.key or "")
        if record.spec.key is not None and self.keys.get(name) == record.id:
            del self.keys[name]
        self.marked.pop(record.id, None)
        dag = self.dags.get(record.dag_id)
        if dag is not None:
            dag.tally[record.status, record.requested] -= 1

    def skip_to(self, seq: int) -> None:
        """The next event comes after this one; of those in between nobody hears here."""
        if seq > self.last_seq:
            self.events.clear()
            self.last_seq = seq

    def tidy(self) -> None:
        """Tasks may have come in any order: from now on they stand in that of their numbers."""
        self.tasks = dict(sorted(self.tasks.items(), key=lambda item: item[1].number))
        for family in (*self.members.values(), *self.children.values()):
            family.sort(key=lambda record: record.number)

    # Changing one

    def next_fence(self, record: Record) -> int:
        """The fence of the next claim."""
        return record.fence + 1

    def get(self, task_id: str, field: str | None = None) -> Record:
        """The record of a task; NotFound if there is none."""
        try:
            return self.tasks[task_id]
        except KeyError:
            raise refusals.no_task(task_id, field) from None

    def add(self, record: Record) -> None:
        """Take in a new record."""
        self.last_number = max(self.last_number, record.number)
        self.tasks[record.id] = self.numbered[record.number] = record
        self.members.setdefault(record.dag_id, []).append(record)
        if record.parent_id is not None:
            self.children.setdefault(record.parent_id, []).append(record)
        self.lane_ids.setdefault(record.lane, len(self.lane_ids) + 1)
        if record.dag_id in self.dags:
            self.dags[record.dag_id].tally[record.status, record.requested] += 1
            self.stirred[record.dag_id] = None
        self.file(record)

    def join(self, parent: Record, child: Record, kind: str) -> Edge:
        """Let `child` wait for `parent`. An edge that is satisfied already is born resolved."""
        satisfied = parent.status is Status.COMPLETED if kind == "after" else parent.final
        edge = Edge(parent.id, child.id, kind, resolved=satisfied)
        self.edges_into.setdefault(child.id, []).append(edge)
        self.edges_out_of.setdefault(parent.id, []).append(edge)
        if not satisfied:
            child.open_edges += 1
        if kind not in ("child", "judge") and parent.id not in child.depends_on:
            child.depends_on = (*child.depends_on, parent.id)
        return edge

    def move(self, record: Record, status: Status, *, requested: bool = False) -> None:
        """Change a task's status; its dag counts it anew. `requested`: cancelled because someone asked."""
        dag = self.dags.get(record.dag_id)
        if dag is not None:
            dag.tally[record.status, record.requested] -= 1
            dag.tally[status, requested] += 1
            self.stirred[dag.id] = None
        record.status = status
        record.requested = requested

    def file(self, record: Record) -> None:
        """A task changed: sort it into the indexes it belongs to now, and out of the others."""
        record.updated_at = self.now
        self.changed = True
        if (record.spec.locks or record.parked_on is not None) and record.status is not Status.READY:
            self._leave_locks(record)
        self._index(record)

    def _index(self, record: Record) -> None:
        number, status = record.number, record.status
        self.passed_over.put(number, record.parked_since)
        self._put_into_lane(record)
        self.steps.put(number, record.step_at if status is Status.READY else None)
        if status is Status.SCHEDULED:
            self.due.put(number, record.run_after)
        else:
            self.due.put(number, record.retry_at if status is Status.RETRYING else None)
        self.leases.put(number, time_over_at(record) if record.held else None)
        self.stopping.put(number, record.lease_expires_at if record.unwritten else None)
        self.deadlines.put(number, None if record.final or record.overdue else record.deadline)
        if record.spec.coalesce_key is not None:
            self._put_into_group(record, record.spec.coalesce_key)
        if record.spec.key is not None:
            name = (record.spec.project, record.spec.key)
            if status not in ENDED_BADLY:
                self.keys[name] = record.id
            elif self.keys.get(name) == record.id:
                del self.keys[name]

    def _put_into_lane(self, record: Record) -> None:
        if record.status is Status.READY and record.parked_on is None:
            self.lanes.setdefault(record.lane, Order()).put(record.number, record.rank)
        elif record.lane in self.lanes:
            lane = self.lanes[record.lane]
            lane.put(record.number, None)
            if not lane:
                del self.lanes[record.lane]

    def leave_lane(self, record: Record) -> None:
        """It is about to move to another lane; the caller files it there."""
        if (lane := self.lanes.get(record.lane)) is not None:
            lane.put(record.number, None)
            if not lane:
                del self.lanes[record.lane]
        key = record.spec.coalesce_key
        if key is not None and (group := self.groups.get((record.lane, key))) is not None:
            group.pop(record.number, None)
            if not group:
                del self.groups[record.lane, key]

    def _put_into_group(self, record: Record, key: str) -> None:
        if record.status in (Status.READY, Status.SCHEDULED):
            self.groups.setdefault((record.lane, key), {})[record.number] = None
        elif (group := self.groups.get((record.lane, key))) is not None:
            group.pop(record.number, None)
            if not group:
                del self.groups[record.lane, key]

    def lock(self, project: str, name: str) -> LockRecord:
        """The lock of this name, made if it is not known."""
        return self.locks.setdefault((project, name), LockRecord())

    def parked_at(self, project: str, name: str) -> dict[int, None]:
        """Who is parked on this lock or budget."""
        if name.startswith(PREFIX):
            return self.budgets[project, name].parked
        return self.lock(project, name).parked

    def _leave_locks(self, record: Record) -> None:
        """It is no longer ready: it is not parked, and reserves nothing. Unless it was claimed, others may go ahead."""
        project = record.spec.project
        record.parked_since = None
        if record.parked_on is not None:
            del self.parked_at(project, record.parked_on)[record.number]
            record.parked_on = None
        for name in record.spec.locks:
            lock = self.locks.get((project, name))
            if lock is not None and lock.reserved_for == record.number:
                lock.reserved_for = None
                self.freed[project, name] = None
            elif not record.held:
                self.freed[project, name] = None

    def emit(
        self,
        type: str,
        record: Record | None = None,
        *,
        dag_id: str | None = None,
        agent: str | None = None,
        reason: str | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        """Write down what happened, to be committed with it."""
        self.last_seq += 1
        self.changed = True
        event = Event(
            seq=self.last_seq,
            type=type,
            at=from_micros(self.now),
            task_id=record.id if record else None,
            dag_id=record.dag_id if record else dag_id,
            agent=agent,
            reason=reason,
        )
        self.events.append((event, msgspec.json.encode(data) if data else None))

    def forget(self, record: Record) -> None:
        """Drop a final task with its edges; a dag's row goes with its last task."""
        del self.tasks[record.id], self.numbered[record.number]
        for inquiry in record.inquiries:
            del self.inquiries[inquiry.id]
        self.stopping.put(record.number, None)
        self.marked.pop(record.id, None)
        if record.spec.key is not None:
            name = (record.spec.project, record.spec.key)
            if self.keys.get(name) == record.id:
                del self.keys[name]
        for edge in self.edges_into.pop(record.id, ()):
            _drop(self.edges_out_of, edge.parent, edge)
        for edge in self.edges_out_of.pop(record.id, ()):
            _drop(self.edges_into, edge.child, edge)
            self.tasks[edge.child].open_edges -= not edge.resolved
        _drop(self.members, record.dag_id, record)
        if record.parent_id is not None:
            _drop(self.children, record.parent_id, record)
        if record.dag_id not in self.members:
            self._forget_dag(record)
        self.changed = True

    def _forget_dag(self, record: Record) -> None:
        """The last task of a dag is gone."""
        dag = self.dags.pop(record.dag_id, None)
        if dag is not None and dag.key is not None and self.dag_keys.get((dag.project, dag.key)) == dag.id:
            del self.dag_keys[dag.project, dag.key]
        for unit in PARTS:
            self.budgets.pop((record.spec.project, parked_on(f"dag:{record.dag_id}", unit)), None)
        self.ladders.pop((record.spec.project, f"dag:{record.dag_id}"), None)
        self.grown.pop(record.dag_id, None)
        self.closing.pop(record.dag_id, None)


def _drop(index: MutableMapping[str, list[Any]], key: str, item: object) -> None:
    """Remove an item from a list in a dict, and the list with its last item."""
    items = index.get(key)
    if items is not None and item in items:
        items.remove(item)
        if not items:
            del index[key]
