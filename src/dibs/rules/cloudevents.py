"""Events in the words of CloudEvents 1.0, for receivers that know nothing of dibs.

`id` and `source` name the event: it has the same ones wherever and however often it is sent. `data` is the event as
`dibs tail --json` prints it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from msgspec import to_builtins

if TYPE_CHECKING:
    from dibs.model.event import Event

MEDIA_TYPE = "application/cloudevents+json"


def source_of(project: str) -> str:
    """Where the events of a project come from, unless its hook says otherwise."""
    return f"/dibs/{quote(project, safe='')}"


def as_cloudevent(event: Event, source: str) -> dict[str, Any]:
    """The event in structured mode. `sequence` sorts as text."""
    told = {
        "specversion": "1.0",
        "id": str(event.seq),
        "source": source,
        "type": f"dibs.{event.type}",
        "subject": event.task_id or event.dag_id or event.agent,
        "time": event.at.isoformat().replace("+00:00", "Z"),
        "datacontenttype": "application/json",
        "sequence": f"{event.seq:020}",
        "data": to_builtins(event),
    }
    return {name: value for name, value in told.items() if value is not None}


def ping(number: int, at: str, source: str) -> dict[str, Any]:
    """What is sent when somebody only wants to see whether it arrives."""
    return {
        "specversion": "1.0",
        "id": f"ping-{number}",
        "source": source,
        "type": "dibs.ping",
        "time": at,
        "datacontenttype": "application/json",
        "data": {"type": "ping"},
    }
