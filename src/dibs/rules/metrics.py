"""What metrics mean: who belongs to which group, which ends count as what, percentiles.

Stores count; `measured` makes of each group's counts what people see.
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.errors import Invalid
from dibs.model.metrics import Metrics
from dibs.model.status import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BY = ("type", "agent", "model", "day")
OF_TASKS = frozenset({"type", "day"})
"""Groups that tasks belong to before anybody claims them."""

DAY_US = 86_400_000_000
FAILED = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.EXPIRED, Outcome.REJECTED})
RAN = frozenset({Outcome.COMPLETED, Outcome.FAILED, Outcome.TIMED_OUT, Outcome.REJECTED})
_EPOCH = date(1970, 1, 1).toordinal()


class Counts(Struct, array_like=True):
    """One group as stores count it: `name` as text, a day as its number since 1970, no model as ""; times in
    microseconds."""

    name: str
    created: int = 0
    completed: int = 0
    failed: int = 0
    dead_lettered: int = 0
    cancelled: int = 0
    wait_p50: int | None = None
    wait_p95: int | None = None
    run_p50: int | None = None
    run_p95: int | None = None
    held: int = 0
    renewal_delay: int | None = None
    cost_usd: float | None = None
    unpriced: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    turns: int | None = None


def check_by(by: Any) -> str:
    """One of the ways to group."""
    if by not in BY:
        raise Invalid(f"by must be one of {', '.join(BY)}, not {by!r:.80}.", field="by")
    return str(by)


def group_of(by: str, *, type: str, agent: str, model: str | None, at: int) -> str:
    """The group that a claim belongs to, as stores name it; `at` is when it ended."""
    if by == "type":
        return type
    if by == "agent":
        return agent
    return model or "" if by == "model" else str(at // DAY_US)


def percentile(ordered: Sequence[int], percent: int) -> int | None:
    """The nearest rank: the smallest value that at least so many percent do not exceed. None of nothing."""
    return ordered[(len(ordered) * percent + 99) // 100 - 1] if ordered else None


def measured(by: str, counts: Iterable[Counts]) -> list[Metrics]:
    """The groups as people see them: days in their order, others by name, and what has none last."""
    groups = sorted(counts, key=lambda one: (one.name == "", int(one.name) if by == "day" else 0, one.name))
    return [_measured(by, one) for one in groups]


def _measured(by: str, one: Counts) -> Metrics:
    ended = one.completed + one.failed
    return Metrics(
        name=_shown(by, one.name),
        created=one.created if by in OF_TASKS else None,
        completed=one.completed,
        failed=one.failed,
        dead_lettered=one.dead_lettered,
        cancelled=one.cancelled,
        error_rate=one.failed / ended if ended else None,
        wait_p50_s=_seconds(one.wait_p50),
        wait_p95_s=_seconds(one.wait_p95),
        run_p50_s=_seconds(one.run_p50),
        run_p95_s=_seconds(one.run_p95),
        held=None if by == "day" else one.held,
        renewal_delay_s=_seconds(one.renewal_delay),
        cost_usd=one.cost_usd,
        unpriced=one.unpriced,
        tokens_in=one.tokens_in,
        tokens_out=one.tokens_out,
        turns=one.turns,
    )


def _shown(by: str, name: str) -> str | None:
    if by == "day":
        return date.fromordinal(_EPOCH + int(name)).isoformat()
    return name or None


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1_000_000
