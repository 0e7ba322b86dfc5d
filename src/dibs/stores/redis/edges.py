"""Edges by both their ends. Each is one object, from whichever end it was found, and is kept at both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.stores.ledger.records import Edge
from dibs.stores.redis.derived import Derived
from dibs.stores.redis.tables import as_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, MutableMapping

    from dibs.stores.redis.reading import Command
    from dibs.stores.redis.working import Working


class Edges:
    """Edges by both their ends. Each is one object, from whichever end it was found."""

    def __init__(self, state: Working) -> None:
        self._state = state
        self._known: dict[tuple[str, str, str], Edge] = {}
        self._numbers: dict[tuple[str, str, str], int] = {}
        self._before: dict[tuple[str, str, str], bool] = {}
        self._lists: dict[str, list[Edge]] = {}

    def into(self, child: str) -> list[Edge]:
        key = self._state.where.edges_into(child)
        return self._load(key, lambda kind, parent: (parent, child, kind))

    def out_of(self, parent: str) -> list[Edge]:
        key = self._state.where.edges_out_of(parent)
        return self._load(key, lambda kind, child: (parent, child, kind))

    def _load(self, key: str, ends: Callable[[str, str], tuple[str, str, str]]) -> list[Edge]:
        if key not in self._lists:
            found: list[tuple[int, Edge]] = []
            others: list[str] = []
            for field, value in as_dict(self._state.reader.ask("HGETALL", key)).items():
                kind, _, other = field.decode().partition(":")
                others.append(other)
                name = ends(kind, other)
                number, _, resolved = value.partition(b":")
                if name not in self._known:
                    self._before[name] = resolved == b"1"
                    self._numbers[name] = int(number)
                    self._known[name] = Edge(*name, resolved == b"1")
                found.append((int(number), self._known[name]))
            found.sort(key=lambda pair: pair[0])
            self._lists[key] = [edge for _, edge in found]
            self._state.stand_in_a_row(others)
        return self._lists[key]

    def number(self, edge: Edge) -> None:
        """It is new: those of a task are in the order in which they were joined."""
        self._known[_name(edge)] = edge
        self._numbers[_name(edge)] = self._state.next_edge()

    def new_ends(self) -> set[str]:
        """The tasks that this step joined."""
        return {
            end for edge in self._now().values() if _name(edge) not in self._before for end in (edge.parent, edge.child)
        }

    def _now(self) -> dict[tuple[str, str, str], Edge]:
        return {_name(edge): edge for edges in self._lists.values() for edge in edges}

    def changes(self) -> Iterator[Command]:
        keys = self._state.where
        now = self._now()
        for name, edge in now.items():
            if self._before.get(name) == edge.resolved:
                continue
            value = b"%d:%d" % (self._numbers[name], edge.resolved)
            yield ("HSET", keys.edges_into(edge.child), f"{edge.kind}:{edge.parent}", value)
            yield ("HSET", keys.edges_out_of(edge.parent), f"{edge.kind}:{edge.child}", value)
        for name in self._before.keys() - now.keys():
            parent, child, kind = name
            yield ("HDEL", keys.edges_into(child), f"{kind}:{parent}")
            yield ("HDEL", keys.edges_out_of(parent), f"{kind}:{child}")


def _name(edge: Edge) -> tuple[str, str, str]:
    return edge.parent, edge.child, edge.kind


class EdgeLists(Derived[str, list[Edge]]):
    """The edges at one end of a task."""

    def __init__(self, load: Callable[[str], list[Edge]]) -> None:
        self._load = load

    def __getitem__(self, task_id: str) -> list[Edge]:
        found = self._load(task_id)
        if not found:
            raise KeyError(task_id)
        return found

    def setdefault(self, task_id: str, default: list[Edge] | None = None) -> list[Edge]:
        return self._load(task_id)

    def pop(self, task_id: str, default: Any = ()) -> Any:
        found = list(self._load(task_id))
        self._load(task_id).clear()
        return found or default


def drop(lists: MutableMapping[str, list[Edge]], task_id: str, edge: Edge) -> None:
    """Remove an edge from those at one end of a task."""
    found = lists.get(task_id)
    if found is not None and edge in found:
        found.remove(edge)
