"""Taking work, holding it, ending it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from dibs.model.artifact import Artifact
from dibs.model.claim import Claim, News, Settled
from dibs.model.ended import Ended
from dibs.model.question import Question
from dibs.model.role import WORKING
from dibs.model.task import Task
from dibs.stores.values import Renewal, Usage
from dibs.wire.verbs import Duration, Verb


class Taken(Struct, kw_only=True, omit_defaults=True):
    """What was claimed, best first. Where that is nothing: for how long to `slow_down`, the `reason`, and in how many
    seconds time alone may change that (`due_in`), if that is known."""

    claims: list[Claim] = field(default_factory=list)
    slow_down: float | None = None
    reason: str | None = None
    due_in: float | None = None


class Spawned(Struct, kw_only=True):
    """The tasks below the one that spawned them. `suspended`: its claim has ended, and it waits for them."""

    tasks: list[Task]
    existing: list[bool] = field(default_factory=list)
    suspended: bool = False


class AskedOf(Struct, kw_only=True):
    """The question as it is now. `suspended`: the claim has ended, and the task waits for the answer."""

    question: Question
    suspended: bool = False


FENCE: dict[str, Any] = {"fence": int}
USED: dict[str, Any] = {
    "cost": float | None,
    "tokens_in": int | None,
    "tokens_out": int | None,
    "turns": int | None,
    "model": str | None,
    "tokens_cached": int | None,
    "tokens_cache_written": int | None,
}
COMPLETED: dict[str, Any] = {"output": Any, "decision": Any, **USED}
FAILED: dict[str, Any] = {
    "reason": str,
    "retry": bool,
    "retry_after": Duration | None,
    "exit_code": int | None,
    **USED,
}
JUDGED: dict[str, Any] = {"judged": bool, "refusal": str | None}
"""Whoever completes a task whose output must pass a command runs it, and says here that it did, and what was found
against the output, if anything."""
MEMBERS = list[tuple[str, int]]
"""Id and fence of each task of a group, its first one first."""

VERBS = (
    Verb(
        name="claim",
        method="POST",
        path="/v1/claims",
        roles=WORKING,
        about="Take up to `limit` ready tasks, best first; wait up to `wait` (at most 60 s) while there are none.",
        needs={"agent": str},
        takes={
            "capabilities": list[str],
            "types": list[str] | None,
            "models": list[str],
            "limit": int,
            "lease": Duration,
            "wait": Duration,
            "start": bool,
            "claim_id": str | None,
        },
        reply=Taken,
        waits=True,
    ),
    Verb(
        name="start",
        method="POST",
        path="/v1/tasks/{task_id}/start",
        roles=WORKING,
        about="Say that the work has begun, after a claim with `start` false.",
        needs=FENCE,
    ),
    Verb(
        name="renew",
        method="POST",
        path="/v1/tasks/{task_id}/renew",
        roles=WORKING,
        about="Extend the lease from now and say how it goes; the answer says whether to stop.",
        needs=FENCE,
        takes={"lease": Duration | None, "progress": float | None, "note": str | None, **USED},
        reply=News,
    ),
    Verb(
        name="renew_many",
        method="POST",
        path="/v1/renewals",
        roles=WORKING,
        about="Renew many leases in one commit; an answer or a refusal each.",
        needs={"renewals": list[Renewal]},
        reply=list[News],
        batch=True,
    ),
    Verb(
        name="complete",
        method="POST",
        path="/v1/tasks/{task_id}/complete",
        roles=WORKING,
        about="The work is done. Saying it again is answered the same.",
        needs=FENCE,
        takes={**COMPLETED, "artifacts": list[Artifact], **JUDGED},
        reply=Settled,
    ),
    Verb(
        name="fail",
        method="POST",
        path="/v1/tasks/{task_id}/fail",
        roles=WORKING,
        about="The attempt failed; the task's retry policy, the reason and `retry` decide whether it is tried again.",
        needs={**FENCE, "error": str},
        takes=FAILED,
        reply=Settled,
    ),
    Verb(
        name="release",
        method="POST",
        path="/v1/tasks/{task_id}/release",
        roles=WORKING,
        about="Give the work back unharmed; no attempt is used up.",
        needs=FENCE,
        takes={"delay": Duration},
        reply=Settled,
    ),
    Verb(
        name="complete_group",
        method="POST",
        path="/v1/groups/complete",
        roles=WORKING,
        about="Complete a claim and all in its group with the same output, in one commit.",
        needs={"claim": MEMBERS},
        takes=COMPLETED,
        reply=list[Settled],
        batch=True,
    ),
    Verb(
        name="fail_group",
        method="POST",
        path="/v1/groups/fail",
        roles=WORKING,
        about="Fail a claim and all in its group, in one commit.",
        needs={"claim": MEMBERS, "error": str},
        takes=FAILED,
        reply=list[Settled],
        batch=True,
    ),
    Verb(
        name="release_group",
        method="POST",
        path="/v1/groups/release",
        roles=WORKING,
        about="Give back a claim and all in its group, in one commit.",
        needs={"claim": MEMBERS},
        takes={"delay": Duration},
        reply=list[Settled],
        batch=True,
    ),
    Verb(
        name="settle_outcomes",
        method="POST",
        path="/v1/outcomes",
        roles=WORKING,
        about="End up to 1,000 claims, each in its own way, in one commit; an answer or a refusal each.",
        needs={"outcomes": list[Ended]},
        reply=list[Settled],
        batch=True,
    ),
    Verb(
        name="spawn_below",
        method="POST",
        path="/v1/tasks/{task_id}/spawn",
        roles=WORKING,
        about="Add tasks below a running one, once; with `wait` its claim ends until all of them have ended.",
        needs={**FENCE, "tasks": list[dict[str, Any]]},
        takes={"wait": bool, "name": str | None, "used": Usage | None},
        reply=Spawned,
    ),
    Verb(
        name="ask_under",
        method="POST",
        path="/v1/tasks/{task_id}/ask",
        roles=WORKING,
        about="Ask a person, once; the claim ends, and the task is claimed again with the answer.",
        needs={**FENCE, "question": str},
        takes={
            "schema": Any,
            "assignee": str | None,
            "timeout": Duration | None,
            "default": Any,
            "name": str | None,
            "used": Usage | None,
        },
        reply=AskedOf,
    ),
)
