"""Ending claims: one call for a batch, with what depended on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, Struct

from dibs.model.attempt import Limited
from dibs.model.claim import Settled
from dibs.model.instants import from_micros
from dibs.stores.postgres import arrays, cascade
from dibs.stores.postgres.refused import refusal
from dibs.stores.values import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.errors import DibsError
    from dibs.stores.postgres.engine import Engine
    from dibs.stores.values import Settlement

_TYPES = ("text[]", "bigint[]", "bigint[]", *("text[]",) * 5)
_SETTLE = "SELECT * FROM dibs.settle($1, {})".format(  # noqa: S608
    ", ".join(f"${place}::text::{type}" for place, type in enumerate(_TYPES, 2))
)

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class More(Struct, omit_defaults=True):
    """The rest of a decision, where the work did not simply complete; the names are those of `Settlement`."""

    outcome: str
    next: str
    delay_s: float = 0.0
    counts_attempt: bool = True
    counts_crash: bool = False
    releases: int = 0
    suspect: bool = False
    fallback: bool = False
    timeout_s: float | None = None
    poison_pill: bool = False
    reason: str | None = None
    error: str | None = None
    fingerprint: str | None = None
    exit_code: int | None = None
    output_sanitized: bool = False
    artifacts: Raw | None = None
    usage: Usage | None = None
    limited: Limited | None = None
    concludes: bool = False
    used_up: bool = False
    together: bool = False


async def settle(
    engine: Engine, numbers: dict[str, int], settlements: Sequence[Settlement]
) -> list[Settled | DibsError]:
    """End claims as decided; each is answered by itself."""
    ids = [each.task_id for each in settlements]
    fences = [each.fence for each in settlements]
    # No task has the number 0.
    known = [numbers.pop(id, 0) for id in ids]
    [found] = await engine.fetch(
        _SETTLE,
        engine.at,
        arrays.of_names(ids),
        None if 0 in known else arrays.of_numbers(known),
        arrays.of_numbers(fences),
        arrays.of_names([each.digest for each in settlements]),
        _some(
            [None if each.output is None or each.output == b"null" else each.output.decode() for each in settlements]
        ),
        _some([None if each.decision is None else each.decision.decode() for each in settlements]),
        _some([_encode(each.memory).decode() if each.memory else None for each in settlements]),
        _some([None if each.is_simple else _more(each) for each in settlements]),
    )
    engine.changed()
    if found["words"] is None:
        return [
            Settled(task_id=id, fence=fence, outcome="completed", status="completed")
            for id, fence in zip(ids, fences, strict=True)
        ]
    if found["marked"]:
        await cascade.spread_after(engine, found["marked"])
    return [
        _answer(settlement, word, _decode(facts))
        for settlement, word, facts in zip(settlements, found["words"], found["facts"], strict=True)
    ]


def _some(column: list[str | None]) -> str | None:
    """A column; nothing if there is nothing in it."""
    return arrays.of_texts(column) if any(column) else None


def _more(settlement: Settlement) -> str:
    return _encode(
        More(
            settlement.outcome.value,
            settlement.next.value,
            settlement.delay_s,
            settlement.counts_attempt,
            settlement.counts_crash,
            settlement.releases,
            settlement.suspect,
            settlement.fallback,
            settlement.timeout_s,
            settlement.poison_pill,
            settlement.reason,
            settlement.error,
            settlement.fingerprint,
            settlement.exit_code,
            settlement.output_sanitized,
            Raw(_encode(settlement.artifacts)) if settlement.artifacts else None,
            settlement.usage,
            settlement.limited,
            concludes=settlement.concludes,
            used_up=settlement.used_up,
            together=settlement.together,
        )
    ).decode()


def _answer(settlement: Settlement, word: str, facts: list[Any]) -> Settled | DibsError:
    if word != "settled":
        return refusal(word, facts)
    outcome, status, retry_at = facts
    return Settled(
        task_id=settlement.task_id,
        fence=settlement.fence,
        outcome=outcome,
        status=status,
        retry_at=None if retry_at is None else from_micros(retry_at),
    )
