"""What agents are told: as little as they need, as one line of JSON. What is empty is left out, what is long is cut.

A model pays for every word of it. What was cut can be read in pieces with `show`, or whole as a resource.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, to_builtins
from msgspec.json import encode

from dibs.model.status import ENDED_BADLY, FAILURES
from dibs.model.task import Task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dibs.errors import DibsError
    from dibs.model.attempt import Attempt
    from dibs.model.claim import Claim
    from dibs.model.dag import Dag
    from dibs.model.heard import Heard
    from dibs.model.question import Question
    from dibs.model.views import Why

MOST_CHARS = 20_000
"""How much of one value is told at once."""
MOST_ERROR_CHARS = 1_000
MOST_ATTEMPTS = 3

NEXT = {
    "lease_lost": "Somebody else has this task, or will. Change nothing more for it; claim again.",
    "not_held": "claim a task first.",
    "illegal_transition": "It has ended already, or is not where you think: show it. Then claim again.",
    "invalid": "Correct what is named and call again.",
    "not_found": "find lists the tasks that there are.",
    "key_reused": "Leave the key out, or use another one.",
    "cycle_detected": "Take one of these edges out of `after`.",
    "denied": "Your token may not do this. Do something else, or ask whoever runs the queue.",
    "unknown_token": "Your token is not valid any more: ask whoever runs the queue for another.",
    "unavailable": "The queue is away. Call again in a few seconds; what you hold is kept if it is back in time.",
    "must_be_judged": "Its output must pass a command where the work is done: complete it there, with `dibs mcp` on"
    " stdio or `dibs complete`. Here you can only release or fail it.",
    "unknown_session": "claim without session: a new one begins.",
}
"""By the code of an error: what to do now."""


def text(value: Any) -> str:
    """A value as the one line that is sent."""
    return encode(value, enc_hook=str).decode()


def lean(value: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says nothing."""
    return {name: each for name, each in value.items() if each is not None and each not in ("", [], {}, ())}


def cut(value: Any, whole: str, most: int = MOST_CHARS) -> Any:
    """A value, if it is short; else its beginning, how long it is, and where all of it is."""
    said = value if isinstance(value, str) else text(value)
    if len(said) <= most:
        return value
    return {"cut": said[:most], "chars": len(said), "whole": whole}


def error(problem: DibsError) -> dict[str, Any]:
    """What is wrong, and what to do now."""
    code = problem.code
    known = next((NEXT[name] for name in (code, *_codes_of(problem)) if name in NEXT), None)
    return lean({"error": code, "message": problem.message, "field": problem.field, "next": known})


def _codes_of(problem: DibsError) -> list[str]:
    """Those of the kinds of errors that it is one of, the nearest first."""
    return [code for kind in type(problem).__mro__ if (code := vars(kind).get("code"))]


