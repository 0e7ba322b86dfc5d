"""Dead letters: seen in groups, and decided about. The database groups; one call decides about many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from dibs.model.deadgroup import DeadGroup
from dibs.model.instants import from_micros
from dibs.rules import questions
from dibs.rules import review as rules
from dibs.rules.large import size_of
from dibs.stores.postgres.finding import alone_in, pattern
from dibs.stores.postgres.refused import refusal
from dibs.stores.postgres.rows import tasks_from

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.errors import DibsError
    from dibs.model.task import Task
    from dibs.rules.review import Ruling
    from dibs.stores.deadletters import DeadFilter
    from dibs.stores.postgres.engine import Engine

_GROUPS = "SELECT dibs.dead_groups($1, $2, $3)"
_IDS = "SELECT dibs.dead_ids($1, $2, $3)"
_REVIEW = """
SELECT at, words, facts, whole FROM dibs.review($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
"""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

_DECISION_SCHEMA = _encode(questions.DECISION_SCHEMA).decode()


class _Group(Struct, array_like=True):
    """A group, as `functions/dead_letters.sql` answers it."""

    type: str
    fingerprint: str
    first_at: int
    last_at: int
    reason: str | None
    error: str | None
    count: int
    unreviewed: int
    poison_pills: int
    cost_usd: float | None
    unpriced: int
    task_ids: list[str]


_decode_groups = msgspec.json.Decoder(list[_Group]).decode


async def groups(engine: Engine, wanted: DeadFilter) -> list[DeadGroup]:
    """Dead letters that failed alike, together: one aggregate."""
    text = await engine.value(_GROUPS, _wanted(wanted), rules.SHOWN_IDS, rules.MAX_GROUPS)
    return [
        DeadGroup(
            type=group.type,
            fingerprint=group.fingerprint,
            first_at=from_micros(group.first_at),
            last_at=from_micros(group.last_at),
            reason=group.reason,
            error=group.error,
            count=group.count,
            unreviewed=group.unreviewed,
            poison_pills=group.poison_pills,
            cost_usd=group.cost_usd,
            unpriced=group.unpriced,
            task_ids=group.task_ids,
        )
        for group in _decode_groups(text)
    ]


async def ids(engine: Engine, wanted: DeadFilter, limit: int | None, before: str | None) -> list[str]:
    """Their ids, the newest task first."""
    return list(await engine.value(_IDS, _wanted(wanted), limit, before))


async def review(engine: Engine, task_ids: Sequence[str], ruling: Ruling) -> list[Task | DibsError]:
    """Record a decision about each and carry it out; each is answered by itself.

    A decision is recorded once, so it is not simply repeated when the connection is lost.
    """
    if not task_ids:
        return []
    payload = ruling.payload
    [[at, words, facts, whole]] = await engine.once(
        _REVIEW,
        engine.at,
        list(task_ids),
        ruling.resolution.value,
        ruling.by,
        ruling.note,
        ruling.to,
        _encode(ruling.told).decode(),
        None if payload is None else payload.decode(),
        None if payload is None else size_of(payload),
        ruling.body_hash,
        float(ruling.delay_s),
        ruling.keep_steps,
        ruling.question,
        _DECISION_SCHEMA,
    )
    engine.changed()
    tasks = {task.id: task for task in tasks_from(whole, at)}
    return [
        tasks[task_id] if word is None else refusal(word, _decode(fact))
        for task_id, word, fact in zip(task_ids, words, facts, strict=True)
    ]


def _wanted(wanted: DeadFilter) -> str:
    """The filter as the functions read it."""
    told: dict[str, Any] = msgspec.to_builtins(wanted)
    told["alone"] = [] if wanted.dag is None else alone_in(wanted.dag)
    text = told.pop("text")
    if text is not None:
        # What is searched is no JSON within JSON: the text itself can be looked for, not only what it may look like.
        small = text.lower()
        _, told["capitals"], told["smalls"] = pattern(small)
        told["like"] = f"%{small.replace('ς', 'σ').translate(_LITERAL)}%"
    return _encode(told).decode()


_LITERAL = str.maketrans({"%": "\\%", "_": "\\_", "\\": "\\\\"})
