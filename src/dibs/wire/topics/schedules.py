"""Schedules: what is made again and again."""

from __future__ import annotations

from typing import Any

from dibs.model.role import STEERING, Role
from dibs.model.schedule import Run, Schedule
from dibs.wire.verbs import Duration, Moment, Verb

READING = STEERING | {Role.VIEWER}
"""Agents are told what they hold, not what others are going to get."""

VERBS = (
    Verb(
        name="schedules",
        method="GET",
        path="/v1/schedules",
        roles=READING,
        about="Every schedule, by name, with where it stands.",
        reply=list[Schedule],
    ),
    Verb(
        name="get_schedule",
        method="GET",
        path="/v1/schedules/{name}",
        roles=READING,
        about="A schedule, with where it stands.",
        reply=Schedule,
    ),
    Verb(
        name="add_schedule",
        method="PUT",
        path="/v1/schedules/{name}",
        roles=STEERING,
        about="Make a task or a dag at certain times: cron, every so often, or once.",
        takes={
            "cron": str | None,
            "every": Duration | None,
            "at": Moment | None,
            "timezone": str | None,
            "task": dict[str, Any] | None,
            "dag": dict[str, Any] | None,
            "missed": str,
            "max_missed": int,
            "overlap": str,
            "jitter": Duration,
            "paused": bool,
            "replace": bool,
        },
        reply=Schedule,
        acts=True,
        edits=True,
    ),
    Verb(
        name="next_runs",
        method="GET",
        path="/v1/schedules/{name}/next",
        roles=READING,
        about="When it is due next, by the clocks of its time zone.",
        takes={"count": int},
        reply=list[Run],
    ),
    Verb(
        name="pause_schedule",
        method="POST",
        path="/v1/schedules/{name}/pause",
        roles=STEERING,
        about="Let it make nothing until it is resumed.",
        reply=Schedule,
        acts=True,
    ),
    Verb(
        name="resume_schedule",
        method="POST",
        path="/v1/schedules/{name}/resume",
        roles=STEERING,
        about="Let it go on with the next tick from now.",
        reply=Schedule,
        acts=True,
    ),
    Verb(
        name="remove_schedule",
        method="DELETE",
        path="/v1/schedules/{name}",
        roles=STEERING,
        about="Forget a schedule; what it made stays.",
        reply=Schedule,
        acts=True,
        edits=True,
    ),
)
