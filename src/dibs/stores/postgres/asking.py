"""Questions to people: each step is one call of a function in `functions/asking.sql`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from dibs.model.question import Question
from dibs.rules import questions, review
from dibs.stores.postgres.cascade import spread_after
from dibs.stores.postgres.rows import instant
from dibs.stores.values import Asked

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine
    from dibs.stores.values import Ask

_ASK = "SELECT suspended, asked FROM dibs.ask($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
_ANSWER = "SELECT asked, task, more FROM dibs.answer($1, $2, $3, $4, $5, $6, $7)"
_LAPSE = "SELECT dibs.lapse($1, $2)"
_INBOX = "SELECT dibs.inbox($1, $2, $3)"
_ONE = "SELECT dibs.asked(ARRAY[$1])"
_OF_TASK = """
SELECT dibs.asked(ARRAY(SELECT q.id FROM dibs.specs s JOIN dibs.questions q ON q.n = s.n WHERE s.id = $1))
"""


class _Kept(Struct, array_like=True):
    """A question as `asked` answers it: its facts, then what users wrote."""

    facts: tuple[
        str, str, str, str | None, str, str | None, str, str | None, str, int, int | None, str | None, int | None
    ]
    schema: Any
    fallback: Any
    answer: Any


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[_Kept]).decode


async def ask(engine: Engine, ask: Ask) -> Asked:
    """Ask a person, once. The claim ends, unless there is an answer already."""
    [(suspended, asked)] = await engine.fetch(
        _ASK,
        engine.at,
        ask.task_id,
        ask.fence,
        ask.id,
        ask.name,
        ask.digest,
        ask.question,
        None if ask.schema is None else ask.schema.decode(),
        ask.assignee,
        ask.timeout_s,
        None if ask.default is None else ask.default.decode(),
        None if ask.usage is None else _encode(ask.usage).decode(),
        ask.kind,
    )
    engine.changed()
    [question] = _questions(asked)
    return Asked(question=question, suspended=suspended)


async def answer(engine: Engine, question_id: str, value: bytes, by: str | None) -> Question:
    """Take an answer to an open question; the same answer again is answered as before."""
    # What it would decide about a dead letter; other questions do not look at it.
    decided = review.answered(msgspec.json.decode(value), by)
    [(asked, task, more)] = await engine.fetch(
        _ANSWER,
        engine.at,
        question_id,
        value.decode(),
        by,
        questions.refusal(by),
        decided.resolution.value,
        decided.note,
    )
    engine.changed()
    if more:
        await spread_after(engine, [task])
    [question] = _questions(asked)
    return question


async def lapse(engine: Engine, limit: int) -> int:
    """End questions whose time is over. What follows from a dead letter is left to `spread`."""
    lapsed = int(await engine.value(_LAPSE, engine.at, limit))
    if lapsed:
        engine.changed()
    return lapsed


async def inbox(engine: Engine, project: str, assignee: str | None, limit: int) -> list[Question]:
    """Open questions, oldest first."""
    return _questions(await engine.value(_INBOX, project, assignee, limit))


async def find(engine: Engine, id: str | None, task_id: str | None) -> list[Question]:
    """One question, or those of a task, oldest first."""
    return _questions(await (engine.value(_OF_TASK, task_id) if id is None else engine.value(_ONE, id)))


def _questions(text: str) -> list[Question]:
    return [_question(kept) for kept in _decode(text)]


def _question(kept: _Kept) -> Question:
    id, task_id, type, title, kind, name, text, assignee, status, asked_at, expires_at, by, answered_at = kept.facts
    return Question(
        id=id,
        task_id=task_id,
        type=type,
        title=title,
        kind=kind,
        name=name,
        question=text,
        schema=kept.schema,
        assignee=assignee,
        default=kept.fallback,
        status=status,
        asked_at=instant(asked_at),
        expires_at=instant(expires_at),
        answer=kept.answer,
        answered_by=by,
        answered_at=instant(answered_at),
    )