class Known(Struct):
    """What a claim does not say by itself: the tasks that its inputs come from, by the names of these, and what was
    asked, by the ids of the questions."""

    tasks: dict[str, Task] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)

    def values(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Outputs of others. What is long is cut; where there is none because its task did not complete, it says so."""
        return {name: self._value(name, value) for name, value in found.items()}

    def _value(self, name: str, value: Any) -> Any:
        task = self.tasks.get(name)
        if task is None:
            return cut(value, "show the task it comes from")
        if value is None and task.status in ENDED_BADLY:
            return lean({"task": task.id, "status": task.status, "error": task.error or task.cancel_reason})
        return cut(value, f"dibs://task/{task.id}/output")


def claimed(claim: Claim, known: Known, *, kept: str) -> dict[str, Any]:
    """All that an agent needs to do the work."""
    task = claim.task
    failed = [each for each in claim.previous_attempts if each.outcome in FAILURES]
    return lean(
        {
            "task": task.id,
            "type": task.type,
            "title": task.title,
            "payload": cut(task.payload, f"dibs://task/{task.id}/payload"),
            "context": cut(claim.context, f"dibs://task/{task.id}/context"),
            "inputs": known.values(claim.inputs),
            "children": known.values(claim.children),
            "answers": [
                {"question": known.asked.get(id, id), "answer": cut(said, "whoever answered has it")}
                for id, said in claim.answers.items()
            ],
            "checkpoint": cut(claim.checkpoint, f"dibs://task/{task.id}/checkpoint"),
            "made": None if claim.made is None else cut(claim.made.output, f"dibs://task/{task.id}/made"),
            "expects": task.expects,
            "attempt": f"{task.attempts + 1} of {task.max_attempts}",
            "previous_attempts": [attempt(each) for each in failed[-MOST_ATTEMPTS:]],
            "limits": left(task),
            "timeout_s": claim.timeout_s,
            "deadline": task.deadline,
            "model": claim.model,
            "with": [each.task.id for each in claim.group],
            "fence": claim.fence,
            "lease_s": claim.lease_s,
            "kept": kept,
        }
    )


def ended(each: Heard) -> dict[str, Any]:
    """How a task ended that this one spawned."""
    said = {
        "task": each.task_id,
        "ref": each.ref,
        "status": each.status,
        "output": cut(each.output, f"dibs://task/{each.task_id}/output"),
        "error": None if each.error is None else each.error[:MOST_ERROR_CHARS],
        "reason": each.reason,
    }
    return lean(said)


def left(task: Task) -> dict[str, Any]:
    """What of its limits earlier attempts have left to this one."""
    used = {"usd": task.cost_usd, "tokens": (task.tokens_in or 0) + (task.tokens_out or 0), "turns": task.turns}
    most = {"usd": task.max_cost, "tokens": task.max_tokens, "turns": task.max_turns}
    return {name: round(limit - (used[name] or 0), 6) for name, limit in most.items() if limit is not None}


def attempt(each: Attempt) -> dict[str, Any]:
    """How an attempt ended."""
    said = each.error
    if said is not None and len(said) > MOST_ERROR_CHARS:
        said = f"{said[: MOST_ERROR_CHARS // 2]} … {said[-MOST_ERROR_CHARS // 2 :]}"
    return lean({"outcome": each.outcome, "reason": each.reason, "error": said, "agent": each.agent})


def brief(task: Task) -> dict[str, Any]:
    """A task in a list."""
    return lean(
        {
            "task": task.id,
            "ref": task.ref,
            "type": task.type,
            "title": task.title,
            "status": task.status,
            "progress": task.progress,
            "note": task.note,
            "agent": task.agent,
            "error": None if task.error is None else task.error[:200],
            "after": task.depends_on,
        }
    )


_IN_SHORT = frozenset({"payload", "output", "context", "decision"})
_UNSAID = frozenset(
    {"project", "boost", "priority", "effective_priority", "max_attempts", "charged_to", "depth", "on_deadline"}
)


def shown(task: Task, attempts: Sequence[Attempt]) -> dict[str, Any]:
    """One task, with how its attempts ended."""
    said = {
        name: value
        for name, value in _plain(task).items()
        if name in _IN_SHORT or (name not in _UNSAID and bool(value) and not name.endswith(("_at", "_until")))
    }
    for name in _IN_SHORT & said.keys():
        said[name] = cut(said[name], f"dibs://task/{task.id}/{name}")
    said["task"] = said.pop("id")
    ended = [attempt(each) for each in attempts[-MOST_ATTEMPTS:]]
    return lean({**said, "updated_at": task.updated_at, "history": ended})


def piece(said: str, start: int) -> dict[str, Any]:
    """A long value from one place on."""
    end = start + MOST_CHARS
    return lean(
        {"from": start, "text": said[start:end], "chars": len(said), "next_from": end if end < len(said) else None}
    )


def dag(found: Dag) -> dict[str, Any]:
    """A graph and its tasks."""
    return lean(
        {
            "dag": found.id,
            "title": found.title,
            "status": found.status,
            "counts": found.counts,
            "cost_usd": found.cost_usd,
            "tasks": [brief(task) for task in found.tasks[:200]],
            "more_tasks": max(0, len(found.tasks) - 200) or None,
        }
    )


def why(found: Why) -> dict[str, Any]:
    """Why a task is where it is."""
    return lean(
        {"status": found.status, "why": found.explanation, "blockers": [_plain(each) for each in found.blockers]}
    )


def question(asked: Question) -> dict[str, Any]:
    """What a task asks of a person."""
    return lean(
        {
            "question": asked.id,
            "kind": None if asked.kind == "question" else asked.kind,
            "task": asked.task_id,
            "type": asked.type,
            "title": asked.title,
            "text": asked.question,
            "schema": asked.schema,
            "assignee": asked.assignee,
            "default": asked.default,
            "expires_at": asked.expires_at,
        }
    )


def _plain(value: Struct) -> dict[str, Any]:
    found: dict[str, Any] = to_builtins(value, builtin_types=(datetime,))
    return lean(found)
