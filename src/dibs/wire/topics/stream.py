"""What happens, as it happens: one long answer of server-sent events."""

from __future__ import annotations

from dibs.model.event import Event
from dibs.model.role import EVERYONE
from dibs.wire.verbs import Duration, Verb

VERBS = (
    Verb(
        name="follow_events",
        method="GET",
        path="/v1/events",
        roles=EVERYONE,
        about="Everything that happens after the number `after` (or the header Last-Event-ID, which wins; without them"
        " from the oldest kept; `now`: from now on), then live: as server-sent events. `type` (`task.*`,"
        " `*:out_of_memory`), `task`, `dag` and `agent` choose among them. It ends after `wait`, else never.",
        takes={"after": int | str, "type": list[str], "task": str, "dag": str, "agent": str, "wait": Duration},
        reply=Event,
        answers="events",
        waits=True,
    ),
)
