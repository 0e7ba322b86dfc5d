"""Whether the keys of a namespace agree with each other: every task is where it is looked for, and nowhere else.

What the steps of the ledger presuppose is looked at here, key by key. A sentence for each thing that is wrong.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.ids import alone_in, dag_of
from dibs.model.status import ENDED_BADLY, Status
from dibs.stores.redis import boxes, layout, short, stream
from dibs.stores.redis.tables import as_dict
from dibs.stores.redis.tasks import cost_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dibs.stores.ledger.records import Record
    from dibs.stores.redis.working import Working

SHOWN = 20
"""How many sentences of a kind are told."""
_PORTION = 500
_NOTHING_S = 1e-6


def wrong(state: Working) -> list[str]:
    """What is wrong with the keys; empty if they are sound."""
    look = Look(state)
    rules: tuple[Callable[[], Iterable[str]], ...] = (
        look.unknown_keys,
        look.unreadable,
        look.numbers,
        look.places,
        look.counts,
        look.costs,
        look.edges,
        look.ties,
        look.families,
        look.dags,
        look.names,
        look.questions,
        look.gates,
        look.documents,
        look.writes,
        look.events,
    )
    found = []
    for rule in rules:
        said = sorted(rule())
        found += said[:SHOWN]
        if len(said) > SHOWN:
            found.append(f"… and {len(said) - SHOWN} more of that kind.")
    return found


class Look:
    """All keys of a namespace, and the tasks that could be read."""

    def __init__(self, state: Working) -> None:
        self._state = state
        self._keys = state.where
        self._reader = state.reader
        self._there = self._scan()
        self._unreadable: list[str] = []
        self._tasks: dict[str, Record] = {}
        self._short: set[str] = set()
        ids = self._named("t")
        for task_id, fields in zip(ids, self._each("HGETALL", [self._keys.task(each) for each in ids]), strict=True):
            try:
                if b"new" in (told := as_dict(fields)):
                    self._short.add(task_id)
                full = short.in_full(told)
                self._tasks[task_id] = layout.task_record(full, state.lane_ids.lane)
            except (KeyError, TypeError, ValueError) as error:
                self._unreadable.append(f"Task {task_id} cannot be read: {type(error).__name__} {error}.")

    def _scan(self) -> set[str]:
        found: set[str] = set()
        cursor: Any = 0
        while True:
            cursor, keys = self._reader.ask("SCAN", cursor, "MATCH", self._keys.prefix + "*", "COUNT", 1000)
            found.update(key.decode(errors="surrogateescape") for key in keys)
            if int(cursor) == 0:
                return found

    def _named(self, family: str) -> list[str]:
        """What the keys of a family are of."""
        start = f"{self._keys.prefix}{family}:"
        return sorted(key.removeprefix(start) for key in self._there if key.startswith(start))

    def _each(self, command: str, keys: list[str], *more: str | int) -> Iterator[Any]:
        for start in range(0, len(keys), _PORTION):
            yield from self._reader.ask_all([(command, key, *more) for key in keys[start : start + _PORTION]])

    def _hashes(self, family: str) -> dict[str, dict[str, bytes]]:
        """The hashes of a family."""
        names = self._named(family)
        answers = self._each("HGETALL", [f"{self._keys.prefix}{family}:{name}" for name in names])
        return {
            name: {field.decode(): value for field, value in as_dict(answer).items()}
            for name, answer in zip(names, answers, strict=True)
        }

    def _sets(self, family: str) -> dict[str, dict[bytes, float]]:
        """The sorted sets of a family."""
        names = self._named(family)
        answers = self._each("ZRANGE", [f"{self._keys.prefix}{family}:{name}" for name in names], 0, -1, "WITHSCORES")
        return {name: _scores(answer) for name, answer in zip(names, answers, strict=True)}

    # The rules

    def unknown_keys(self) -> Iterator[str]:
        for key in self._there:
            if not self._keys.knows(key):
                yield f"Key {key} is none of dibs."

    def unreadable(self) -> Iterable[str]:
        return self._unreadable

    def numbers(self) -> Iterator[str]:
        numbered = _scores(self._reader.ask("ZRANGE", self._keys.all, 0, -1, "WITHSCORES"))
        ids = {task_id.decode(): int(number) for task_id, number in numbered.items()}
        for task_id in ids.keys() - set(self._named("t")):
            yield f"Task {task_id} has the number {ids[task_id]}, but does not exist."
        for task_id, record in self._tasks.items():
            if ids.get(task_id) != record.number:
                yield f"Task {task_id} has the number {record.number}, but is found under {ids.get(task_id)}."
            if record.number > self._state.last_number:
                yield f"Task {task_id} has the number {record.number}, which was not given to anybody yet."

    def places(self) -> Iterator[str]:
        right: dict[str, dict[bytes, float]] = {}
        for record in self._tasks.values():
            lane = self._state.lane_ids[record.lane]
            for name, score in layout.places(record, lane).items():
                right.setdefault(name, {})[layout.member(record, lane)] = score
        found = self._sets("o")
        for name in sorted(right.keys() | found.keys()):
            here, there = right.get(name, {}), found.get(name, {})
            for member in here.keys() - there.keys():
                yield f"Task {layout.number_and_id(member)[1]} does not stand in {name}."
            for member in there.keys() - here.keys():
                yield f"{_shown(member)} stands in {name}, but does not belong there."
            for member in here.keys() & there.keys():
                if here[member] != there[member]:
                    task_id = layout.number_and_id(member)[1]
                    yield f"Task {task_id} stands in {name} at {there[member]!r}, not at {float(here[member])!r}."

    def counts(self) -> Iterator[str]:
        right = Counter(
            (each.spec.project, each.spec.type, each.status.value)
            for each in self._tasks.values()
            if each.status is not Status.READY
        )
        told: Counter[tuple[str, str, str]] = Counter()
        for field, count in as_dict(self._reader.ask("HGETALL", self._keys.counts)).items():
            told[msgspec.json.decode(field, type=tuple[str, str, str])] = int(count)
        for name in right.keys() | told.keys():
            if right[name] != told[name]:
                project, type, status = name
                yield f"{told[name]} tasks of type {type} of {project} are counted as {status}; it is {right[name]}."

    def costs(self) -> Iterator[str]:
        told = as_dict(self._reader.ask("HGETALL", self._keys.costs))
        known: Counter[str] = Counter()
        sums: dict[str, float] = {}
        for record in self._tasks.values():
            if record.cost_usd is not None:
                known[record.spec.project] += 1
                sums[record.spec.project] = sums.get(record.spec.project, 0.0) + record.cost_usd
        projects = {msgspec.json.decode(name, type=tuple[str, str])[0] for name in told}
        for project in projects | sums.keys():
            sum_field, known_field = cost_fields(project)
            cost, count = float(told.get(sum_field, 0)), int(told.get(known_field, 0))
            if count != known[project] or abs(cost - sums.get(project, 0.0)) > _NOTHING_S * max(1.0, abs(cost)):
                right = f"{sums.get(project, 0.0):g} of {known[project]}"
                yield f"The costs of {project} are added up to {cost:g} of {count} tasks; it is {right}."

    def edges(self) -> Iterator[str]:
        into: dict[tuple[str, str, str], bytes] = {}
        for child, field, value in _entries(self._hashes("in")):
            kind, _, parent = field.partition(":")
            into[kind, parent, child] = value
        out: dict[tuple[str, str, str], bytes] = {}
        for parent, field, value in _entries(self._hashes("out")):
            kind, _, child = field.partition(":")
            out[kind, parent, child] = value
        for name in into.keys() | out.keys():
            kind, parent, child = name
            if into.get(name) != out.get(name):
                yield f"The edge {kind} from {parent} to {child} is not kept alike at both ends."
            for task_id in (parent, child):
                if task_id not in self._tasks:
                    yield f"The edge {kind} from {parent} to {child} joins {task_id}, which does not exist."

    def ties(self) -> Iterator[str]:
        tied = {*self._named("in"), *self._named("out")}
        tied |= {task_id for dag_id in self._named("d") for task_id in alone_in(dag_id)}
        for task_id in tied & self._short:
            yield f"Task {task_id} is kept in short, and something hangs on it that quick scripts would not see."

    def families(self) -> Iterator[str]:
        members: dict[str, set[str]] = {}
        children: dict[str, set[str]] = {}
        for task_id, record in self._tasks.items():
            if record.dag_id != dag_of(task_id):
                members.setdefault(record.dag_id, set()).add(task_id)
            if record.parent_id is not None:
                children.setdefault(record.parent_id, set()).add(task_id)
        for family, right, what in (("m", members, "tasks of dag"), ("ch", children, "children of task")):
            found = {name: {each.decode() for each in entries} for name, entries in self._sets(family).items()}
            for name in right.keys() | found.keys():
                for task_id in right.get(name, set()) - found.get(name, set()):
                    yield f"Task {task_id} is missing among the {what} {name}."
                for task_id in found.get(name, set()) - right.get(name, set()):
                    yield f"Task {task_id} is named among the {what} {name}, but is none."

    def dags(self) -> Iterator[str]:
        tallies: dict[str, Counter[Any]] = {}
        for record in self._tasks.values():
            tallies.setdefault(record.dag_id, Counter())[record.status, record.requested] += 1
        listed = {dag_id.decode() for dag_id in self._reader.ask("ZRANGE", self._keys.dags, 0, -1)}
        for dag_id in listed ^ set(self._named("d")):
            yield f"Dag {dag_id} {'is listed, but does not exist' if dag_id in listed else 'is not listed'}."
        for dag_id, fields in self._hashes("d").items():
            told = boxes.dag_record({name.encode(): value for name, value in fields.items()}).tally
            right = tallies.get(dag_id, Counter())
            for status, requested in told.keys() | right.keys():
                if told[status, requested] != right[status, requested]:
                    counted, is_so = told[status, requested], right[status, requested]
                    yield f"Dag {dag_id} counts {counted} tasks that are {status}; it is {is_so}."

    def names(self) -> Iterator[str]:
        found = as_dict(self._reader.ask("HGETALL", self._keys.keys))
        given = {
            msgspec.json.decode(name, type=tuple[str, str]): msgspec.json.decode(task_id, type=str)
            for name, task_id in found.items()
        }
        for (project, key), task_id in given.items():
            record = self._tasks.get(task_id)
            if record is None or (record.spec.project, record.spec.key) != (project, key):
                yield f"Key {key} of {project} belongs to task {task_id}, which does not have it."
        for record in self._tasks.values():
            own = record.spec.key
            if (
                own is not None
                and record.status not in ENDED_BADLY
                and given.get((record.spec.project, own)) != record.id
            ):
                yield f"Task {record.id} is not found by its key {own}."
        dags = set(self._named("d"))
        for name, dag_id in as_dict(self._reader.ask("HGETALL", self._keys.dag_keys)).items():
            if msgspec.json.decode(dag_id) not in dags:
                yield f"Key {name.decode()} belongs to dag {dag_id.decode()}, which does not exist."

    def questions(self) -> Iterator[str]:
        found = as_dict(self._reader.ask("HGETALL", self._keys.questions))
        askers = {msgspec.json.decode(name): msgspec.json.decode(task_id) for name, task_id in found.items()}
        asked = {inquiry.id: record.id for record in self._tasks.values() for inquiry in record.inquiries}
        for question in askers.keys() | asked.keys():
            if askers.get(question) != asked.get(question):
                told, right = askers.get(question), asked.get(question)
                yield f"Question {question} is said to be of task {told}; it is of {right}."

    def gates(self) -> Iterator[str]:
        for family, names, what in (("lock", self._keys.locks, "Lock"), ("budget", self._keys.budgets, "Budget")):
            there = set(self._named(family))
            named = {name.decode() for name in self._reader.ask("SMEMBERS", names)}
            for name in there ^ named:
                yield f"{what} {name} is {'not listed' if name in there else 'listed, but not there'}."

    def documents(self) -> Iterator[str]:
        listed = {place.decode() for place in self._reader.ask("SMEMBERS", self._keys.documents)}
        there = self._hashes("docs")
        for place in listed ^ there.keys():
            yield f"The documents {place} are {'not listed' if place in there else 'listed, but not there'}."
        names = {place: {each.decode() for each in entries} for place, entries in self._sets("names").items()}
        for place in there.keys() | names.keys():
            for name in names.get(place, set()) ^ there.get(place, {}).keys():
                missing = "not listed" if name in there.get(place, {}) else "listed, but not there"
                yield f"Document {name} of {place} is {missing}."

    def writes(self) -> Iterator[str]:
        claims = set(as_dict(self._reader.ask("HGETALL", self._keys.claims)))
        for name in claims ^ set(self._reader.ask("ZRANGE", self._keys.claimed, 0, -1)):
            yield f"Claim id {name.decode()} is {'not listed' if name in claims else 'listed, but not there'}."
        for name in set(self._reader.ask("HKEYS", self._keys.taken)) - set(
            self._reader.ask("ZRANGE", self._keys.done, 0, -1)
        ):
            yield f"Write {name.decode()} took something, but is not known."

    def events(self) -> Iterator[str]:
        last: int | None = None
        start = "-"
        while entries := self._reader.ask("XRANGE", self._keys.events, start, "+", "COUNT", 1000):
            for entry in entries:
                first = stream.first_of(entry)
                if last is not None and first != last + 1:
                    yield f"Event {first} does not follow on event {last}."
                last = int(entry[0].partition(b"-")[0])
            start = f"({entries[-1][0].decode()}"
        if last is not None and last != self._state.last_seq:
            yield f"The last event is {last}, but {self._state.last_seq} were told."


def _scores(answer: list[bytes]) -> dict[bytes, float]:
    return {member: float(score) for member, score in zip(answer[::2], answer[1::2], strict=True)}


def _entries(hashes: dict[str, dict[str, bytes]]) -> Iterator[tuple[str, str, bytes]]:
    return ((name, field, value) for name, fields in hashes.items() for field, value in fields.items())


def _shown(member: bytes) -> str:
    """Whoever stands in an order."""
    try:
        return f"Task {layout.number_and_id(member)[1]}"
    except ValueError:
        return f"Something ({member.decode(errors='replace')})"
