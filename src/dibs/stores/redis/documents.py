"""Documents: a hash for each kind in a project, with a sorted set of its names, so that they are read in portions."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

import msgspec

from dibs.stores.redis.tables import as_dict
from dibs.stores.values import Document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.stores.redis.keys import Keys
    from dibs.stores.redis.reading import Command, Reader

Place = tuple[str, str]
"""A project and a kind."""
Name = tuple[str, str, str]


class Documents(MutableMapping[Name, Document]):
    """All documents, as far as a step looks at them. Each is one field: its version, when it was written, its body."""

    def __init__(self, reader: Reader, keys: Keys) -> None:
        self._reader = reader
        self._keys = keys
        self._known: dict[Name, Document | None] = {}
        self._written: dict[Name, Document | None] = {}

    def __getitem__(self, name: Name) -> Document:
        if name not in self._known:
            found = self._reader.ask("HGET", self._keys.documents_of(_place(name)), name[2])
            self._known[name] = None if found is None else _document(name, found)
        document = self._known[name]
        if document is None:
            raise KeyError(name)
        return document

    def __setitem__(self, name: Name, document: Document) -> None:
        self._known[name] = self._written[name] = document

    def __delitem__(self, name: Name) -> None:
        _ = self[name]
        self._known[name] = self._written[name] = None

    def __iter__(self) -> Iterator[Name]:
        for place in sorted(self._reader.ask("SMEMBERS", self._keys.documents)):
            project, kind = msgspec.json.decode(place, type=Place)
            found = as_dict(self._reader.ask("HGETALL", self._keys.documents_of(place.decode())))
            for field, value in found.items():
                name = (project, kind, field.decode())
                if name not in self._known:
                    self._known[name] = _document(name, value)
        return iter([name for name, document in self._known.items() if document is not None])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def of(self, project: str, kind: str, after: str, limit: int) -> list[Document]:
        """Those of a kind, by name. Whoever asks has written none in this step."""
        place = _place((project, kind, ""))
        start = f"({after}" if after else "-"
        names = self._reader.ask("ZRANGEBYLEX", self._keys.document_names(place), start, "+", "LIMIT", 0, limit)
        if not names:
            return []
        found = self._reader.ask("HMGET", self._keys.documents_of(place), *names)
        return [
            _document((project, kind, name.decode()), value)
            for name, value in zip(names, found, strict=True)
            if value is not None
        ]

    def changes(self) -> Iterator[Command]:
        grown: dict[str, int] = {}
        for name, document in self._written.items():
            place = _place(name)
            documents, names = self._keys.documents_of(place), self._keys.document_names(place)
            was_there = bool(self._reader.ask("HEXISTS", documents, name[2]))
            grown[place] = grown.get(place, 0) + (document is not None) - was_there
            if document is not None:
                yield ("HSET", documents, name[2], _field(document))
                yield ("ZADD", names, 0, name[2])
            elif was_there:
                yield ("HDEL", documents, name[2])
                yield ("ZREM", names, name[2])
        for place, more in grown.items():
            before = self._reader.ask("HLEN", self._keys.documents_of(place))
            if bool(before) != bool(before + more):
                yield ("SREM" if before else "SADD", self._keys.documents, place)


def _place(name: Name) -> str:
    return msgspec.json.encode(name[:2]).decode()


def _field(document: Document) -> bytes:
    return b"%d %d " % (document.version, document.updated_at) + document.body


def _document(name: Name, field: bytes) -> Document:
    version, updated_at, body = field.split(b" ", 2)
    project, kind, called = name
    return Document(
        project=project, kind=kind, name=called, version=int(version), body=body, updated_at=int(updated_at)
    )
