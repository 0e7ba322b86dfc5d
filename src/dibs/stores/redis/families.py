"""Tasks that belong together: those of a dag, and those that one task spawned."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from dibs.model.ids import alone_in, dag_of
from dibs.stores.ledger.records import Record
from dibs.stores.redis.derived import Derived

if TYPE_CHECKING:
    from dibs.stores.redis.reading import Command
    from dibs.stores.redis.working import Working


class _Families(Derived[str, list[Record]]):
    """Tasks that belong together, in insertion order: a sorted set each."""

    def __init__(self, state: Working) -> None:
        self._state = state
        self._known: dict[str, list[Record]] = {}
        self._added: list[Command] = []

    @abstractmethod
    def _key(self, name: str) -> str:
        """Where the family of this name is kept."""

    @abstractmethod
    def _name(self, record: Record) -> str:
        """The name of a task's family."""

    def _load(self, name: str) -> list[Record]:
        if name not in self._known:
            found = self._state.reader.ask("ZRANGE", self._key(name), 0, -1)
            ids = [task_id.decode() for task_id in found]
            self._state.will_read(tasks=ids)
            self._known[name] = [self._state.tasks[task_id] for task_id in ids]
        return self._known[name]

    def __getitem__(self, name: str) -> list[Record]:
        found = self._load(name)
        if not found:
            raise KeyError(name)
        return found

    def add(self, record: Record) -> None:
        name = self._name(record)
        self._load(name).append(record)
        self._added.append(("ZADD", self._key(name), record.number, record.id))

    def drop(self, record: Record) -> None:
        name = self._name(record)
        family = self._load(name)
        if record in family:
            family.remove(record)
        self._added.append(("ZREM", self._key(name), record.id))

    def changes(self) -> list[Command]:
        return self._added


class Children(_Families):
    """What a task spawned."""

    def _key(self, name: str) -> str:
        return self._state.where.children(name)

    def _name(self, record: Record) -> str:
        assert record.parent_id is not None
        return record.parent_id


class Members(_Families):
    """The tasks of a dag. The one that a dag is named after needs no entry."""

    def _key(self, name: str) -> str:
        return self._state.where.members(name)

    def _name(self, record: Record) -> str:
        return record.dag_id

    def _load(self, name: str) -> list[Record]:
        if name not in self._known:
            family = super()._load(name)
            alone = [self._state.tasks.get(task_id) for task_id in alone_in(name)]
            family += [
                record for record in alone if record is not None and record.dag_id == name and record not in family
            ]
            family.sort(key=lambda record: record.number)
        return self._known[name]

    def add(self, record: Record) -> None:
        if record.dag_id != dag_of(record.id):
            super().add(record)
        elif record.dag_id in self._known:
            self._known[record.dag_id].append(record)
