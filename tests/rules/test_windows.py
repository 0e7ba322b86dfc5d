"""Days end at midnight where they are kept, also when clocks are put forward or back."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.model.instants import to_micros
from dibs.rules import windows
from dibs.rules.windows import Window


def micros(text: str) -> int:
    return to_micros(datetime.fromisoformat(text))


@pytest.mark.parametrize(
    ("zone", "now", "ends"),
    [
        ("UTC", "2026-01-01T00:00:00+00:00", "2026-01-02T00:00:00+00:00"),
        ("UTC", "2026-12-31T23:59:59.999999+00:00", "2027-01-01T00:00:00+00:00"),
        ("Europe/Berlin", "2026-01-01T22:59:59+00:00", "2026-01-01T23:00:00+00:00"),
        ("Europe/Berlin", "2026-01-01T23:00:00+00:00", "2026-01-02T23:00:00+00:00"),
        ("Europe/Berlin", "2026-03-28T23:00:00+00:00", "2026-03-29T22:00:00+00:00"),
        ("Europe/Berlin", "2026-10-24T22:00:00+00:00", "2026-10-25T23:00:00+00:00"),
        ("America/Los_Angeles", "2026-07-01T06:00:00+00:00", "2026-07-01T07:00:00+00:00"),
        ("Asia/Kathmandu", "2026-07-01T06:00:00+00:00", "2026-07-01T18:15:00+00:00"),
        ("America/Sao_Paulo", "2018-11-03T12:00:00+00:00", "2018-11-04T03:00:00+00:00"),
        ("America/Sao_Paulo", "2018-02-17T12:00:00+00:00", "2018-02-18T03:00:00+00:00"),
        ("America/Sao_Paulo", "2018-02-18T02:30:00+00:00", "2018-02-18T03:00:00+00:00"),
        ("Pacific/Apia", "2011-12-30T09:00:00+00:00", "2011-12-30T10:00:00+00:00"),
    ],
    ids=[
        "midnight begins the day",
        "the last moment of a year",
        "an hour ahead of UTC",
        "just begun",
        "a day of 23 hours",
        "a day of 25 hours",
        "behind UTC",
        "a quarter of an hour",
        "midnight is skipped",
        "eleven comes twice",
        "the second eleven",
        "a whole day is skipped",
    ],
)
def test_a_day_ends_at_midnight(zone: str, now: str, ends: str) -> None:
    assert windows.ends_at(Window("day", zone), micros(now)) == micros(ends)


def test_the_next_day_begins_where_the_last_one_ended() -> None:
    window, at = Window("day", "Europe/Berlin"), micros("2026-03-01T12:00:00+00:00")
    lengths = set()
    for _ in range(300):
        ends = windows.ends_at(window, at)
        lengths.add((ends - at) // 3_600_000_000)
        assert windows.ends_at(window, ends - 1) == ends
        at = ends
    assert lengths == {11, 23, 24, 25}


def test_where_midnight_comes_twice_the_first_one_ends_the_day() -> None:
    # In St. John's clocks were put back at a minute past midnight: it was yesterday again.
    window, first = Window("day", "America/St_Johns"), micros("2010-11-07T02:30:00+00:00")
    assert windows.ends_at(window, first - 1) == first
    for now in (first, micros("2010-11-07T03:00:00+00:00")):
        assert windows.ends_at(window, now) == micros("2010-11-08T03:30:00+00:00")


def test_a_zone_that_is_not_known_here_goes_by_utc() -> None:
    assert windows.ends_at(Window("day", "Mars/Olympus"), micros("2026-01-01T12:00:00+00:00")) == micros(
        "2026-01-02T00:00:00+00:00"
    )
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert windows.local(noon, "Mars/Olympus") == "2026-01-01 12:00 Mars/Olympus"
    assert windows.local(noon, "Europe/Berlin") == "2026-01-01 13:00 Europe/Berlin"


def test_windows_are_days_in_some_time_zone() -> None:
    assert windows.parse(None, None) is None
    assert windows.parse("day", None) == Window("day", "UTC")
    assert windows.parse("day", "Europe/Berlin") == Window("day", "Europe/Berlin")


@pytest.mark.parametrize(
    ("window", "timezone", "field"),
    [
        ("week", None, "window"),
        ("", None, "window"),
        (1, None, "window"),
        (None, "UTC", "timezone"),
        ("day", "Mars/Olympus", "timezone"),
        ("day", "", "timezone"),
        ("day", "../etc/passwd", "timezone"),
        ("day", "/etc/localtime", "timezone"),
        ("day", "Europe", "timezone"),
        ("day", "a" * 101, "timezone"),
        ("day", 1, "timezone"),
    ],
)
def test_other_windows_and_zones_are_refused(window: Any, timezone: Any, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        windows.parse(window, timezone)
    assert refused.value.field == field
