"""What agents ask of people and people answer, checked and put into the store's words. The verbs are in `people.py`."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from msgspec.json import decode, encode

from dibs.errors import Invalid
from dibs.requests import agent_text, optional
from dibs.rules import forms, questions, validation
from dibs.stores.values import Ask

if TYPE_CHECKING:
    from dibs.model.question import Question
    from dibs.stores.values import Usage

MAX_QUESTION_CHARS = 10_000
MAX_SCHEMA_BYTES = 64 << 10


def ask(
    held: tuple[str, int],
    id: str,
    question: Any,
    schema: Any,
    *,
    assignee: str | None = None,
    timeout: Any = None,
    default: Any = None,
    name: str | None = None,
    used: Usage | None = None,
) -> Ask:
    """A checked question of whoever holds this claim. Without a name, what is asked and of whom tells it apart."""
    text, _ = validation.clean_text(agent_text(question, "question"), MAX_QUESTION_CHARS)
    if not text.strip():
        raise Invalid("question must not be empty or blank.", field="question")
    form = None
    if schema is not None:
        form = _canonical(schema, "schema", MAX_SCHEMA_BYTES)
        forms.check(decode(form))
    fallback = None
    if default is not None:
        fallback = _canonical(default, "default", validation.MAX_PAYLOAD_BYTES)
        questions.check_default(None if form is None else decode(form), decode(fallback))
        if timeout is None:
            raise Invalid(
                "default is the answer after `timeout`; say how long to wait for a better one.", field="timeout"
            )
    whom = optional(assignee, "assignee")
    digest = blake2b(encode([text, None if form is None else form.decode(), whom]), digest_size=16).hexdigest()
    task_id, fence = held
    return Ask(
        task_id=task_id,
        fence=fence,
        id=id,
        name=digest if name is None else validation.text(name, "name"),
        digest=digest,
        question=text,
        schema=form,
        assignee=whom,
        timeout_s=None
        if timeout is None
        else validation.duration_s(timeout, "timeout", low=questions.MIN_TIMEOUT_S, high=questions.MAX_TIMEOUT_S),
        default=fallback,
        usage=used,
    )


def answer(question: Question, value: Any) -> bytes:
    """An answer as it is kept: equal values are equal bytes. Refused if it is not what the question asks for."""
    if question.kind == questions.VALIDATION and isinstance(value, bool):
        value = questions.judgement(value)
    body = _canonical(value, "value", validation.MAX_PAYLOAD_BYTES)
    questions.check_answer(question, decode(body))
    return body


def _canonical(value: Any, field: str, max_bytes: int) -> bytes:
    return encode(decode(validation.json_bytes(value, field, max_bytes=max_bytes)), order="sorted")
