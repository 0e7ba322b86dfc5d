"""What agents ask of people, and what people answer."""

from __future__ import annotations

from typing import Any

from dibs.model.question import Question
from dibs.model.role import EVERYONE, STEERING, WATCHING
from dibs.wire.verbs import Verb

VERBS = (
    Verb(
        name="inbox",
        method="GET",
        path="/v1/questions",
        roles=WATCHING,
        about="The open questions and approvals, oldest first.",
        takes={"assignee": str | None, "limit": int},
        reply=list[Question],
    ),
    Verb(
        name="get_question",
        method="GET",
        path="/v1/questions/{question_id}",
        roles=WATCHING,
        about="The question as it is now.",
        reply=Question,
    ),
    Verb(
        name="answer",
        method="POST",
        path="/v1/questions/{question_id}/answer",
        roles=STEERING,
        about="Answer an open question; its task goes on.",
        needs={"value": Any},
        takes={"by": str | None},
        reply=Question,
        acts=True,
    ),
    Verb(
        name="questions_of",
        method="GET",
        path="/v1/tasks/{task_id}/questions",
        roles=EVERYONE,
        about="Everything the task ever asked, approvals included, oldest first; with the answers.",
        reply=list[Question],
    ),
)
