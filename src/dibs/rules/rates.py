"""Rates of types: so many tasks of a type may be handed out in a time. A lane gate: a token bucket.

A bucket holds as many tokens as its `burst`, and is full at first. Every task of the type that is handed out takes one;
they come back one by one, evenly, so many in a time. While there is none, the type waits with all its tasks ready.

What is kept is one instant: when the bucket will be full again. It is moved on by the time of a token for each one
taken, and says how many there are at any moment, without anybody who fills it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from dibs.errors import Invalid, NotFound
from dibs.model.closures import Closure
from dibs.model.instants import from_micros, seconds
from dibs.model.views import TypeRate
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "rate:"
"""How the gate of a type without a token is called: `rate:render`."""

MOST = 1_000_000
MAX_PERIOD_S = 30 * 86_400.0
PERIODS = {
    **dict.fromkeys(("s", "sec", "second"), 1.0),
    **dict.fromkeys(("min", "minute"), 60.0),
    **dict.fromkeys(("h", "hour"), 3_600.0),
    **dict.fromkeys(("d", "day"), 86_400.0),
}


class Rate(Struct, frozen=True):
    """So many tasks in so many seconds, and at most `burst` at once."""

    amount: int
    per_s: float
    burst: int

    @property
    def interval(self) -> int:
        """How long a token takes to come back, in micros."""
        return -(-seconds(self.per_s) // self.amount)


def parse(rate: object, burst: object = None) -> Rate:
    """`10/min`, `100/hour`, `3/30s`, checked. Without `burst` the bucket holds as many."""
    text = validation.text(rate, "rate")
    amount, slash, period = text.partition("/")
    if not slash or not (amount.isascii() and amount.isdigit()):
        raise Invalid(f"rate must be like 10/min, 100/hour or 3/30s, not {text!r:.80}.", field="rate")
    many = validation.whole(int(amount[:20]), "rate", 1, MOST)
    try:
        per_s = PERIODS.get(period) or validation.duration_s(period, "rate", low=0.001, high=MAX_PERIOD_S)
    except Invalid:
        raise Invalid(
            f"rate must be like 10/min, 100/hour or 3/30s, over 30 days at most, not {text!r:.80}.", field="rate"
        ) from None
    return Rate(many, per_s, many if burst is None else validation.whole(burst, "burst", 1, MOST))


def tokens(rate: Rate, full_at: int, now: int) -> int:
    """How many tokens there are."""
    return max(0, rate.burst * rate.interval - max(0, full_at - now)) // rate.interval


def taken(rate: Rate, full_at: int, now: int, count: int) -> int:
    """When the bucket will be full, after so many more were taken."""
    return max(full_at, now) + count * rate.interval


def opens_at(rate: Rate, full_at: int) -> int:
    """When there is a token again, or was."""
    return full_at - (rate.burst - 1) * rate.interval


def changed(rate: Rate, full_at: int, now: int) -> int:
    """When the bucket of another rate than before will be full: it is empty at worst."""
    return min(full_at, now + rate.burst * rate.interval)


def cap(rooms: dict[str, int], left: Mapping[str, int]) -> None:
    """Let no type have more room than it has tokens left."""
    for type, most in left.items():
        rooms[type] = min(rooms.get(type, most), most)


def shown(type: str, rate: Rate, full_at: int, now: int) -> TypeRate:
    """A rate as people see it now."""
    left = tokens(rate, full_at, now)
    return TypeRate(
        type=type,
        amount=rate.amount,
        per_s=rate.per_s,
        burst=rate.burst,
        left=left,
        opens_at=None if left else from_micros(opens_at(rate, full_at)),
    )


def in_words(found: TypeRate) -> str:
    """`10/min`, `3/30s`."""
    period = {1.0: "s", 60.0: "min", 3_600.0: "hour", 86_400.0: "day"}.get(found.per_s, f"{found.per_s:g}s")
    return f"{found.amount}/{period}"


def told(found: TypeRate) -> Closure | None:
    """The gate of a type as people see it while there is no token; None while there is one."""
    if found.left:
        return None
    return Closure(
        gate=f"{PREFIX}{found.type}",
        kind="rate",
        type=found.type,
        until=found.opens_at,
        reason=f"its rate is {in_words(found)}",
        help=f"it opens by itself; another rate: dibs rate set {found.type} N/min",
    )


def no_rate(type: str) -> NotFound:
    """Nobody set a rate for this type."""
    return NotFound(f"There is no rate of type {type}. `dibs rate ls` shows the ones there are.", field="type")
