"""Windows of budgets: what may be used each day. A window ends with the day where it is kept: at local midnight.

What a claim reserves counts in the window in which it was made, and so does what it is charged, however late it ends:
the next window begins with nothing reserved and nothing spent. Whoever waits for room is let in then.

Midnight is where the day changes on the clocks of the time zone: a day has 23 or 25 hours when they are put forward or
back, and begins later where midnight itself is skipped.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from dibs.errors import Invalid
from dibs.model.instants import from_micros, to_micros
from dibs.rules import validation

if TYPE_CHECKING:
    from datetime import tzinfo

DAY = "day"
UTC = "UTC"
MAX_ZONE_CHARS = 100


class Window(NamedTuple):
    """How often a budget begins anew, and by whose clocks."""

    per: str = DAY
    timezone: str = UTC


def parse(window: object, timezone: object) -> Window | None:
    """`day` and a time zone such as `Europe/Berlin` (None: UTC), checked; None: the budget is for good."""
    if window is None:
        if timezone is not None:
            raise Invalid("timezone says when a day ends: give `window`, too.", field="timezone")
        return None
    if window != DAY:
        raise Invalid(f"window must be 'day', or left out, not {window!r:.80}.", field="window")
    if timezone is None:
        return Window()
    name = validation.text(timezone, "timezone", max_chars=MAX_ZONE_CHARS)
    if zone_of(name) is None:
        raise Invalid(
            f"timezone must be a name like Europe/Berlin that is known here, not {name!r:.80}; if it should be,"
            " pip install tzdata.",
            field="timezone",
        )
    return Window(DAY, name)


def ends_at(window: Window, now: int) -> int:
    """When the window ends that this instant is in. Where the time zone is not known, it goes by UTC: work must not
    stop because a machine has no time zones."""
    zone = zone_of(window.timezone) or zone_of(UTC)
    day = from_micros(now).astimezone(zone).date()
    while True:
        day += timedelta(days=1)
        # An hour that is skipped is taken by the clocks before the change: that is the very moment of it.
        midnight = to_micros(datetime(day.year, day.month, day.day, tzinfo=zone))
        if midnight > now:
            return midnight


def local(instant: datetime, timezone: str) -> str:
    """An instant as the clocks of a time zone show it: `2026-11-16 00:00 Europe/Berlin`."""
    return f"{instant.astimezone(zone_of(timezone) or zone_of(UTC)):%Y-%m-%d %H:%M} {timezone}"


def zone_of(name: str) -> tzinfo | None:
    """The time zone of this name; None if it is not known here."""
    from datetime import UTC as EVERYWHERE

    if name == UTC:
        return EVERYWHERE
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None
