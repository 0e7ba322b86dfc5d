"""Triggers: what is made when something happens. What senders of webhooks send comes in at `/in/NAME`."""

from __future__ import annotations

from typing import Any

from dibs.model.role import OPERATING
from dibs.model.trigger import Preview, Trigger
from dibs.wire.topics.schedules import READING
from dibs.wire.verbs import Duration, Verb

VERBS = (
    Verb(
        name="triggers",
        method="GET",
        path="/v1/triggers",
        roles=READING,
        about="Every trigger, by name, with where it stands and without secrets.",
        reply=list[Trigger],
    ),
    Verb(
        name="get_trigger",
        method="GET",
        path="/v1/triggers/{name}",
        roles=READING,
        about="A trigger, with where it stands and without secrets.",
        reply=Trigger,
    ),
    Verb(
        name="add_trigger",
        method="PUT",
        path="/v1/triggers/{name}",
        roles=OPERATING,
        about="Make a task or a dag when something happens; new secrets are in this answer only.",
        needs={"on": str},
        takes={
            "task": dict[str, Any] | None,
            "dag": dict[str, Any] | None,
            "where": dict[str, Any] | None,
            "rate": str,
            "max_depth": int,
            "paused": bool,
            "scheme": str | None,
            "secret": str | list[str] | None,
            "events": str | list[str],
            "type": str | None,
            "failure_rate": float | None,
            "cost": float | None,
            "window": Duration | None,
            "least": int | None,
            "cool_down": Duration | None,
            "paths": str | list[str],
            "replace": bool,
        },
        reply=Trigger,
        acts=True,
        edits=True,
    ),
    Verb(
        name="pause_trigger",
        method="POST",
        path="/v1/triggers/{name}/pause",
        roles=OPERATING,
        about="Let it make nothing until it is resumed; webhooks are refused meanwhile.",
        reply=Trigger,
        acts=True,
    ),
    Verb(
        name="resume_trigger",
        method="POST",
        path="/v1/triggers/{name}/resume",
        roles=OPERATING,
        about="Let it go on; what happened meanwhile is not made up for.",
        reply=Trigger,
        acts=True,
    ),
    Verb(
        name="remove_trigger",
        method="DELETE",
        path="/v1/triggers/{name}",
        roles=OPERATING,
        about="Forget a trigger; what it made stays.",
        reply=Trigger,
        acts=True,
        edits=True,
    ),
    Verb(
        name="preview_trigger",
        method="POST",
        path="/v1/triggers/{name}/test",
        roles=OPERATING,
        about="What it would make for an event; nothing is made.",
        needs={"event": dict[str, Any]},
        reply=Preview,
    ),
)
