"""Reading the outbox as a group: each event goes to one of its consumers, and to another if that one dies.

A group remembers how far it has read, in Redis. What was handed out and not acknowledged is handed out again, to
whoever takes it over. Events come in commits, as they were made: a commit is acknowledged as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from redis import exceptions

from dibs.errors import Invalid
from dibs.model.event import Event
from dibs.model.instants import from_micros
from dibs.stores.redis import stream

if TYPE_CHECKING:
    from dibs.stores.redis.engine import Engine, Line
    from dibs.stores.redis.keys import Keys

GAP = "gap"


class Delivery(Struct):
    """The events of one commit. `id` acknowledges them; "" is for a gap, which needs no acknowledgement."""

    id: str
    events: list[Event]


class Consumer:
    """One of those that read as a group."""

    def __init__(self, engine: Engine, keys: Keys, group: str, name: str) -> None:
        if not group or not name:
            raise Invalid("A group and its consumers need names.", field="group" if not group else "name")
        self._engine = engine
        self._key = keys.events
        self._group = group
        self._name = name

    def read(self, limit: int) -> list[Delivery]:
        """The next commits that nobody of the group has read, at most `limit`. If some before them were pruned, the
        first delivery is a `gap` with the seq of the last event that was lost."""
        return self._engine.run(lambda line: self._read(line, limit))

    def _read(self, line: Line, limit: int) -> list[Delivery]:
        read_so_far = self._position(line)
        command = ("XREADGROUP", "GROUP", self._group, self._name, "COUNT", limit, "STREAMS", self._key, ">")
        answer = line.send([command])[0]
        entries = answer[0][1] if answer else []
        found = [_delivery(entry) for entry in entries]
        if found and stream.first_of(entries[0]) > read_so_far + 1:
            last_lost = stream.first_of(entries[0]) - 1
            gap = Event(seq=last_lost, type=GAP, at=from_micros(stream.at_of(entries[0])))
            found.insert(0, Delivery("", [gap]))
        return found

    def _position(self, line: Line) -> int:
        """The number of the last event that the group was given; the group is made if it is new."""
        for _ in range(2):
            try:
                rows = line.send([("XINFO", "GROUPS", self._key)])[0]
            except exceptions.ResponseError as error:
                if "no such key" not in str(error):
                    raise
                rows = []
            for row in rows:
                told = dict(zip(row[::2], row[1::2], strict=True))
                if told[b"name"] == self._group.encode():
                    return int(told[b"last-delivered-id"].partition(b"-")[0])
            try:
                line.send([("XGROUP", "CREATE", self._key, self._group, "0", "MKSTREAM")])
            except exceptions.ResponseError as error:
                if not str(error).startswith("BUSYGROUP"):
                    raise
        return 0

    def take_over(self, idle_s: float, limit: int) -> list[Delivery]:
        """What was handed to consumers of the group so long ago, and was not acknowledged since."""
        return self._engine.run(lambda line: self._take_over(line, idle_s, limit))

    def _take_over(self, line: Line, idle_s: float, limit: int) -> list[Delivery]:
        self._position(line)
        command = ("XAUTOCLAIM", self._key, self._group, self._name, int(idle_s * 1000), "0-0", "COUNT", limit)
        entries: list[Any] = line.send([command])[0][1]
        gone = [entry for entry in entries if entry is None or entry[1] is None]
        # What was pruned while somebody had it can only be given up.
        kept = [_delivery(entry) for entry in entries if entry not in gone]
        lost = [entry[0] for entry in gone if entry is not None]
        if lost:
            line.send([("XACK", self._key, self._group, *lost)])
        return kept

    def acknowledge(self, deliveries: list[Delivery]) -> int:
        """These are done with; how many the group was still waiting for."""
        ids = [delivery.id for delivery in deliveries if delivery.id]
        if not ids:
            return 0
        return int(self._engine.run(lambda line: line.send([("XACK", self._key, self._group, *ids)])[0]))


def _delivery(entry: stream.Entry) -> Delivery:
    first = stream.first_of(entry)
    return Delivery(entry[0].decode(), stream.events_of([entry], first - 1, 1 << 31))
