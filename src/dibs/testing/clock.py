"""A clock that tests move by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dibs.model.instants import from_micros, seconds, to_micros


class FakeClock:
    """A store clock that stands still until `advance` is called. Call it for microseconds since the epoch."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = to_micros(start)

    def __call__(self) -> int:
        return self._now

    def advance(self, duration: float | timedelta) -> None:
        """Move forward by seconds or a timedelta."""
        duration_s = duration.total_seconds() if isinstance(duration, timedelta) else duration
        self._now += seconds(duration_s)

    @property
    def now(self) -> datetime:
        """The instant it shows, as an aware datetime."""
        return from_micros(self._now)
