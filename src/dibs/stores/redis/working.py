"""The state that a step works on: what it asks for is brought in from Redis, what it changes is written back at once.

`layout` says how things are kept, `keys` where; `finding` how tasks are found, `counting` how many there are, `outbox`
what was told. Here is what a step changes: at the end `changes` has every command that makes Redis what this
state has become; `commit.lua` runs them if nothing else was committed meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from dibs.model.escalation import Rung
from dibs.model.ids import alone_in
from dibs.model.status import ENDED_BADLY
from dibs.rules.breaker import Override
from dibs.rules.breaker import Record as Breaker
from dibs.rules.closing import Pause
from dibs.rules.providers import Backoff
from dibs.rules.rates import Rate
from dibs.stores.redis import boxes, counting, layout
from dibs.stores.redis.agents import Agents
from dibs.stores.redis.claims import Claims
from dibs.stores.redis.documents import Documents
from dibs.stores.redis.edges import EdgeLists, Edges, drop
from dibs.stores.redis.families import Children, Members
from dibs.stores.redis.finding import Finding, Name
from dibs.stores.redis.lanes import Groups, Lanes, Ranks
from dibs.stores.redis.outbox import Outbox
from dibs.stores.redis.tables import Marks, Shelf, Table, as_dict, differences
from dibs.stores.redis.tasks import Inquiries, Numbered, Tasks
from dibs.stores.standing import Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dibs.model.event import Event
    from dibs.stores.ledger.records import BudgetRecord, Census, DagRecord, Edge, LockRecord, Record
    from dibs.stores.redis.keys import Keys
    from dibs.stores.redis.reading import Command, Reader

KNOWN_US = 60_000_000
"""For how long a write is known, as scripts forget it."""
FEW = 100
"""So many forgotten writes are not worth one more."""


class _Kept(Protocol):
    """A part of the state that knows what to write."""

    def changes(self) -> Iterable[Command]: ...


P = TypeVar("P", bound=_Kept)


class Working(Finding):
    """Everything a namespace knows, as far as one step looks at it. `moves`: it is to change something."""

    def __init__(self, reader: Reader, keys: Keys, now: int, *, moves: bool = False) -> None:
        super().__init__(reader, keys, lambda: now)
        self.moves = moves
        self._meta = as_dict(reader.ask("HGETALL", keys.meta))
        self._meta_before = dict(self._meta)
        self.last_number = self._counter(b"number")
        self.last_seq = self._counter(b"seq")
        self.last_put = self._counter(b"put")
        self._last_edge = self._counter(b"edge")
        self._floor = self._counter(b"floor")
        kept = self._meta.get(b"standing")
        self.standing = Standing() if kept is None else msgspec.json.decode(kept, type=Standing)
        self._stood = self.standing
        self._outbox = Outbox(reader, keys.events)
        self._outdated: list[bytes] = []

        self._filed: dict[int, dict[str, float]] = {}
        self.due, self.leases = self.order("due"), self.order("leases")
        self.stopping, self.deadlines = self.order("stopping"), self.order("deadlines")
        self.steps, self.passed_over = self.order("steps"), self.order("passed")

        self._kept: list[_Kept] = []
        self.lane_ids: Lanes = self._keep(Lanes(reader, keys.lanes))
        self.tasks: Tasks = self._keep(Tasks(self))
        self.members: Members = self._keep(Members(self))
        self.children: Children = self._keep(Children(self))
        self.claims: Claims = self._keep(Claims(reader, keys))
        self._edges = self._keep(Edges(self))
        self.edges_into, self.edges_out_of = EdgeLists(self._edges.into), EdgeLists(self._edges.out_of)
        self.numbered, self.lanes, self.groups, self.inquiries = (
            Numbered(self),
            Ranks(self),  # type: ignore[assignment]
            Groups(self),
            Inquiries(self),
        )

        self.dags: Table[str, DagRecord] = self._keep(Table(reader, keys.dag, boxes.dag_fields, boxes.dag_record))
        self.locks: Table[Name, LockRecord] = self._keep(
            Table(reader, _of(keys.lock), boxes.lock_fields, boxes.lock_record, keys.locks)
        )
        self.budgets: Table[Name, BudgetRecord] = self._keep(
            Table(reader, _of(keys.budget), boxes.budget_fields, boxes.budget_record, keys.budgets)
        )

        self.keys = self._keep(Shelf(reader, keys.keys, Name, str))
        self.dag_keys = self._keep(Shelf(reader, keys.dag_keys, Name, str))
        self.askers: Shelf[str, str] = self._keep(Shelf(reader, keys.questions, str, str))
        self.pauses: Shelf[Name, Pause] = self._keep(Shelf(reader, keys.pauses, Name, Pause, whole=True))
        self.breakers: Shelf[Name, Breaker] = self._keep(Shelf(reader, keys.breakers, Name, Breaker, whole=True))
        self.overrides = self._keep(Shelf(reader, keys.overrides, Name, Override, whole=True))
        self.ladders = self._keep(Shelf(reader, keys.ladders, Name, tuple[Rung, ...], whole=True))
        self.backoffs: Shelf[Name, Backoff] = self._keep(Shelf(reader, keys.backoffs, Name, Backoff, whole=True))
        self.type_slots: Shelf[Name, int] = self._keep(Shelf(reader, keys.type_slots, Name, int, whole=True))
        self.rates: Shelf[Name, tuple[Rate, int]] = self._keep(
            Shelf(reader, keys.rates, Name, tuple[Rate, int], whole=True)
        )
        self.documents: Documents = self._keep(Documents(reader, keys))
        self.duties = self._keep(Shelf(reader, keys.duties, str, int, whole=True))
        self.agents: Agents = self._keep(Agents(reader, keys.agents))
        self.marked = self._keep(Marks(reader, keys.marked, self._next_mark))
        self.closing = self._keep(Marks(reader, keys.closing, self._next_mark))
        self.grown = self._keep(Marks(reader, keys.grown, self._next_mark))

    def _keep(self, part: P) -> P:
        """What changes in it is written."""
        self._kept.append(part)
        return part

    @staticmethod
    def least(keys: Keys) -> list[Command]:
        """What everybody looks at."""
        return [("HGETALL", keys.meta), ("HGETALL", keys.lanes)]

    @staticmethod
    def usual(keys: Keys) -> list[Command]:
        """What nearly every step looks at."""
        whole = (keys.pauses, keys.breakers, keys.overrides, keys.ladders, keys.backoffs, keys.type_slots, keys.rates)
        wanted: list[Command] = [("HGETALL", key) for key in (keys.meta, keys.lanes, keys.windows, *whole)]
        return [*wanted, ("SCARD", keys.budgets)]

    @staticmethod
    def around(keys: Keys, tasks: Iterable[str]) -> list[Command]:
        """What somebody who begins with these tasks looks at."""
        return [("HGETALL", key(task)) for task in tasks for key in (keys.task, keys.edges_into, keys.edges_out_of)]

    def _counter(self, name: bytes) -> int:
        return int(self._meta.get(name, 0))

    def _next_mark(self) -> int:
        mark = self._counter(b"mark") + 1
        self._meta[b"mark"] = b"%d" % mark
        return mark

    # What happened, and how much there is

    def forget_before(self, before: int) -> None:
        if self._outbox.forget_before(before, self.last_seq):
            self.changed = True
        self.claims.forget_before(before)
        outdated = self.reader.ask("ZRANGEBYSCORE", self.where.done, "-inf", self.now - KNOWN_US)
        if self.changed or len(outdated) > FEW:
            # Writes forget those before them; the last ones before a long silence are left over.
            self._outdated = outdated
        for name in [name for name, agent in self.agents.items() if agent.heard_at < before]:
            del self.agents[name]
            self.changed = True

    def events_after(self, after: int, limit: int) -> tuple[int, list[Event]]:
        return self._outbox.after(after, limit, self.last_seq)

    def census(self, project: str) -> Census:
        return counting.census(self, project)

    def by_status(self) -> dict[str, int]:
        return counting.by_status(self)

    # Carrying

    def empty_dags(self) -> list[str]:
        # Nothing leads to a dag but its tasks.
        return []

    def tie(self, edge: Edge) -> None:
        super().tie(edge)
        self._edges.number(edge)

    def withdraw(self, record: Record, *, gone: bool) -> None:
        self._withdraw(record)
        for edge in self.edges_into.pop(record.id, []):
            drop(self.edges_out_of, edge.parent, edge)
        for inquiry in record.inquiries:
            self.askers.pop(inquiry.id, None)
        self.members.drop(record)
        if record.parent_id is not None:
            self.children.drop(record)
        if gone:
            for name in self._filed.pop(record.number, {}):
                self.order(name).put(record.number, None)
            self.tasks.drop(record)

    def skip_to(self, seq: int) -> None:
        if seq > self.last_seq:
            self.last_seq = seq
            self._outbox.keep_from(seq + 1)
            self.changed = True

    def tidy(self) -> None:
        """They stand in the order of their numbers always."""

    # Changing one

    def lane_number(self, number: int) -> int:
        lane = self._lanes_met.get(number)
        return super().lane_number(number) if lane is None or number in self._filed else lane

    def next_fence(self, record: Record) -> int:
        return max(record.fence + 1, self._floor)

    def add(self, record: Record) -> None:
        self.last_number = max(self.last_number, record.number)
        self._ids[record.number] = record.id
        self.tasks.add(record)
        self.members.add(record)
        if record.parent_id is not None:
            self.children.add(record)
        self.lane_ids.setdefault(record.lane, len(self.lane_ids) + 1)
        dag = self.dags.get(record.dag_id)
        if dag is not None:
            dag.tally[record.status, record.requested] += 1
            self.stirred[record.dag_id] = None
        self.file(record)

    def join(self, parent: Record, child: Record, kind: str) -> Edge:
        edge = super().join(parent, child, kind)
        self._edges.number(edge)
        return edge

    def leave_lane(self, record: Record) -> None:
        """Where it stands is remembered: `_index` takes it away from there."""

    def _index(self, record: Record) -> None:
        number = record.number
        after = layout.places(record, self.lane_ids[record.lane])
        before = self._filed.get(number, {})
        for name in before.keys() - after.keys():
            self.order(name).put(number, None)
        for name, score in after.items():
            if before.get(name) != score:
                self.order(name).put(number, score)
        self._filed[number] = after
        if record.spec.key is not None:
            name_of_key = (record.spec.project, record.spec.key)
            if record.status not in ENDED_BADLY:
                if self.keys.get(name_of_key) != record.id:
                    self.keys[name_of_key] = record.id
            elif self.keys.get(name_of_key) == record.id:
                del self.keys[name_of_key]

    def loaded(self, record: Record) -> None:
        """A task was brought in."""
        self._ids[record.number] = record.id
        self._filed[record.number] = layout.places(record, self.lane_ids[record.lane])

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
        super().emit(type, record, dag_id=dag_id, agent=agent, reason=reason, data=data)
        self._outbox.tell(self.events.pop())

    def forget(self, record: Record) -> None:
        for edge in self.edges_into.pop(record.id, []):
            drop(self.edges_out_of, edge.parent, edge)
        for edge in self.edges_out_of.pop(record.id, []):
            drop(self.edges_into, edge.child, edge)
            self.tasks[edge.child].open_edges -= not edge.resolved
        for inquiry in record.inquiries:
            self.askers.pop(inquiry.id, None)
        if record.spec.key is not None and self.keys.get((record.spec.project, record.spec.key)) == record.id:
            del self.keys[record.spec.project, record.spec.key]
        self.marked.pop(record.id, None)
        for name in self._filed.pop(record.number, {}):
            self.order(name).put(record.number, None)
        # Whom it belongs to is brought in with it, so it goes last.
        self.members.drop(record)
        if record.parent_id is not None:
            self.children.drop(record)
        self.tasks.drop(record)
        if record.dag_id not in self.members:
            self._forget_dag(record)
        self.changed = True

    # The end

    def changes(self) -> list[Command]:
        """The commands that write what this step did; nothing if it did nothing."""
        owners = {task_id for dag_id in self.dags.made() for task_id in alone_in(dag_id)}
        self.tasks.tie(self._edges.new_ends() | owners)
        found = [change for part in self._kept for change in part.changes()]
        found += self._window_changes()
        for dag_id, is_there in self.dags.moved():
            found.append(("ZADD", self.where.dags, 0, dag_id) if is_there else ("ZREM", self.where.dags, dag_id))
        if self._gates_changed():
            self._meta[b"gates"] = b"%d" % (self._counter(b"gates") + 1)
        found += self._outbox.changes()
        for start in range(0, len(self._outdated), 500):
            found.append(("ZREM", self.where.done, *self._outdated[start : start + 500]))
            found.append(("HDEL", self.where.taken, *self._outdated[start : start + 500]))
        counters = {b"number": self.last_number, b"seq": self.last_seq, b"put": self.last_put, b"edge": self._last_edge}
        self._meta |= {name: b"%d" % value for name, value in counters.items() if value}
        if self.standing != self._stood:
            self._meta[b"standing"] = msgspec.json.encode(self.standing)
        found += differences(self.where.meta, self._meta_before, self._meta)
        return found

    @property
    def gates(self) -> bytes:
        """The version of all that quick scripts are told of lanes and gates."""
        return self._meta.get(b"gates", b"")

    def _gates_changed(self) -> bool:
        gates = (self.lane_ids, self.pauses, self.breakers, self.backoffs, self.type_slots, self.rates, self.agents)
        return any(gate.is_changed() for gate in gates) or self.budgets.is_changed() or self.standing != self._stood

    def _window_changes(self) -> Iterator[Command]:
        stored = as_dict(self.reader.ask("HGETALL", self.where.windows))
        after = dict(stored)
        for name, budget in self.budgets.seen().items():
            field = msgspec.json.encode(name)
            after.pop(field, None)
            if budget is not None and budget.ends_at is not None:
                after[field] = b"%d" % budget.ends_at
        return differences(self.where.windows, stored, after)

    def next_edge(self) -> int:
        """The number of one that is joined now."""
        self._last_edge += 1
        return self._last_edge


def _of(key: Callable[[str], str]) -> Callable[[Name], str]:
    """The key of what has a name in a project."""
    return lambda name: key(msgspec.json.encode(name).decode())
