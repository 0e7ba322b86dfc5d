"""How it is going, and what happened, a page at a time."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

from dibs.rules.validation import duration_s, whole
from dibs.server.handling import router_of
from dibs.server.sparing import spared_events

if TYPE_CHECKING:
    from dibs.model.event import Event
    from dibs.model.views import EventPage
    from dibs.server.desk import Asking

MAX_EVENTS = 1_000


async def read_events(asking: Asking, after: Any = 0, limit: Any = 500) -> list[Event]:
    found = await asking.queue.read_events(after, whole(limit, "limit", 1, MAX_EVENTS))
    return spared_events(asking.caller, found)


async def last_seq(asking: Asking) -> int:
    return await asking.queue.store.last_seq()


async def news(asking: Asking, since: Any = None, timeout: Any = None) -> int:
    """All who wait share one look at the store."""
    desk = asking.desk
    if since is None:
        return await desk.newsroom.number()
    seen = whole(since, "since", -(2**63), 2**63 - 1)
    patience = desk.settings.max_wait_s if timeout is None else duration_s(timeout, "timeout")
    deadline = monotonic() + min(patience, desk.settings.max_wait_s)
    while (number := await desk.newsroom.number()) == seen and not desk.lobby.closed:
        left = deadline - monotonic()
        if left <= 0:
            break
        await desk.newsroom.wait(seen, left)
    return number


async def recent_events(asking: Asking, **given: Any) -> EventPage:
    page = await asking.queue.recent_events(**given)
    page.items = spared_events(asking.caller, page.items)
    return page


router = router_of(
    "events", {"read_events": read_events, "recent_events": recent_events, "last_seq": last_seq, "news": news}
)
