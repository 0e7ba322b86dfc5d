"""What happens, as it happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from dibs.errors import Invalid
from dibs.model.role import Role
from dibs.requests import MAX_WAIT_S, optional
from dibs.rules import hooks, validation
from dibs.server.admitting import secret_of
from dibs.server.handling import router_of
from dibs.server.refusing import Busy
from dibs.server.streams import EventStream

if TYPE_CHECKING:
    from dibs.model.event import Event
    from dibs.server.callers import Caller
    from dibs.server.desk import Asking
    from dibs.server.streams import Streams, Wants

MOST_TYPES = 50
_NOT_FOR_AGENTS = ("payload", "output")


async def follow_events(asking: Asking, after: Any = 0, type: Any = (), wait: Any = None, **given: Any) -> EventStream:
    """A stream of the caller's project, from where its reader was."""
    wait_s = float("inf") if wait is None else validation.duration_s(wait, "wait", high=MAX_WAIT_S)
    streams, caller = asking.desk.streams, asking.caller
    wants = _wanted(caller, type, {name: optional(value, name) for name, value in given.items()})
    place = await _place(streams, asking.header(b"last-event-id"), after)
    who = caller.token_id or caller.name
    if streams.is_full or streams.has_enough(who):
        whose = "This token has" if streams.has_enough(who) else "The server has"
        raise Busy(f"{whose} as many streams of events as it may; close one.", code="too_many_waiting", retry_after=5)
    secret = secret_of(asking.scope)

    async def is_trusted() -> bool:
        return secret is not None and await asking.desk.authority.identify(secret) == caller

    return EventStream(streams.read(who, caller.project, place, wants, is_trusted, wait_s))


async def _place(streams: Streams, resumed: str | None, after: Any) -> int:
    """The number after which to begin: what the reader has seen last, else what it asks for."""
    if resumed is not None and resumed.strip():
        text = resumed.strip()
        if not text.isdecimal() or not text.isascii() or len(text) > 18:
            raise Invalid("Last-Event-ID must be the id of an event of this stream.", field="Last-Event-ID")
        return int(text)
    if after == "now":
        return await streams.feed.newest()
    if isinstance(after, str) and after.isdecimal() and after.isascii() and len(after) < 20:
        after = int(after)
    return validation.whole(after, "after", 0, 2**63 - 1)


def _wanted(caller: Caller, types: Any, only: dict[str, str | None]) -> Wants:
    """What a reader is shown of an event: an agent has no business with what others are given, and make."""
    written = [part for text in types for part in text.split(",")]
    if len(written) > MOST_TYPES:
        raise Invalid(f"type may be given {MOST_TYPES} times, not {len(written)}.", field="type")
    try:
        patterns = hooks.patterns(written or None, "cloudevents")
    except Invalid as error:
        raise Invalid(error.message.replace("events", "type", 1), field="type") from None

    def wants(event: Event) -> Event | None:
        if not hooks.is_for(event, patterns, **only):
            return None
        if caller.role is Role.AGENT and event.data.keys() & _NOT_FOR_AGENTS:
            said = {name: value for name, value in event.data.items() if name not in _NOT_FOR_AGENTS}
            return replace(event, data=said)
        return event

    return wants


router = router_of("stream", {"follow_events": follow_events})
