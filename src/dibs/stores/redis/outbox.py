"""The outbox of a namespace, as a step sees it: what was told before, what it tells, and what is forgotten of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.stores.redis import stream
from dibs.stores.redis.tasks import AHEAD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.model.event import Event
    from dibs.stores.redis.reading import Command, Reader


class Outbox:
    """The stream of events. `stream` says how a commit is one entry of it."""

    def __init__(self, reader: Reader, key: str) -> None:
        self._reader = reader
        self._key = key
        self._told: list[tuple[Event, bytes | None]] = []
        self._trimmed_to: int | None = None

    def tell(self, told: tuple[Event, bytes | None]) -> None:
        """One more event of this step."""
        self._told.append(told)

    def first(self, last_seq: int) -> int:
        """The number of the first event that is kept."""
        found = self._reader.ask("XRANGE", self._key, "-", "+", "COUNT", 1)
        return stream.first_of(found[0]) if found else last_seq + 1

    def after(self, after: int, limit: int, last_seq: int) -> tuple[int, list[Event]]:
        """The last event that is not kept any more, and those after this one."""
        lost = self.first(last_seq) - 1
        after = max(after, lost)
        found: list[Event] = []
        while len(found) < limit:
            entries = self._reader.ask("XRANGE", self._key, f"{after + 1}-0", "+", "COUNT", AHEAD)
            events = stream.events_of(entries, after, limit - len(found))
            if not events:
                break
            found += events
            after = events[-1].seq
        return lost, found

    def forget_before(self, before: int, last_seq: int) -> bool:
        """Keep nothing that is older; whether there is any such thing."""
        first, last = self.first(last_seq), last_seq
        while first <= last:
            # The first that is young enough lies between these.
            middle = (first + last) // 2
            (entry,) = self._reader.ask("XRANGE", self._key, f"{middle}-0", "+", "COUNT", 1)
            if stream.at_of(entry) < before:
                first = middle + 1
            else:
                last = middle - 1
        if first <= self.first(last_seq):
            return False
        self.keep_from(first)
        return True

    def keep_from(self, seq: int) -> None:
        """Keep this event and those after it."""
        self._trimmed_to = seq

    def changes(self) -> Iterator[Command]:
        if self._told:
            yield stream.command(self._key, self._told)
        if self._trimmed_to is not None:
            yield ("XTRIM", self._key, "MINID", f"{self._trimmed_to}-0")
