"""Adding tasks, looking at them, steering them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from dibs.model.attempt import Attempt
from dibs.model.dag import Dag
from dibs.model.retry import Retry
from dibs.model.role import EVERYONE, STEERING
from dibs.model.task import Task
from dibs.model.views import Page, Why
from dibs.wire.verbs import Duration, Moment, Verb


class OfContent(Struct, frozen=True):
    """`{"content": true}`: the key is made of type and payload (`dibs.CONTENT`)."""

    content: bool = True


class Waited(Struct, kw_only=True, omit_defaults=True):
    """The task or dag if it has ended; else only that it has not, yet, and where it is."""

    ended: bool
    status: str
    task: Task | None = None
    dag: Dag | None = None


OPTIONS: dict[str, Any] = {
    "payload": Any,
    "title": str | None,
    "priority": float,
    "boost": float,
    "deadline": Moment | None,
    "on_deadline": str,
    "run_after": Moment | None,
    "after": list[str],
    "after_ended": list[str],
    "dag": str | None,
    "key": str | OfContent | None,
    "requires": list[str],
    "assignee": str | None,
    "models": list[str],
    "fallback_models": list[str],
    "provider": str | None,
    "max_attempts": int,
    "retry": Retry | str | None,
    "timeout": Duration | None,
    "max_cost": float | None,
    "max_tokens": int | None,
    "max_turns": int | None,
    "locks": list[str],
    "tags": list[str],
    "user": str | None,
    "created_by": str | None,
    "expects": Any,
    "approval": bool,
    "coalesce_key": str | None,
    "coalesce_window": Duration,
    "context": Any,
}
"""What a new task may say beside its type."""
IN_A_LIST: dict[str, Any] = {"type": str, "ref": str | None, "id": str | None, **OPTIONS}
"""What a task in a list may say; `type` it must. `ref` is how others of the same call name it. Whoever gives it an
`id` (`task_` and 26 characters, new each time) may send the same call again: what exists is answered."""

VERBS = (
    Verb(
        name="add",
        method="POST",
        path="/v1/tasks",
        roles=STEERING,
        about="Add one task; once this is answered it survives any crash.",
        needs={"type": str},
        takes=OPTIONS,
        reply=Task,
        status=201,
        once=True,
    ),
    Verb(
        name="add_many",
        method="POST",
        path="/v1/tasks/batch",
        roles=STEERING,
        about="Add up to 10,000 tasks in one commit, all or none; refs may point inside the call.",
        needs={"tasks": list[dict[str, Any]]},
        reply=list[Task],
        status=201,
        once=True,
    ),
    Verb(
        name="find",
        method="GET",
        path="/v1/tasks",
        roles=EVERYONE,
        about="Tasks that fit all that is given, newest first, a page at a time; agents see no payloads and outputs.",
        takes={
            "status": list[str] | None,
            "type": str | None,
            "tag": str | None,
            "dag": str | None,
            "agent": str | None,
            "user": str | None,
            "text": str | None,
            "limit": int,
            "cursor": str | None,
            "query": str | None,
        },
        reply=Page,
    ),
    Verb(
        name="get",
        method="GET",
        path="/v1/tasks/{task_id}",
        roles=EVERYONE,
        about="The task as it is now.",
        reply=Task,
    ),
    Verb(
        name="look_up",
        method="POST",
        path="/v1/tasks/look-up",
        roles=EVERYONE,
        about="Up to 1,000 tasks by their ids, as lists show them; null in the place of those that there are not.",
        needs={"ids": list[str]},
        reply=list[Task | None],
    ),
    Verb(
        name="why",
        method="GET",
        path="/v1/tasks/{task_id}/why",
        roles=EVERYONE,
        about="Why the task is where it is, in one sentence, and what would help.",
        reply=Why,
    ),
    Verb(
        name="history",
        method="GET",
        path="/v1/tasks/{task_id}/history",
        roles=EVERYONE,
        about="Every claim of the task that ended, oldest first.",
        reply=list[Attempt],
    ),
    Verb(
        name="judges_of",
        method="GET",
        path="/v1/tasks/{task_id}/judges",
        roles=EVERYONE,
        about="The tasks that judge the work of this one, or did, oldest first.",
        reply=list[Task],
    ),
    Verb(
        name="wait",
        method="GET",
        path="/v1/tasks/{target}/wait",
        roles=EVERYONE,
        about="The task once it has ended; after `timeout` (at most 60 s) without it. Ask again to wait longer.",
        takes={"timeout": Duration | None},
        reply=Waited,
        waits=True,
    ),
    Verb(
        name="cancel",
        method="POST",
        path="/v1/tasks/{target}/cancel",
        roles=STEERING,
        about="Cancel a task, and what depends on it or was spawned by it; the ids that this ended.",
        takes={"reason": str | None},
        reply=list[str],
        acts=True,
    ),
    Verb(
        name="retry",
        method="POST",
        path="/v1/tasks/{task_id}/retry",
        roles=STEERING,
        about="Give a dead-lettered or cancelled task a new life, and with it what was cancelled because of it.",
        takes={"payload": Any, "delay": Duration, "keep_steps": bool},
        reply=Task,
        acts=True,
    ),
    Verb(
        name="link",
        method="POST",
        path="/v1/tasks/{task_id}/link",
        roles=STEERING,
        about="Make a task that has not started wait for others too.",
        takes={"after": list[str], "after_ended": list[str]},
        reply=Task,
        acts=True,
    ),
    Verb(
        name="tag",
        method="POST",
        path="/v1/tasks/{task_id}/tags",
        roles=STEERING,
        about="Give a task tags, or take them away, wherever it is in its life.",
        takes={"add": list[str], "remove": list[str]},
        reply=Task,
        acts=True,
    ),
    Verb(
        name="reassign",
        method="PUT",
        path="/v1/tasks/{task_id}/assignee",
        roles=STEERING,
        about="Say whom a task is for that nobody holds: an agent, agents of a type, anybody but one (!NAME), or"
        " anybody (null).",
        needs={"assignee": str | None},
        reply=Task,
        acts=True,
        edits=True,
    ),
    Verb(
        name="set_priority",
        method="PUT",
        path="/v1/tasks/{task_id}/priority",
        roles=STEERING,
        about="Change how urgent a task is: 0 (now) to 100 (whenever).",
        needs={"priority": float},
        reply=Task,
        acts=True,
        edits=True,
    ),
)
