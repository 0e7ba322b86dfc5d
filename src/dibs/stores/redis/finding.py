"""Where tasks and dags are found: in orders, by numbers, in rows of those that somebody goes through.

Whoever looks at one of a row will look at the next: they are brought in together, a portion at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dibs.rules import questions
from dibs.stores.ledger.state import State
from dibs.stores.redis import layout, short
from dibs.stores.redis.orders import SortedSet
from dibs.stores.redis.tables import as_dict
from dibs.stores.redis.tasks import AHEAD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dibs.model.status import Status
    from dibs.stores.ledger.records import BudgetRecord, DagRecord, Inquiry, Record
    from dibs.stores.redis.documents import Documents
    from dibs.stores.redis.families import Members
    from dibs.stores.redis.keys import Keys
    from dibs.stores.redis.lanes import Lanes
    from dibs.stores.redis.reading import Reader
    from dibs.stores.redis.tables import Table
    from dibs.stores.redis.tasks import Numbered, Tasks
    from dibs.stores.values import Document, LaneKey

Name = tuple[str, str]


class Finding(State):
    """The looks of a step at more than one task."""

    tasks: Tasks
    members: Members
    numbered: Numbered
    lane_ids: Lanes
    documents: Documents
    dags: Table[str, DagRecord]
    budgets: Table[Name, BudgetRecord]

    def __init__(self, reader: Reader, keys: Keys, clock: Callable[[], int]) -> None:
        super().__init__(clock)
        self.reader = reader
        self.where = keys
        self._ids: dict[int, str] = {}
        self._lanes_met: dict[int, int] = {}
        self._rows: dict[str, list[str]] = {}
        self._orders: dict[str, SortedSet] = {}

    def will_read(self, *, tasks: Iterable[str] = (), lanes: Iterable[LaneKey] = ()) -> None:
        self.reader.ask_all([self.lane_order(lane).first_portion() for lane in lanes])
        self.tasks.expect(list(tasks))

    def order(self, name: str) -> SortedSet:
        if name not in self._orders:
            self._orders[name] = SortedSet(self.reader, self.where.order(name), self._met)
        return self._orders[name]

    def lane_order(self, lane: LaneKey) -> SortedSet:
        return self.order(f"lane:{self.lane_ids[lane]}")

    def _met(self, members: list[bytes]) -> list[int]:
        """The numbers of tasks that stand in an order."""
        found = [layout.number_and_id(member) for member in members]
        self._lanes_met.update(
            (number, layout.lane_of(member)) for (number, _), member in zip(found, members, strict=True)
        )
        self.met(found)
        return [number for number, _ in found]

    def met(self, found: list[tuple[int, str]]) -> None:
        """These tasks were seen, in this order."""
        self._ids.update(found)
        self.stand_in_a_row([task_id for _, task_id in found])

    def stand_in_a_row(self, ids: list[str]) -> None:
        """Whoever looks at one of these will look at the next."""
        for start in range(0, len(ids), AHEAD):
            row = ids[start : start + AHEAD]
            for task_id in row:
                self._rows.setdefault(task_id, row)

    def row_of(self, task_id: str) -> list[str]:
        """A task, and those that are looked at after it."""
        row = self._rows.get(task_id, [task_id])
        return row[row.index(task_id) :]

    def id_of(self, number: int) -> str | None:
        if number not in self._ids:
            found = self.reader.ask("ZRANGEBYSCORE", self.where.all, number, number)
            if not found:
                return None
            self._ids[number] = found[0].decode()
        return self._ids[number]

    def _in_order(self, name: str) -> list[Record]:
        return [self.numbered[number] for number in self.order(name).numbers()]

    def newest_first(self, before: float) -> Iterator[Record]:
        top = "+inf" if before == float("inf") else f"({before:.0f}"
        while True:
            found = self.reader.ask("ZREVRANGEBYSCORE", self.where.all, top, "-inf", "WITHSCORES", "LIMIT", 0, AHEAD)
            rows = [(int(number), task_id.decode()) for task_id, number in zip(found[::2], found[1::2], strict=True)]
            self.met(rows)
            for _, task_id in rows:
                yield self.tasks[task_id]
            if len(rows) < AHEAD:
                return
            top = f"({rows[-1][0]}"

    def occupied(self) -> list[Record]:
        return self._in_order("leases") + self._in_order("stopping")

    def held_in(self, project: str) -> dict[str, list[str]]:
        numbers = sorted(self.order("leases").numbers())
        ids = [self._ids[number] for number in numbers]
        rows = self.reader.ask_all([("HMGET", self.where.task(task_id), *short.HOLDING) for task_id in ids])
        held: dict[str, list[str]] = {}
        for task_id, row in zip(ids, rows, strict=True):
            record = self.tasks.seen(task_id)
            home, agent = short.holding(row) if record is None else (record.spec.project, record.agent)
            if home == project and agent is not None:
                held.setdefault(agent, []).append(task_id)
        return held

    def caused_by(self, task_id: str) -> list[Record]:
        return self._in_order(f"cause:{task_id}")

    def in_status(self, status: Status) -> list[Record]:
        return self._in_order(status.value)

    def open_inquiries(self) -> list[Inquiry]:
        return [
            inquiry
            for record in self._in_order("asking")
            for inquiry in record.inquiries
            if inquiry.status == questions.OPEN
        ]

    def windowed(self) -> list[tuple[Name, BudgetRecord]]:
        stored = as_dict(self.reader.ask("HGETALL", self.where.windows))
        names = {msgspec.json.decode(name, type=Name) for name in stored} | set(self.budgets.seen())
        found = [(name, self.budgets.get(name)) for name in sorted(names)]
        return [(name, budget) for name, budget in found if budget is not None and budget.ends_at is not None]

    def documents_of(self, project: str, kind: str, after: str, limit: int) -> list[Document]:
        return self.documents.of(project, kind, after, limit)

    def old_dags(self, before: int) -> Iterator[list[Record]]:
        seen: set[str] = set()
        for number in self.order("ended").until(before - 1):
            record = self.numbered.get(number)
            if record is not None and record.dag_id not in seen:
                seen.add(record.dag_id)
                yield list(self.members.get(record.dag_id, ()))

    def newest_dags(self, before: str | None) -> Iterator[DagRecord]:
        top = "+" if before is None else f"({before}"
        while True:
            found = self.reader.ask("ZREVRANGEBYLEX", self.where.dags, top, "-", "LIMIT", 0, AHEAD)
            ids = [dag_id.decode() for dag_id in found]
            self.dags.expect(ids)
            yield from (self.dags[dag_id] for dag_id in ids)
            if len(ids) < AHEAD:
                return
            top = f"({ids[-1]}"

    def ended_since(self, at: int) -> list[Record]:
        numbers = self._met(self.reader.ask("ZRANGEBYSCORE", self.order("ended").key, at, "+inf"))
        return [self.numbered[number] for number in numbers]

    def by_number(self, after: int, limit: int, *, live: bool) -> list[Record]:
        found: list[Record] = []
        while len(found) < limit:
            wanted = AHEAD if live else limit
            rows = self.reader.ask(
                "ZRANGEBYSCORE", self.where.all, f"({after}", "+inf", "WITHSCORES", "LIMIT", 0, wanted
            )
            seen = [(int(number), task_id.decode()) for task_id, number in zip(rows[::2], rows[1::2], strict=True)]
            self.met(seen)
            records = [self.tasks[task_id] for _, task_id in seen]
            found += [record for record in records if not live or self._lives(record)]
            if len(seen) < wanted:
                break
            after = seen[-1][0]
        return found[:limit]
