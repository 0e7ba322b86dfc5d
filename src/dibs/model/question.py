"""What a task asks of a person."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct


class Question(Struct, kw_only=True, gc=False):
    """A question as dibs knows it at one moment. While it is open its task is `waiting`.

    Kinds: `question` (an agent asked it while it worked), `approval` (whether the task may run at all; the answer is
    true or false), `validation` (whether its output is what was asked for; the answer has `approve` and, if it is not,
    a `reason`), `escalation` (a rung of its ladder asks how it shall go on) and `decision` (what shall become of a
    dead letter: retry, drop, keep, or a note; its task is not waiting, it has ended). Statuses: `open`, `answered`,
    `closed` (its task ended, or was decided about, before anybody answered). `schema` says what an answer must look
    like; `assignee` whom it is meant for. If nobody answers until `expires_at`, the task goes on with `default`, or
    without one ends as a dead letter. `type` and `title` are the task's; `name` tells the questions of one task apart.
    """

    id: str
    task_id: str
    type: str = ""
    title: str | None = None
    kind: str = "question"
    name: str | None = None
    question: str = ""
    schema: Any = None
    assignee: str | None = None
    default: Any = None
    status: str = "open"
    asked_at: datetime | None = None
    expires_at: datetime | None = None
    answer: Any = None
    answered_by: str | None = None
    answered_at: datetime | None = None
