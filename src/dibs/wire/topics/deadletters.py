"""What the queue has given up on, and what is decided about it."""

from __future__ import annotations

from typing import Any

from dibs.model.deadgroup import DeadGroup
from dibs.model.role import STEERING, WATCHING
from dibs.model.task import Task
from dibs.wire.verbs import Duration, Moment, Verb

WANTED: dict[str, Any] = {
    "type": str | None,
    "tag": str | None,
    "dag": str | None,
    "user": str | None,
    "text": str | None,
    "fingerprint": str | None,
    "since": Moment | None,
    "until": Moment | None,
    "reviewed": bool | None,
}
RULING: dict[str, Any] = {"note": str | None, "to": str | None, "delay": Duration, "question": str | None}

VERBS = (
    Verb(
        name="dead_letters",
        method="GET",
        path="/v1/dead-letters",
        roles=WATCHING,
        about="Dead letters in groups of one type and one kind of failure, the largest group first.",
        takes=WANTED,
        reply=list[DeadGroup],
    ),
    Verb(
        name="dead_letter_ids",
        method="GET",
        path="/v1/dead-letters/ids",
        roles=WATCHING,
        about="The ids of the dead letters that fit, the newest task first.",
        takes={**WANTED, "limit": int | None, "before": str | None},
        reply=list[str],
    ),
    Verb(
        name="review_many",
        method="POST",
        path="/v1/dead-letters/review",
        roles=STEERING,
        about="Decide alike about many dead letters; the task or a refusal each.",
        needs={"task_ids": list[str], "resolution": str, "by": str},
        takes=RULING,
        reply=list[Task],
        batch=True,
        acts=True,
    ),
    Verb(
        name="review",
        method="POST",
        path="/v1/dead-letters/{task_id}/review",
        roles=STEERING,
        about="Decide about a dead letter: `retried`, `dropped`, `escalated` or `kept`.",
        needs={"resolution": str, "by": str},
        takes={**RULING, "payload": Any, "keep_steps": bool},
        reply=Task,
        acts=True,
    ),
)
