"""Events leave with the commit that made them: one row per commit, its events folded into groups.

`stores.unfolding` says what a group is. `seq` is dense: a row's events have the numbers `last_seq - count + 1` to
`last_seq`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.event import Event
from dibs.model.instants import from_micros
from dibs.stores.unfolding import unfold

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

_ADD = """
INSERT INTO outbox (last_seq, count, at, body)
SELECT coalesce(max(last_seq), 0) + ?1, ?1, ?2, ?3 FROM outbox
"""
_AFTER = "SELECT last_seq, count, body FROM outbox WHERE last_seq > ? ORDER BY last_seq"

_FIRST = "SELECT last_seq - count, CASE WHEN count > 0 THEN at END FROM outbox ORDER BY last_seq LIMIT 1"
_EMPTY = """
UPDATE outbox SET count = 0, body = '[]'
WHERE last_seq = (SELECT max(last_seq) FROM outbox) AND at < ?1 AND count > 0
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE last_seq < (SELECT max(last_seq) FROM outbox))
"""
_PRUNE = """
DELETE FROM outbox WHERE at < ?2 AND last_seq IN (
    SELECT last_seq FROM outbox WHERE last_seq < (SELECT max(last_seq) FROM outbox) ORDER BY last_seq LIMIT ?1
)
"""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Outbox:
    """The events of the transaction under way."""

    __slots__ = ("count", "groups")

    def __init__(self) -> None:
        self.groups: list[list[Any]] = []
        self.count = 0

    def add(
        self,
        types: Sequence[str],
        at: int,
        items: list[Any],
        agent: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Each item gets each of the types."""
        if items:
            self.groups.append([types, at, agent, reason, items])
            self.count += len(types) * len(items)

    def one(
        self,
        type: str,
        at: int,
        task_id: str | None,
        dag_id: str | None,
        *,
        agent: str | None = None,
        reason: str | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        """A single event."""
        item = [task_id, dag_id, data] if data else [task_id, dag_id]
        self.add((type,), at, [item], agent, reason)

    def mark(self) -> tuple[int, int]:
        """Where we are, for `back_to`."""
        return len(self.groups), self.count

    def back_to(self, mark: tuple[int, int]) -> None:
        """Forget what was added since."""
        del self.groups[mark[0] :]
        self.count = mark[1]

    def write(self, connection: apsw.Connection) -> None:
        """Put the events into the transaction that made them."""
        if self.count:
            body = _encode(self.groups).decode()
            connection.execute(_ADD, (self.count, self.groups[-1][1], body))


def read_after(connection: apsw.Connection, after: int, limit: int, now: int) -> list[Event]:
    """Events with seq > after, at most `limit`; `gap` first if some of them are gone."""
    events: list[Event] = []
    first = connection.execute(_FIRST).fetchone()
    if first is None:
        return events
    last_lost, at = first
    if after < last_lost:
        events.append(Event(seq=last_lost, type="gap", at=from_micros(now if at is None else at)))
        after = last_lost
    rows = ((last_seq, count, _decode(body)) for last_seq, count, body in connection.execute(_AFTER, (after,)))
    events.extend(unfold(rows, after, limit - len(events)))
    return events


def newest(connection: apsw.Connection) -> int:
    """The seq of the newest event; 0 if there is none."""
    return int(connection.execute("SELECT coalesce(max(last_seq), 0) FROM outbox").get)


def prune(connection: apsw.Connection, before: int, limit: int) -> int:
    """Delete what is older, oldest first; how many rows. The newest is only emptied: the numbers go on from it."""
    connection.execute(_PRUNE, (limit, before))
    deleted = connection.changes()
    connection.execute(_EMPTY, (before,))
    return deleted
