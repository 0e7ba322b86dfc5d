"""The outbox: events as entries of a stream, whose ids are their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.event import Event
from dibs.model.instants import from_micros, to_micros
from dibs.stores.redis.tables import as_dict

if TYPE_CHECKING:
    from dibs.stores.redis.reading import Command


def entry(key: str, event: Event, data: bytes | None) -> Command:
    """An event as an entry of the stream."""
    told: list[tuple[str, str | bytes | None]] = [
        ("type", event.type),
        ("at", str(to_micros(event.at))),
        ("task", event.task_id),
        ("dag", event.dag_id),
        ("agent", event.agent),
        ("reason", event.reason),
        ("data", data),
    ]
    parts = [part for name, value in told if value is not None for part in (name, value)]
    return ("XADD", key, f"{event.seq}-0", *parts)


def event_of(entry_id: bytes, parts: list[bytes]) -> tuple[Event, bytes | None]:
    """An entry of the stream as an event, and its data."""
    fields = as_dict(parts)
    event = Event(
        seq=int(entry_id.split(b"-")[0]),
        type=fields[b"type"].decode(),
        at=from_micros(int(fields[b"at"])),
        task_id=_decoded(fields.get(b"task")),
        dag_id=_decoded(fields.get(b"dag")),
        agent=_decoded(fields.get(b"agent")),
        reason=_decoded(fields.get(b"reason")),
    )
    return event, fields.get(b"data")


def _decoded(value: bytes | None) -> str | None:
    return None if value is None else value.decode()
