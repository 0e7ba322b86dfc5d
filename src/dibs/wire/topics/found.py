"""All tasks that a query finds: counted, changed alike; and help with writing one."""

from __future__ import annotations

from typing import Any

from dibs.model.found import Count, Handled
from dibs.model.role import STEERING, WATCHING
from dibs.rules.query import Completion
from dibs.wire.verbs import Duration, Verb

_STRETCH: dict[str, Any] = {"limit": int, "cursor": str | None}

VERBS = (
    Verb(
        name="count",
        method="GET",
        path="/v1/found/count",
        roles=WATCHING,
        about="How many tasks a query finds: exactly up to 10,000, and as far as the store looks.",
        takes={"query": str},
        reply=Count,
    ),
    Verb(
        name="suggest",
        method="GET",
        path="/v1/found/suggestions",
        roles=WATCHING,
        about="What may be written next in a query, with the cursor `at` this place: keys, and values seen lately.",
        takes={"query": str, "at": int | None},
        reply=list[Completion],
    ),
    Verb(
        name="cancel_found",
        method="POST",
        path="/v1/found/cancel",
        roles=STEERING,
        about="Cancel what a query finds, and what depends on it: up to `limit` (500) tasks, from `cursor` on.",
        needs={"query": str},
        takes={"reason": str | None, **_STRETCH},
        reply=Handled,
        acts=True,
    ),
    Verb(
        name="retry_found",
        method="POST",
        path="/v1/found/retry",
        roles=STEERING,
        about="Retry what a query finds: up to `limit` (500) tasks, from `cursor` on.",
        needs={"query": str},
        takes={"delay": Duration, "keep_steps": bool, **_STRETCH},
        reply=Handled,
        acts=True,
    ),
    Verb(
        name="set_priority_found",
        method="POST",
        path="/v1/found/priority",
        roles=STEERING,
        about="Change how urgent is what a query finds: up to `limit` (500) tasks, from `cursor` on.",
        needs={"query": str, "priority": float},
        takes=_STRETCH,
        reply=Handled,
        acts=True,
    ),
    Verb(
        name="tag_found",
        method="POST",
        path="/v1/found/tags",
        roles=STEERING,
        about="Give what a query finds tags, or take them away: up to `limit` (500) tasks, from `cursor` on.",
        needs={"query": str},
        takes={"add": list[str], "remove": list[str], **_STRETCH},
        reply=Handled,
        acts=True,
    ),
)
