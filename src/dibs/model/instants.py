"""Instants inside dibs are whole microseconds since 1970 (UTC): exact in every store and in JSON.

People meet aware datetimes; these two functions are the only border between them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(instant: datetime) -> int:
    """An aware datetime as microseconds since the epoch."""
    return (instant - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Microseconds since the epoch as an aware datetime in UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def seconds(duration_s: float) -> int:
    """A duration in seconds as microseconds."""
    return round(duration_s * 1_000_000)
