"""What an attempt leaves for the next one, and for whoever looks."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dibs.model.role import EVERYONE, WORKING
from dibs.wire.topics.claims import FENCE
from dibs.wire.verbs import Verb


class Line(Struct, kw_only=True, omit_defaults=True):
    """One entry of a task's journal: `kind` is `step`, `spawn`, `checkpoint`, `made` or `log`."""

    kind: str
    name: str = ""
    digest: str = ""
    value: Any = None


VERBS = (
    Verb(
        name="journal",
        method="GET",
        path="/v1/tasks/{task_id}/journal",
        roles=EVERYONE,
        about="The task's journal: steps, spawns, checkpoint, log lines.",
        reply=list[Line],
    ),
    Verb(
        name="record",
        method="POST",
        path="/v1/tasks/{task_id}/journal",
        roles=WORKING,
        about="Write to the task's journal; what is recorded for each entry now.",
        needs={**FENCE, "entries": list[Line]},
        reply=list[Line],
    ),
    Verb(
        name="checkpoint",
        method="PUT",
        path="/v1/tasks/{task_id}/checkpoint",
        roles=WORKING,
        about="Keep `data` for the next attempt of this task; it replaces the last checkpoint.",
        needs={**FENCE, "data": Any},
    ),
    Verb(
        name="log",
        method="POST",
        path="/v1/tasks/{task_id}/log",
        roles=WORKING,
        about="Append a line to the task's log; the last 1,000 are kept.",
        needs={**FENCE, "line": str},
    ),
)
