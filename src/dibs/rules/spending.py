"""What was spent, on what and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dibs.errors import Invalid
from dibs.model.instants import from_micros
from dibs.model.spending import Spent
from dibs.rules.metrics import DAY_US

if TYPE_CHECKING:
    from collections.abc import Iterable

BY = ("type", "agent", "model", "dag")
MAX_DAYS = 400


class Sum(Struct, array_like=True, gc=False):
    """The attempts of one group and one stretch of time that used something, as stores add them up: the number of the
    stretch, and the group's name; no model, or no dag but a virtual one, is ""."""

    place: int
    name: str
    attempts: int = 0
    cost_usd: float | None = None
    unpriced: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None


def check_by(by: Any) -> str:
    """One of the ways to group."""
    if by not in BY:
        raise Invalid(f"by must be one of {', '.join(BY)}, not {by!r:.80}.", field="by")
    return str(by)


def day_of(at: int) -> int:
    """Where the day (UTC) of an instant begins."""
    return at // DAY_US * DAY_US


def days(since: int | None, until: int | None, now: int) -> tuple[int, int]:
    """The whole days (UTC) that are meant: from the one of `since` (a month ago) to the one of `until` (today)."""
    end = day_of(now if until is None else until) + DAY_US
    begin = end - 30 * DAY_US if since is None else day_of(since)
    if not begin < end:
        raise Invalid("since must be before until.", field="since")
    return max(begin, end - MAX_DAYS * DAY_US), end


def spent(sums: Iterable[Sum], begin: int, step: int) -> list[Spent]:
    """As people see it: by time, then by name, and what has none last."""
    return [
        Spent(
            at=from_micros(begin + one.place * step),
            name=one.name or None,
            attempts=one.attempts,
            cost_usd=one.cost_usd,
            unpriced=one.unpriced,
            tokens_in=one.tokens_in,
            tokens_out=one.tokens_out,
        )
        for one in sorted(sums, key=lambda one: (one.place, one.name == "", one.name))
    ]
