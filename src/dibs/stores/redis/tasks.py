"""Tasks: brought in a row at a time, written back where they differ, found wherever they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import MutableMapping
from typing import TYPE_CHECKING

import msgspec

from dibs.model.status import Status
from dibs.stores.ledger.records import Inquiry, Record
from dibs.stores.redis import layout, short
from dibs.stores.redis.derived import Derived
from dibs.stores.redis.tables import as_dict, differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.stores.redis.layout import Fields
    from dibs.stores.redis.reading import Command
    from dibs.stores.redis.working import Working

AHEAD = 100
"""How many tasks are brought in with one of a row that somebody goes through."""


class Tasks(Derived[str, Record]):
    """The tasks, brought in a row at a time."""

    def __init__(self, state: Working) -> None:
        self._state = state
        self._reader = state.reader
        self._keys = state.where
        self._before: dict[str, Fields] = {}
        self._now: dict[str, Record] = {}
        self._tied: set[str] = set()

    def tie(self, ids: set[str]) -> None:
        """Something hangs on these from now on, so they are not for quick scripts: they are written in full."""
        self.expect(sorted(ids))
        self._tied = {task_id for task_id in ids if b"new" in self._before[task_id]}

    def expect(self, ids: list[str]) -> None:
        new = [task_id for task_id in dict.fromkeys(ids) if task_id not in self._before]
        keys = self._keys
        # Whoever is shown is shown with what it waits for.
        answers = self._reader.ask_all([("HGETALL", key(each)) for each in new for key in (keys.task, keys.edges_into)])
        for task_id, answer in zip(new, answers[::2], strict=True):
            fields = self._before[task_id] = as_dict(answer)
            if fields:
                record = self._now[task_id] = layout.task_record(short.in_full(fields), self._state.lane_ids.lane)
                self._state.loaded(record)
        if self._state.moves:
            # Whoever moves a task counts it in its dag.
            self._state.dags.expect([self._now[task_id].dag_id for task_id in new if task_id in self._now])

    def _load(self, task_id: str) -> Record | None:
        if task_id not in self._before:
            self.expect(self._state.row_of(task_id))
        return self._now.get(task_id)

    def __getitem__(self, task_id: str) -> Record:
        record = self._load(task_id)
        if record is None:
            raise KeyError(task_id)
        return record

    def seen(self, task_id: str) -> Record | None:
        """A task, if somebody has looked at it."""
        return self._now.get(task_id)

    def add(self, record: Record) -> None:
        self._before.setdefault(record.id, {})
        self._now[record.id] = record

    def drop(self, record: Record) -> None:
        self._load(record.id)
        del self._now[record.id]

    def __iter__(self) -> Iterator[str]:
        start = 0
        while found := self._reader.ask("ZRANGE", self._keys.all, start, start + AHEAD - 1, "WITHSCORES"):
            rows = [(int(number), task_id.decode()) for task_id, number in zip(found[::2], found[1::2], strict=True)]
            self._state.met(rows)
            for _, task_id in rows:
                if self._load(task_id) is not None:
                    yield task_id
            start += AHEAD

    def __len__(self) -> int:
        return int(self._reader.ask("ZCARD", self._keys.all))

    def changes(self) -> Iterator[Command]:
        state, keys = self._state, self._keys
        counts: Counter[tuple[str, str, str]] = Counter()
        costs: dict[str, float] = {}
        known: Counter[str] = Counter()
        for task_id, before in self._before.items():
            record = self._now.get(task_id)
            if record is None and not before:
                continue
            after = {} if record is None else layout.task_fields(record, state.lane_ids[record.lane])
            full = short.in_full(before)
            if record is not None and record.inquiries:
                self._note_questions(full, record)
            if after == full and task_id not in self._tied:
                continue
            was = layout.task_record(full, state.lane_ids.lane) if full else None
            yield from self._moves(was, record)
            for sign, each in ((-1, was), (1, record)):
                if each is not None:
                    if each.status is not Status.READY:
                        counts[each.spec.project, each.spec.type, each.status.value] += sign
                    if each.cost_usd is not None:
                        costs[each.spec.project] = costs.get(each.spec.project, 0.0) + sign * each.cost_usd
                        known[each.spec.project] += sign
            if not after:
                yield ("DEL", keys.task(task_id))
                yield ("ZREM", keys.all, task_id)
                continue
            if record is not None and not before:
                yield ("ZADD", keys.all, record.number, task_id)
            yield from differences(keys.task(task_id), before, after)
        for name, count in counts.items():
            if count:
                yield ("HINCRBY", keys.counts, msgspec.json.encode(name), count)
        for project, cost in costs.items():
            sum_field, known_field = cost_fields(project)
            yield ("HINCRBYFLOAT", keys.costs, sum_field, repr(cost))
            yield ("HINCRBY", keys.costs, known_field, known[project])

    def _moves(self, was: Record | None, record: Record | None) -> Iterator[Command]:
        """From where a task stood to where it stands."""
        lanes, keys = self._state.lane_ids, self._keys
        before = {} if was is None else layout.places(was, lanes[was.lane])
        after = {} if record is None else layout.places(record, lanes[record.lane])
        stood = b"" if was is None else layout.member(was, lanes[was.lane])
        stands = b"" if record is None else layout.member(record, lanes[record.lane])
        for name in before:
            if name not in after or stood != stands:
                yield ("ZREM", keys.order(name), stood)
        for name, score in after.items():
            if before.get(name) != score or stood != stands:
                yield ("ZADD", keys.order(name), repr(score), stands)

    def _note_questions(self, full: Fields, record: Record) -> None:
        """Whose the questions are that are new, or came back with a task that was forgotten and added again."""
        asked = sum(name.startswith(layout.INQUIRIES) for name in full)
        for place, inquiry in enumerate(record.inquiries):
            if place >= asked or self._state.askers.has_dropped(inquiry.id):
                self._state.askers[inquiry.id] = record.id


def cost_fields(project: str) -> tuple[bytes, bytes]:
    """Where the costs of a project are added up, and how many are known."""
    return msgspec.json.encode([project, "usd"]), msgspec.json.encode([project, "known"])


class Numbered(Derived[int, Record]):
    """Tasks by their number."""

    def __init__(self, state: Working) -> None:
        self._state = state

    def __getitem__(self, number: int) -> Record:
        task_id = self._state.id_of(number)
        if task_id is None:
            raise KeyError(number)
        return self._state.tasks[task_id]


class Inquiries(MutableMapping[str, Inquiry]):
    """Questions by their id: each lies with its task."""

    def __init__(self, state: Working) -> None:
        self._state = state
        self._new: dict[str, Inquiry] = {}

    def __getitem__(self, question_id: str) -> Inquiry:
        if question_id in self._new:
            return self._new[question_id]
        record = self._state.tasks[self._state.askers[question_id]]
        return next(inquiry for inquiry in record.inquiries if inquiry.id == question_id)

    def __setitem__(self, question_id: str, inquiry: Inquiry) -> None:
        self._new[question_id] = inquiry

    def __delitem__(self, question_id: str) -> None:
        raise NotImplementedError("a question goes with its task")

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError("nobody looks at all questions")

    def __len__(self) -> int:
        return sum(1 for _ in self)
