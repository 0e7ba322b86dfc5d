"""Limits in the words of coding agents: a provider's rate limit, or what a plan allows in a time (a usage limit).

Both are nobody's failure: the reason is `rate_limit`, no attempt is counted, and the task comes back when the program
says. A usage limit says so as an instant, often in the words of a clock on a wall: `resets 3:45pm (Europe/Rome)`.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from dibs.rules import limits

if TYPE_CHECKING:
    from dibs.presets.reader import Failure

REASON = "rate_limit"
MAX_SCANNED = 4_000
MAX_WAIT_S = 30 * 86_400.0

_USAGE = re.compile(
    r"(?:hit|reached|exceeded) your (?:[\w-]+ ){0,3}(?:limit|quota|spend cap)"
    r"|usage limit (?:has been )?(?:reached|exceeded|hit)|(?:\d+-hour|session|weekly|daily|opus|sonnet) limit reached"
    r"|exhausted your (?:[\w-]+ ){0,2}(?:quota|capacity)|quota will reset"
    r"|out of (?:extra usage|credits)|insufficient credits|free usage exceeded|UsageLimitError|TerminalQuotaError"
    r"|spend cap set",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"limit reached\|(\d{10})\b", re.IGNORECASE)
_SPAN = re.compile(
    r"(?:reset|retry|try again)s?(?: again)? (?:in|after) "
    r"((?:[\d.]+ ?(?:ms|[dhms]\b|[dhms](?=\d)|(?:day|hour|minute|second|min|sec|hr)s?)[ ,]*(?:and )?)+)",
    re.IGNORECASE,
)
_PART = re.compile(r"([\d.]+) ?(ms|[dhms])", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_CLOCK = re.compile(
    r"(?:resets?|try again)(?: at)? "
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* (?P<day>\d{1,2})"
    r"(?:st|nd|rd|th)?,?(?: (?P<year>\d{4}),?)?(?: at)? )?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>[ap]m)\b(?: \((?P<zone>[\w/+-]+)\))?",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def limit_in(text: str, now: int, *, local: tzinfo | None = None) -> Failure | None:
    """The limit that a text tells of; None if it tells of something else. `local`: whose clock it means, if it names no
    zone; else the one of this machine, which the program shares."""
    from dibs.presets.reader import Failure

    said = text[-MAX_SCANNED:]
    rate = limits.recognise(said, now)
    if rate is None and _USAGE.search(said) is None:
        return None
    wait_s = resets_in_s(said, now, local=local)
    if wait_s is None:
        wait_s = limits.wait_in(said, now)
    return Failure(said.strip(), reason=REASON, retry_after=wait_s)


def usage_limit(text: str, resets_at: float | None, now: int) -> Failure:
    """A usage limit that ends at this instant, in seconds since 1970, or when its words say."""
    from dibs.presets.reader import Failure

    wait_s = resets_in_s(text, now) if resets_at is None else until_s(resets_at, now)
    return Failure(text.strip() or "the usage limit is reached", reason=REASON, retry_after=wait_s)


def until_s(instant_s: float, now: int) -> float:
    """From now until then; no longer than a month, whatever was said."""
    return min(max(0.0, instant_s - now / 1_000_000), MAX_WAIT_S)


def resets_in_s(text: str, now: int, *, local: tzinfo | None = None) -> float | None:
    """In how many seconds a limit ends, as a text says; None if it does not say."""
    found = _EPOCH.search(text)
    if found is not None:
        return until_s(float(found[1]), now)
    found = _SPAN.search(text)
    if found is not None:
        return _span_s(found[1])
    found = _CLOCK.search(text)
    return None if found is None else _clock_s(found, now, local)


def _span_s(text: str) -> float | None:
    """`18h31m10s`, `2 days 3 hours`, `34.07s`."""
    total = 0.0
    for number, unit in _PART.findall(text):
        try:
            total += float(number) * _SECONDS[unit.lower()]
        except ValueError:  # 1.2.3
            return None
    return min(total, MAX_WAIT_S)


def _clock_s(found: re.Match[str], now: int, local: tzinfo | None) -> float | None:
    """`3:45pm (Europe/Rome)`, `Feb 7, 11am`, `Feb 7th, 2026 3:45 PM`: the next time that a clock shows this."""
    zone = _zone(found["zone"]) or local
    moment = datetime.fromtimestamp(now / 1_000_000, UTC).astimezone(zone)
    hour = int(found["hour"]) % 12 + (12 if found["half"].lower() == "pm" else 0)
    at = {"hour": hour, "minute": int(found["minute"] or 0), "second": 0, "microsecond": 0}
    try:
        if found["month"] is None:
            then = moment.replace(**at)  # type: ignore[arg-type]
            if then <= moment:
                then += timedelta(days=1)
        else:
            month, day = _MONTHS.index(found["month"].lower()) + 1, int(found["day"])
            year = int(found["year"] or moment.year)
            then = moment.replace(year=year, month=month, day=day, **at)  # type: ignore[arg-type]
            if then <= moment and found["year"] is None:
                then = then.replace(year=year + 1)
    except ValueError:  # no such day, no such hour
        return None
    return until_s(then.timestamp(), now)


def _zone(name: str | None) -> tzinfo | None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if name is None:
        return None
    if name.upper() in ("UTC", "GMT", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
