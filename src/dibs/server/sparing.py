"""Lists for agents: what others are given, and make, is no business of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.errors import Denied
from dibs.model.role import Role
from dibs.rules.query import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.model.event import Event
    from dibs.model.task import Task
    from dibs.server.callers import Caller

_BODIES = ("payload", "output")


def refuse_search(caller: Caller, text: object, query: object = None) -> None:
    """What an agent may not see it may not search either."""
    if caller.role is not Role.AGENT:
        return
    if text is not None:
        raise Denied("An agent's token may not search in payloads and outputs; leave text out.", field="text")
    if isinstance(query, str) and any(not term.operator for term in terms(query)):
        raise Denied("An agent's token may not search in payloads and outputs; write key:value.", field="query")


def spared(caller: Caller, tasks: Iterable[Task]) -> list[Task]:
    """Tasks as this caller sees them in a list."""
    if caller.role is not Role.AGENT:
        return list(tasks)
    return [replace(task, payload=None, output=None, context=None, decision=None) for task in tasks]


def spared_events(caller: Caller, events: Sequence[Event]) -> list[Event]:
    """Events as this caller sees them."""
    if caller.role is not Role.AGENT:
        return list(events)
    return [
        replace(event, data={name: value for name, value in event.data.items() if name not in _BODIES})
        if event.data.keys() & set(_BODIES)
        else event
        for event in events
    ]
