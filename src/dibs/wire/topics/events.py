"""What happened, and how it is going."""

from __future__ import annotations

from dibs.model.event import Event
from dibs.model.metrics import Metrics
from dibs.model.overview import Overview
from dibs.model.role import EVERYONE, WATCHING
from dibs.model.spending import Spent
from dibs.model.views import EventPage, Stats
from dibs.wire.verbs import Duration, Moment, Verb

VERBS = (
    Verb(
        name="read_events",
        method="GET",
        path="/v1/events/page",
        roles=EVERYONE,
        about="Up to `limit` events after the sequence number `after`, without waiting.",
        takes={"after": int, "limit": int},
        reply=list[Event],
    ),
    Verb(
        name="last_seq",
        method="GET",
        path="/v1/events/last",
        roles=EVERYONE,
        about="The sequence number of the newest event; 0 if there is none.",
        reply=int,
    ),
    Verb(
        name="news",
        method="GET",
        path="/v1/news",
        roles=EVERYONE,
        about="A number that changes when anything was committed; with `since`, once it differs or after `timeout`.",
        takes={"since": int | None, "timeout": Duration | None},
        reply=int,
        waits=True,
    ),
    Verb(
        name="stats",
        method="GET",
        path="/v1/stats",
        roles=EVERYONE,
        about="The queue at a glance: counts, lanes, agents.",
        reply=Stats,
    ),
    Verb(
        name="metrics",
        method="GET",
        path="/v1/metrics",
        roles=EVERYONE,
        about="How it has been going, by `type`, `agent`, `model` or `day`.",
        takes={"by": str, "since": Moment | None},
        reply=list[Metrics],
    ),
    Verb(
        name="overview",
        method="GET",
        path="/v1/overview",
        roles=WATCHING,
        about="What waits for a person, what is wrong, and what it costs, in one look.",
        reply=Overview,
    ),
    Verb(
        name="costs",
        method="GET",
        path="/v1/costs",
        roles=WATCHING,
        about="What was spent on each day (UTC), by `type`, `agent`, `model` or `dag`.",
        takes={"by": str, "since": Moment | None, "until": Moment | None},
        reply=list[Spent],
    ),
    Verb(
        name="recent_events",
        method="GET",
        path="/v1/events/recent",
        roles=EVERYONE,
        about="What happened lately, the last first: of these types, about this task or dag.",
        takes={
            "types": list[str] | None,
            "task": str | None,
            "dag": str | None,
            "before": int | None,
            "limit": int,
        },
        reply=EventPage,
    ),
)
