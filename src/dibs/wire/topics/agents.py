"""Who there is, what each offers and holds, and which lanes they can serve."""

from __future__ import annotations

from dibs.model.role import EVERYONE, OPERATING, WORKING
from dibs.model.views import Agent, Lane
from dibs.wire.verbs import Duration, Verb

VERBS = (
    Verb(
        name="agents",
        method="GET",
        path="/v1/agents",
        roles=EVERYONE,
        about="Every agent that is remembered: what it offers, how it stands, what it holds.",
        reply=list[Agent],
    ),
    Verb(
        name="register_agent",
        method="PUT",
        path="/v1/agents/{agent}",
        roles=WORKING,
        about="Say who an agent is; its first claim does it otherwise.",
        takes={
            "type": str | None,
            "capabilities": list[str],
            "models": list[str],
            "max_concurrent": int | None,
            "budget": float | None,
            "version": str | None,
            "host": str | None,
            "pid": int | None,
            "poll": Duration | None,
            "concurrency": int | None,
            "keep": bool,
        },
        reply=Agent,
    ),
    Verb(
        name="drain_agent",
        method="POST",
        path="/v1/agents/{agent}/drain",
        roles=OPERATING,
        about="Give an agent nothing new; it keeps what it holds.",
        reply=Agent,
        acts=True,
    ),
    Verb(
        name="unregister_agent",
        method="DELETE",
        path="/v1/agents/{agent}",
        roles=WORKING,
        about="Say that an agent is gone. It comes back with its next claim.",
        takes={"reason": str | None},
        reply=Agent,
    ),
    Verb(
        name="lanes",
        method="GET",
        path="/v1/lanes",
        roles=EVERYONE,
        about="What is ready, by lane, since when, and which live agents can do it; with `minutes`, also how it went.",
        takes={"minutes": int | None},
        reply=list[Lane],
    ),
)
