"""The outbox: what each commit did, as one entry of a stream. Its id is the number of its last event.

How events are folded says `stores.unfolding`: as in the stores that speak SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.instants import to_micros
from dibs.stores.redis.tables import as_dict
from dibs.stores.unfolding import unfold

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.model.event import Event
    from dibs.stores.redis.reading import Command

_groups = msgspec.json.Decoder(list[list[Any]])

Entry = tuple[bytes, list[bytes]]


def command(key: str, events: list[tuple[Event, bytes | None]]) -> Command:
    """What writes the events of one commit."""
    groups = [
        [[event.type], to_micros(event.at), event.agent, event.reason, [_item(event, data)]] for event, data in events
    ]
    return ("XADD", key, f"{events[-1][0].seq}-0", "n", len(events), "groups", msgspec.json.encode(groups))


def _item(event: Event, data: bytes | None) -> list[Any]:
    names = [event.task_id, event.dag_id]
    return names if data is None else [*names, msgspec.Raw(data)]


def events_of(entries: Iterable[Entry], after: int, limit: int) -> list[Event]:
    """The events of entries, in order, that come after this one."""
    return unfold((_row(entry) for entry in entries), after, limit)


def first_of(entry: Entry) -> int:
    """The number of the first event of an entry."""
    last, count, _ = _row(entry)
    return last - count + 1


def at_of(entry: Entry) -> int:
    """When its commit was made."""
    at: int = _row(entry)[2][0][1]
    return at


def _row(entry: Entry) -> tuple[int, int, list[Any]]:
    entry_id, parts = entry
    fields = as_dict(parts)
    return int(entry_id.partition(b"-")[0]), int(fields[b"n"]), _groups.decode(fields[b"groups"])
