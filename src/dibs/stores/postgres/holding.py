"""What the holder of a claim does meanwhile: start and renew. One call for any number; each is answered by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dibs.model.claim import News
from dibs.model.instants import from_micros
from dibs.stores.postgres import budgets
from dibs.stores.postgres.refused import refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.errors import DibsError
    from dibs.stores.postgres.engine import Engine
    from dibs.stores.values import Renewal

_START = "SELECT words, facts FROM dibs.start($1, $2, $3)"
_RENEW = "SELECT expires, words, facts, spending, slow, overdrawn FROM dibs.renew($1, $2, $3, $4, $5, $6, $7, $8)"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


async def start(engine: Engine, held: Sequence[tuple[str, int]]) -> list[DibsError | None]:
    """Mark claimed tasks as running; running ones are only confirmed."""
    if not held:
        return []
    ids, fences = zip(*held, strict=True)
    [found] = await engine.fetch(_START, engine.at, ids, fences)
    engine.changed()
    if found["words"] is None:
        return [None] * len(held)
    return [_refused(word, facts) for word, facts in zip(found["words"], found["facts"], strict=True)]


async def renew(engine: Engine, renewals: Sequence[Renewal]) -> list[News | DibsError]:
    """Extend leases, also expired ones that nobody has taken away yet."""
    if len({renewal.task_id for renewal in renewals}) < len(renewals):
        # Of one task after the other: each builds on what the one before said.
        return [answer for renewal in renewals for answer in await renew(engine, [renewal])]
    if not renewals:
        return []
    said = [_said(renewal) for renewal in renewals]
    [found] = await engine.fetch(
        _RENEW,
        engine.at,
        [renewal.task_id for renewal in renewals],
        [renewal.fence for renewal in renewals],
        [renewal.lease_s for renewal in renewals],
        [renewal.progress for renewal in renewals],
        [renewal.note for renewal in renewals],
        [None if renewal.usage is None else _encode(renewal.usage).decode() for renewal in renewals],
        said,
    )
    if any(said):
        engine.changed()
    expires, words, facts, spending, slow, overdrawn = found
    none = [None] * len(expires)
    answers = [_news(*answer) for answer in zip(expires, words or none, facts or none, slow or none, strict=True)]
    for answer, spent in zip(answers, spending, strict=True):
        if spent is not None and isinstance(answer, News):
            answer.limits = budgets.limits_of(spent)
    for answer, budget in zip(answers, overdrawn or none, strict=True):
        if budget is not None and isinstance(answer, News) and not answer.limits:
            answer.limits = {"exceeded": budget}
    return answers


def _said(renewal: Renewal) -> str | None:
    """What the event of its progress carries."""
    said: dict[str, Any] = {}
    if renewal.progress is not None:
        said["progress"] = renewal.progress
    if renewal.note is not None:
        said["note"] = renewal.note
    return _encode(said).decode() if said else None


def _news(expires: int | None, word: str | None, facts: str | None, slow: float | None) -> News | DibsError:
    if expires is not None:
        return News(lease_expires_at=from_micros(expires), slow_down=slow)
    if word == "cancelled":
        return News(cancel=True, reason=_decode(facts or "")[2])
    error = _refused(word, facts)
    assert error is not None
    return error


def _refused(word: str | None, facts: str | None) -> DibsError | None:
    """The refusal of this name; None if it holds."""
    if word is None:
        return None
    arguments = _decode(facts or "[]")
    if word == "cancelled":
        return refusal("was_cancelled", arguments[:2])
    return refusal(word, arguments)
