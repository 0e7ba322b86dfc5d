"""What people may ask for. Mistakes are refused: `Invalid` names the field and says what to do.

Agents' output is never refused for its text; `plain_json` repairs it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from dibs.errors import Invalid
from dibs.model.instants import seconds, to_micros
from dibs.rules.plain_json import MAX_DEPTH, clean, clean_text, content_key, json_bytes, many_json_bytes

__all__ = [
    "MAX_DEPTH",
    "clean",
    "clean_text",
    "content_key",
    "duration_s",
    "flag",
    "instant",
    "json_bytes",
    "many_json_bytes",
    "names",
    "number",
    "text",
    "whole",
]

MAX_PAYLOAD_BYTES = 1 << 20
MAX_OUTPUT_BYTES = 16 << 20
INLINE_OUTPUT_BYTES = 64 << 10
MAX_TASKS_PER_CALL = 10_000
MAX_SPAWN_DEPTH = 10
MAX_CHILDREN = 1_000
MIN_LEASE_S = 1.0
MAX_LEASE_S = 86_400.0
MAX_NAME_CHARS = 200
MAX_TITLE_CHARS = 4_000
MAX_NAMES = 100
MAX_DURATION_S = 10 * 365 * 86_400.0
FIRST_INSTANT = 946_684_800_000_000
"""2000-01-01 in micros."""
LAST_INSTANT = 7_289_654_399_999_999
"""The last micro of 2200."""

# Longest ending first: "ms" ends in "s", and would be read as "m" and "s" otherwise.
_UNITS = (("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3_600.0), ("d", 86_400.0))
_DURATION = "a number of seconds or a text such as 250ms, 90s, 5m, 2h or 1d"
_INSTANT = "a datetime with a time zone, or a text such as 2030-01-31T12:00:00Z"


def text(value: object, field: str, *, max_chars: int = MAX_NAME_CHARS, blank: bool = False) -> str:
    """A text people can read: no NUL, no lone surrogates, no control characters but tabs and line feeds.

    Empty or blank text is refused unless `blank`.
    """
    if not isinstance(value, str):
        raise Invalid(f"{field} must be text, not {_shown(value)}.", field=field)
    if not blank and not value.strip():
        raise Invalid(f"{field} must not be empty or blank.", field=field)
    if len(value) > max_chars:
        raise Invalid(f"{field} has {len(value):,} characters; at most {max_chars:,} are allowed.", field=field)
    if not value.isprintable():
        for position, char in enumerate(value):
            fault = _char_fault(char)
            if fault:
                raise Invalid(f"{field} contains {fault} at position {position}; remove it.", field=field)
    return value


def duration_s(value: object, field: str, *, low: float = 0.0, high: float = MAX_DURATION_S) -> float:
    """Seconds from a number, a text such as `90s` or `5m`, or a timedelta; between `low` and `high`."""
    wanted: float | None = None
    if isinstance(value, str):
        wanted = _read_duration(value)
    elif isinstance(value, timedelta):
        wanted = value.total_seconds()
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        wanted = value
    if wanted is None or wanted != wanted:
        raise Invalid(f"{field} must be {_DURATION}, not {_shown(value)}.", field=field)
    if not low <= wanted <= high:
        raise Invalid(f"{field} must be between {_span(low)} and {_span(high)}, not {_shown(value)}.", field=field)
    return float(wanted)


def instant(value: object, field: str, now: int, *, durations: bool) -> int:
    """Micros from an aware datetime, an ISO text with a zone, or (if `durations`) a duration from now."""
    wanted = f"{field} must be {_INSTANT}{f', or a duration from now: {_DURATION}' if durations else ''}"
    moment = value
    if isinstance(value, str) and not (durations and _read_duration(value) is not None):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            raise Invalid(f"{wanted}, not {_shown(value)}.", field=field) from None
    if isinstance(moment, datetime):
        if moment.utcoffset() is None:
            raise Invalid(f"{field} has no time zone; write {moment.isoformat()}+00:00 for UTC.", field=field)
        at = to_micros(moment)
    elif durations and isinstance(moment, (str, int, float, timedelta)):
        at = now + seconds(duration_s(moment, field, high=20 * MAX_DURATION_S))
    else:
        raise Invalid(f"{wanted}, not {_shown(value)}.", field=field)
    if not FIRST_INSTANT <= at <= LAST_INSTANT:
        raise Invalid(f"{field} must lie in the years 2000 to 2200, not at {_shown(value)}.", field=field)
    return at


def number(value: object, field: str, low: float, high: float) -> float:
    """A number from `low` to `high`; not a bool, not NaN."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise Invalid(f"{field} must be a number from {low:g} to {high:g}, not {_shown(value)}.", field=field)
    return float(value)


def whole(value: object, field: str, low: int, high: int) -> int:
    """A whole number from `low` to `high`; not a bool, not a float."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Invalid(f"{field} must be a whole number from {low:,} to {high:,}, not {_shown(value)}.", field=field)
    return int(value)


def flag(value: object, field: str) -> bool:
    """True or False, and nothing that is only like it."""
    if not isinstance(value, bool):
        raise Invalid(f"{field} must be True or False, not {_shown(value)}.", field=field)
    return value


def names(values: Any, field: str, *, ordered: bool = False) -> tuple[str, ...]:
    """A set of texts, sorted — or in the order given, if `ordered`; each once, at most 100 of them."""
    if values == ():
        return ()
    if isinstance(values, (str, bytes)):
        raise Invalid(f"{field} must be a list of texts; write [{_shown(values)}].", field=field)
    if isinstance(values, dict) or not hasattr(values, "__iter__"):
        raise Invalid(f"{field} must be a list of texts, not {_shown(values)}.", field=field)
    unique = dict.fromkeys(text(item, field) for item in values)
    if len(unique) > MAX_NAMES:
        raise Invalid(f"{field} has {len(unique):,} entries; at most {MAX_NAMES} are allowed.", field=field)
    # A set has an order of its own in every process.
    keep_order = ordered and not isinstance(values, (set, frozenset))
    return tuple(unique) if keep_order else tuple(sorted(unique))


def _char_fault(char: str) -> str | None:
    code = ord(char)
    if code == 0:
        return "a NUL character"
    if 0xD800 <= code <= 0xDFFF:
        return "a lone surrogate"
    if (code < 32 or 127 <= code < 160) and char not in "\n\t":
        return f"the control character U+{code:04X}"
    return None


def _read_duration(value: str) -> float | None:
    """Seconds in a text such as `5m`, or `90` alone; None if it is no duration."""
    amount = value.strip()
    size = 1.0
    for unit, unit_s in _UNITS:
        if amount.endswith(unit):
            amount, size = amount.removesuffix(unit), unit_s
            break
    try:
        return float(amount) * size
    except ValueError:
        return None


def _span(duration: float) -> str:
    """A limit in the largest unit that keeps it whole."""
    for unit, size in reversed(_UNITS):
        if duration >= size and duration % size == 0:
            return f"{duration / size:g}{unit}"
    return f"{duration:g}s"


def _shown(value: object) -> str:
    """What the user gave, short enough to repeat."""
    if isinstance(value, (str, bytes)):
        return repr(value) if len(value) <= 60 else f"{value[:60]!r}…"
    if isinstance(value, float) and value.is_integer():
        # Who wrote 101 reads 101; a shell makes numbers of everything.
        return f"{value:.15g}"
    if isinstance(value, (bool, float, datetime)) or (isinstance(value, int) and value.bit_length() <= 64):
        return str(value)
    return "a huge number" if isinstance(value, int) else f"a value of type {type(value).__name__}"
