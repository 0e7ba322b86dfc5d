"""Questions to people: what an answer does to the task that waits for it, and what happens if none comes.

A question belongs to one task and is asked once: a handler that runs again from the top finds it by its name. An
approval belongs to one life of its task: a retry asks anew, under another id, so that an answer to the old one cannot
let the new one run. A validation belongs to one attempt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import DecodeError
from msgspec.json import decode

from dibs.errors import Invalid
from dibs.model.status import Status
from dibs.rules import forms
from dibs.rules.lifecycle import first_status

if TYPE_CHECKING:
    from dibs.model.question import Question

OPEN, ANSWERED, CLOSED = "open", "answered", "closed"
QUESTION, APPROVAL, VALIDATION, DECISION = "question", "approval", "validation", "decision"

APPROVAL_TEXT = "Shall this task run?"
APPROVAL_SCHEMA = {"type": "boolean"}
DECISION_SCHEMA = {
    "type": ["string", "object"],
    "minLength": 1,
    "maxLength": 4_000,
    "properties": {
        "do": {"enum": ["retry", "drop", "keep"]},
        "note": {"type": "string", "minLength": 1, "maxLength": 4_000},
    },
    "required": ["do"],
    "additionalProperties": False,
}
"""What becomes of a dead letter: a word, a word with a note, or just a note."""

VALIDATION_TEXT = "Is the output of this task what was asked for?"
VALIDATION_SCHEMA = {
    "type": "object",
    "properties": {"approve": {"type": "boolean"}, "reason": {"type": "string"}},
    "required": ["approve"],
    "additionalProperties": False,
}

MIN_TIMEOUT_S = 1.0
MAX_TIMEOUT_S = 366 * 86_400.0
"""How long a person may be waited for."""
BY_TIMEOUT = "timeout"
"""Who gave the default as the answer when nobody answered in time."""
LAPSED = "timeout"
"""The reason of a dead letter that nobody answered. No retry policy is asked: trying again would ask nobody."""

_ALLOWED = {
    APPROVAL: "answer yes or no (true or false)",
    VALIDATION: """answer yes, or no and why: 'no: it has no tests' ({"approve": false, "reason": "…"})""",
    DECISION: """answer retry, drop or keep ({"do": "retry", "note": "…"} to add a note), or just a note""",
}
"""What may be said where dibs itself asks; in a shell, and as JSON where that differs."""

_SHOWN_CHARS = 200
_SAID = {"yes": True, "y": True, "no": False, "n": False}


def approval_id(task_id: str, earlier: int) -> str:
    """The id of a task's approval, after so many `earlier` ones: derived, so that nobody else makes the same."""
    first = "q_" + task_id.removeprefix("task_")
    return f"{first}_{earlier + 1}" if earlier else first


def decision_id(task_id: str, number: int) -> str:
    """The id of the question what shall become of a dead letter, the `number`th that was asked about this task."""
    return f"q_{task_id.removeprefix('task_')}_d{number}"


def decision_text(error: str | None, reason: str | None) -> str:
    """What is asked about a dead letter, unless whoever hands it on asks something else."""
    return f"It was given up: {(error or reason or 'unknown')[:_SHOWN_CHARS]} - retry, drop or keep it?"


def after_answer(kind: str, answer: Any, *, open_edges: int, run_after: int | None, now: int) -> Status:
    """Where an answer moves the task that waits for it.

    Work that was interrupted goes on. Work that was handed in is judged by the answer (`rules.validating`). A task
    that was approved begins its life where it would have begun without; one that was refused is cancelled, by request.
    """
    if kind == VALIDATION:
        return Status.VALIDATING
    if kind == APPROVAL:
        return first_status(open_edges=open_edges, run_after=run_after, now=now) if answer else Status.CANCELLED
    return Status.PENDING if open_edges else Status.READY


def check_answer(question: Question, answer: Any) -> None:
    """Refuse an answer that is not what the question asks for: `Invalid`, field `value`."""
    fault = forms.fault(question.schema, answer)
    if fault is not None:
        allowed = _ALLOWED.get(APPROVAL if _is_yes_or_no(question) else question.kind, fault)
        raise Invalid(f"question {question.id} takes another answer: {allowed}.", field="value")


def check_default(schema: Any, default: Any) -> None:
    """Refuse a default that nobody could have answered: `Invalid`, field `default`."""
    fault = forms.fault(schema, default)
    if fault is not None:
        raise Invalid(f"default is not what schema asks for: {fault}.", field="default")


def refusal(by: str | None) -> str:
    """The `cancel_reason` of a task that was not approved."""
    return f"it was not approved by {by}" if by else "it was not approved"


def lapse(question_id: str, text: str) -> str:
    """The error of a task whose question nobody answered in time."""
    return f"nobody answered question {question_id} in time: {text[:_SHOWN_CHARS]}"


def judgement(approve: bool, reason: str = "") -> dict[str, Any]:
    """The answer of a person who was asked about an output."""
    return {"approve": approve, "reason": reason} if reason else {"approve": approve}


def spoken(question: Question, said: str) -> Any:
    """An answer as people write it in a shell: JSON, or just text; yes or no where that is the question, and of work
    also why: `no: it has no tests`."""
    if question.kind == VALIDATION:
        word, *rest = said.split(maxsplit=1) or [""]
        known = _SAID.get(word.rstrip(":,.;-").lower())
        if known is not None:
            return judgement(known, rest[0].strip() if rest else "")
    if _is_yes_or_no(question):
        known = _SAID.get(said.strip().lower())
        if known is not None:
            return known
    try:
        value = decode(said)
    except (DecodeError, UnicodeError, RecursionError):
        return said
    # 42 is a text too, where only a text will do.
    if not isinstance(value, str) and forms.fault(question.schema, value) and not forms.fault(question.schema, said):
        return said
    return value


def _is_yes_or_no(question: Question) -> bool:
    boolean = isinstance(question.schema, dict) and question.schema.get("type") == "boolean"
    return boolean or question.kind == APPROVAL
