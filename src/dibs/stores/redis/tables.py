"""Mappings whose entries come from Redis when they are asked for, and go back when they were changed.

Each knows the commands that write what a step did to it (`changes`). Nothing is written before the step is over.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.stores.redis.layout import Fields
    from dibs.stores.redis.reading import Command, Reader

K = TypeVar("K")
V = TypeVar("V")

_GONE: Any = object()

MOST_PARTS = 2000


def as_dict(pairs: list[bytes] | dict[bytes, bytes]) -> dict[bytes, bytes]:
    """A hash as the server answers it."""
    return pairs if isinstance(pairs, dict) else dict(zip(pairs[::2], pairs[1::2], strict=True))


def differences(key: str, before: Fields, after: Fields) -> Iterator[Command]:
    """What makes a hash of these fields one of those."""
    gone = [name for name in before if name not in after]
    for some in _portions(gone):
        yield ("HDEL", key, *some)
    written = [part for name, value in after.items() if before.get(name) != value for part in (name, value)]
    for some in _portions(written):
        yield ("HSET", key, *some)


def _portions(parts: list[bytes]) -> Iterator[list[bytes]]:
    """A script can pass on only so many at once."""
    return (parts[start : start + MOST_PARTS] for start in range(0, len(parts), MOST_PARTS))


@cache
def _decoder(type: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type)


class Shelf(MutableMapping[K, V]):
    """One hash, an entry a field. Values are replaced, never changed. `whole`: all of it is read at once."""

    def __init__(self, reader: Reader, key: str, name: Any, value: Any, *, whole: bool = False) -> None:
        self._reader = reader
        self.key = key
        self._name = _decoder(name)
        self._value = _decoder(value)
        self._whole = whole
        self._known: dict[K, Any] = {}
        self._written: dict[K, Any] = {}
        self._read = False

    def _field(self, name: K) -> bytes:
        return msgspec.json.encode(name)

    def _load(self, name: K) -> Any:
        if self._read or name in self._known:
            return self._known.get(name, _GONE)
        if self._whole:
            self._load_all()
            return self._known.get(name, _GONE)
        found = self._reader.ask("HGET", self.key, self._field(name))
        self._known[name] = _GONE if found is None else self._value.decode(found)
        return self._known[name]

    def _load_all(self) -> None:
        if self._read:
            return
        found = as_dict(self._reader.ask("HGETALL", self.key))
        for field, value in sorted(found.items(), key=self._place):
            self._known.setdefault(self._name.decode(field), self._value.decode(value))
        self._read = True

    def _place(self, item: tuple[bytes, bytes]) -> Any:
        return item[0]

    def __getitem__(self, name: K) -> V:
        value: Any = self._load(name)
        if value is _GONE:
            raise KeyError(name)
        return value  # type: ignore[no-any-return]

    def __setitem__(self, name: K, value: V) -> None:
        self._known[name] = self._written[name] = value

    def __delitem__(self, name: K) -> None:
        if self._load(name) is _GONE:
            raise KeyError(name)
        self._known[name] = self._written[name] = _GONE

    def __iter__(self) -> Iterator[K]:
        self._load_all()
        return iter([name for name, value in self._known.items() if value is not _GONE])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def has_dropped(self, name: K) -> bool:
        """Whether this step removed it."""
        return self._written.get(name) is _GONE

    def is_changed(self) -> bool:
        """Whether this step wrote anything."""
        return bool(self._written)

    def changes(self) -> Iterator[Command]:
        for name, value in self._written.items():
            if value is _GONE:
                yield ("HDEL", self.key, self._field(name))
            else:
                yield ("HSET", self.key, self._field(name), msgspec.json.encode(value))


class Marks(Shelf[str, None]):
    """One hash of names, kept in the order in which they were put."""

    def __init__(self, reader: Reader, key: str, next_place: Callable[[], int]) -> None:
        super().__init__(reader, key, str, int, whole=True)
        self._next_place = next_place

    def _place(self, item: tuple[bytes, bytes]) -> int:
        return int(item[1])

    def __setitem__(self, name: str, value: None) -> None:
        if self._load(name) is _GONE:
            self._known.pop(name, None)
            self._known[name] = self._written[name] = self._next_place()

    def __getitem__(self, name: str) -> None:
        if self._load(name) is _GONE:
            raise KeyError(name)


class Table(MutableMapping[K, V], Generic[K, V]):
    """A hash for each entry. Entries are changed in place: what a step changed is found by comparing. `names`: the set
    of those that there are, where somebody looks at all of them; then names are pairs."""

    def __init__(
        self,
        reader: Reader,
        key: Callable[[K], str],
        fields: Callable[[V], Fields],
        record: Callable[[Fields], V],
        names: str | None = None,
    ) -> None:
        self._reader = reader
        self._key = key
        self._fields = fields
        self._record = record
        self._names = names
        self._before: dict[K, Fields] = {}
        self._now: dict[K, V] = {}

    def expect(self, names: list[K]) -> None:
        """Bring in several at once."""
        new = [name for name in dict.fromkeys(names) if name not in self._before]
        answers = self._reader.ask_all([("HGETALL", self._key(name)) for name in new])
        for name, answer in zip(new, answers, strict=True):
            fields = self._before[name] = as_dict(answer)
            if fields and name not in self._now:
                self._now[name] = self._record(fields)

    def _load(self, name: K) -> None:
        if name not in self._before:
            self.expect([name])

    def __getitem__(self, name: K) -> V:
        self._load(name)
        return self._now[name]

    def __setitem__(self, name: K, value: V) -> None:
        self._load(name)
        self._now[name] = value

    def __delitem__(self, name: K) -> None:
        self._load(name)
        del self._now[name]

    def __iter__(self) -> Iterator[K]:
        assert self._names is not None, "nobody looks at all of these"
        found = sorted(self._reader.ask("SMEMBERS", self._names))
        self.expect([msgspec.json.decode(name, type=tuple[str, str]) for name in found])  # type: ignore[misc]
        return iter(list(self._now))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        """Whether there is any; nothing is brought in for it."""
        assert self._names is not None
        return bool(self._now) or bool(self._reader.ask("SCARD", self._names))

    def made(self) -> list[K]:
        """Those that this step made."""
        return [name for name in self._now if not self._before.get(name)]

    def moved(self) -> Iterator[tuple[K, bool]]:
        """Those that this step made or removed, and whether they are there now."""
        there = ((name, bool(before), name in self._now) for name, before in self._before.items())
        return ((name, now) for name, before, now in there if before != now)

    def is_changed(self) -> bool:
        """Whether this step made or removed one."""
        return next(self.moved(), None) is not None

    def seen(self) -> dict[K, V | None]:
        """Those that somebody has looked at; None: there is none."""
        return {name: self._now.get(name) for name in self._before}

    def changes(self) -> Iterator[Command]:
        for name, before in self._before.items():
            value = self._now.get(name)
            after = {} if value is None else self._fields(value)
            if after == before:
                continue
            if not after:
                yield ("DEL", self._key(name))
            else:
                yield from differences(self._key(name), before, after)
            if self._names is not None and bool(before) != bool(after):
                yield ("SADD" if after else "SREM", self._names, msgspec.json.encode(name))
