"""Rate limits, recognised in what an agent says went wrong.

A limit is nobody's failure (`rules.retry`), so an error that plainly tells of one is treated as one, also if the agent
gave no reason; and where the provider says when to come back, that is when the task comes back.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

TOO_MANY_REQUESTS = 429
MAX_SCANNED = 4_000
"""Characters of an error that are looked at."""

_SIGNS = re.compile(
    r"rate[ _-]?limit(?!ers?\b)"
    r"|too[ _]many[ _]requests"
    r"|quota[ _](?:was[ _])?exceeded|exceed(?:ed|s)?(?: \w+){0,3} quota|insufficient_quota"
    r"|resource[ _]?exhausted"
    r"|throttl(?:ed|ing)"
    # The number alone may count anything: it must be all there is, or be said to be a status.
    r"|^\W*429\W*$|(?:http(?:/[\d.]+)?|status(?:[ _]code)?|code|error|response)[\s:=(\"'\[]*429\b"
    r"|\b429[\s:,)\]\"'-]+(?:too|client|rate|error|resource|status)",
    re.IGNORECASE,
)

_NUMBER = r"(\d{1,10}(?:\.\d{1,9})?)"
_HEADER = r"[\"']?\s*[:=]\s*[\"'\[]*"
_RETRY_AFTER_S = re.compile(rf"retry[-_ ]after(?:[-_ ](?P<ms>ms))?{_HEADER}{_NUMBER}(?![\d:/-])", re.IGNORECASE)
_RETRY_AFTER_DATE = re.compile(
    rf"retry[-_ ]after{_HEADER}((?:mon|tue|wed|thu|fri|sat|sun), \d\d \w{{3}} \d{{4}} \d\d:\d\d:\d\d gmt)",
    re.IGNORECASE,
)
_TRY_AGAIN = re.compile(
    r"(?:try again|retry|wait)(?: again)? (?:in|after|for) ([\d.]+ ?[a-z]+(?: ?[\d.]+ ?[a-z]+)*)", re.IGNORECASE
)
_RESET = re.compile(
    r"(?:x-)?(?:[a-z]+-)?rate-?limit(?:-[a-z]+)*-reset(?:-[a-z]+)*" + _HEADER + r"([\w.:+-]+)", re.IGNORECASE
)
_PARTS = re.compile(r"([\d.]+) ?([a-z]+)", re.IGNORECASE)
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_EPOCH_S = 1_000_000_000.0
"""A larger number of seconds is an instant."""


class Limit(Struct, frozen=True):
    """A rate limit. `retry_after` is in seconds; None if nothing was said about it."""

    retry_after: float | None = None


def recognise(error: str, now: int) -> Limit | None:
    """The rate limit that an error tells of; None if it tells of something else. `now` is in micros.

    Lines of a traceback are not looked at: a function may be called what it likes.
    """
    text = error[:MAX_SCANNED].partition('\n  File "')[0]
    if _SIGNS.search(text) is None:
        return None
    return Limit(_retry_after(text, now / 1_000_000))


def of_response(status: int, headers: Mapping[str, str], now: int) -> Limit | None:
    """The rate limit that an HTTP response tells of; None if it is no such response."""
    if status != TOO_MANY_REQUESTS:
        return None
    return Limit(_retry_after("\n".join(f"{name}: {value}" for name, value in headers.items()), now / 1_000_000))


def wait_in(text: str, now: int) -> float | None:
    """In how many seconds to come back, as a text or its headers say, whatever else it tells of."""
    return _retry_after(text[:MAX_SCANNED], now / 1_000_000)


def _retry_after(text: str, now_s: float) -> float | None:
    """What a provider says of when to come back: the header made for it, else its words, else when its counters start
    anew (the last of them)."""
    found = _RETRY_AFTER_S.search(text)
    if found is not None:
        return float(found[2]) / (1_000 if found["ms"] else 1)
    found = _RETRY_AFTER_DATE.search(text)
    if found is not None:
        return _until(_http_date(found[1]), now_s)
    found = _TRY_AGAIN.search(text)
    if found is not None:
        words = _duration_s(found[1])
        if words is not None:
            return words
    resets = [_reset_s(each, now_s) for each in _RESET.findall(text)]
    return max((each for each in resets if each is not None), default=None)


def _reset_s(value: str, now_s: float) -> float | None:
    """Seconds from a header that says when a counter starts anew: so many seconds, a duration, or an instant."""
    try:
        number = float(value)
    except ValueError:
        pass
    else:
        return _until(number, now_s) if number > _EPOCH_S else number
    duration = _duration_s(value)
    if duration is not None:
        return duration
    try:
        instant = datetime.fromisoformat(value)
    except ValueError:
        return None
    return _until((instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp(), now_s)


def _duration_s(text: str) -> float | None:
    """Seconds in `1m30s`, `20 seconds`, `350ms`, `1 hour 5 minutes`; None if it is something else."""
    parts = _PARTS.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.replace(" ", ""):
        return None
    total = 0.0
    for number, unit in parts:
        short = unit.lower()
        factor = _UNITS_S.get(short) or _UNITS_S.get(short[0] if not short.startswith("milli") else "ms")
        try:
            total += float(number) * (factor or 0.0)
        except ValueError:
            return None
        if factor is None:
            return None
    return total


def _http_date(text: str) -> float | None:
    months = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
    _, day, month, year, time, _ = text.lower().split(" ")
    hour, minute, second = (int(part) for part in time.split(":"))
    try:
        return datetime(int(year), months.index(month) + 1, int(day), hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None


def _until(instant_s: float | None, now_s: float) -> float | None:
    return None if instant_s is None else max(0.0, instant_s - now_s)
