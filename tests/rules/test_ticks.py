"""When schedules tick, also where clocks are changed; what is made for ticks that nobody saw in time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import Conflict, Invalid, NotFound
from dibs.model.instants import from_micros, seconds, to_micros
from dibs.model.schedule import Schedule
from dibs.rules import ticks

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
START = datetime(2026, 1, 1, tzinfo=UTC)


def schedule(**parts: Any) -> Schedule:
    parts = {"name": "nightly", "starts_at": START, "created_at": START, **parts}
    return Schedule(**parts)


def at(text: str) -> int:
    return to_micros(datetime.fromisoformat(text))


def shown(cron: str, zone: str, after: str, count: int) -> list[str]:
    """The next ticks as local clocks show them. `after` is local, too."""
    start = to_micros(datetime.fromisoformat(after).replace(tzinfo=ZoneInfo(zone)))
    found = islice(ticks.ticks_after(schedule(cron=cron, timezone=zone), start), count)
    return [f"{from_micros(tick).astimezone(ZoneInfo(zone)):%d %H:%M %z}" for tick in found]


# Words


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("30 2 * * *", "30 2 * * *"),
        ("  */5   *  * * MON-FRI ", "*/5 * * * MON-FRI"),
        ("*/10 * * * * *", "*/10 * * * * *"),
        ("0 0 1 jan,JUL *", "0 0 1 jan,JUL *"),
        ("@daily", "0 0 * * *"),
        ("@Hourly", "0 * * * *"),
        ("0 9 L * *", "0 9 L * *"),
    ],
)
def test_cron_is_read(written: str, read: str) -> None:
    assert ticks.parse_cron(written) == read


@pytest.mark.parametrize(
    "written",
    ["", "* * * *", "60 * * * *", "* * * * * * *", "@often", "every day", "L/2 * * * *", 5, "0 0 5L/2 * 5L/2"],
)
def test_what_is_no_cron_is_refused(written: object) -> None:
    with pytest.raises(Invalid) as refused:
        ticks.parse_cron(written)
    assert refused.value.field == "cron"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "cron"),
        ({"cron": "* * * * *", "every": 5}, "every"),
        ({"every": 5, "at": "1h"}, "at"),
        ({"every": 0.5}, "every"),
        ({"every": "often"}, "every"),
        ({"at": "2020-01-01T00:00:00Z"}, "at"),
        ({"at": "tomorrow"}, "at"),
        ({"every": 5, "timezone": BERLIN}, "timezone"),
        ({"cron": "* * * * *", "timezone": "Mars/Base"}, "timezone"),
        ({"cron": "* * * * *", "timezone": 5}, "timezone"),
        ({"cron": "0 0 30 2 *"}, "cron"),
        ({"cron": "* * */20 * 1L"}, "cron"),
        ({"cron": "0 0 */20 * 1L"}, "cron"),
    ],
)
def test_when_must_be_said_once_and_so_that_it_comes(given: dict[str, Any], field: str) -> None:
    parts = {"cron": None, "every": None, "at": None, "timezone": None, **given}
    with pytest.raises(Invalid) as refused:
        ticks.parse_timing(**parts, now=at("2026-11-16T00:00:00Z"))
    assert refused.value.field == field


def test_when_is_read() -> None:
    now = at("2026-11-16T00:00:00Z")

    def read(**given: Any) -> dict[str, Any]:
        return ticks.parse_timing(**{"cron": None, "every": None, "at": None, "timezone": None, **given}, now=now)

    assert read(every="5m") == {"every": 300.0}
    assert read(at="1h") == {"at": datetime(2026, 11, 16, 1, tzinfo=UTC)}
    assert read(cron="@daily") == {"cron": "0 0 * * *", "timezone": "UTC"}
    assert read(cron="@daily", timezone=BERLIN) == {"cron": "0 0 * * *", "timezone": BERLIN}


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"missed": "some"}, "missed"),
        ({"overlap": "queue"}, "overlap"),
        ({"max_missed": 0}, "max_missed"),
        ({"max_missed": 1.5}, "max_missed"),
        ({"jitter": "2h"}, "jitter"),
        ({"jitter": -1}, "jitter"),
    ],
)
def test_policies_that_nobody_knows_are_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        ticks.parse_policies(**{"missed": "one", "max_missed": 100, "overlap": "allow", "jitter": 0, **given})
    assert refused.value.field == field


def test_policies_are_read() -> None:
    read = ticks.parse_policies("all", 5, "cancel", "30s")
    assert read == {"missed": "all", "max_missed": 5, "overlap": "cancel", "jitter": 30.0}


@pytest.mark.parametrize("name", ["", "a/b", "-a", "a b", "ä", "x" * 101, 5, None])
def test_names_are_plain(name: object) -> None:
    with pytest.raises(Invalid) as refused:
        ticks.parse_name(name)
    assert refused.value.field == "name"
    assert ticks.parse_name("nightly-audit.2") == "nightly-audit.2"


# Ticks


def test_every_counts_from_its_start_in_real_time() -> None:
    found = schedule(every=90.0)
    assert ticks.next_tick(found, at("2025-12-31T00:00:00Z")) == at("2026-01-01T00:01:30Z")
    assert ticks.next_tick(found, at("2026-01-01T00:01:30Z")) == at("2026-01-01T00:03:00Z")
    assert ticks.next_tick(found, at("2026-01-01T00:03:01Z")) == at("2026-01-01T00:04:30Z")


def test_at_is_one_tick() -> None:
    found = schedule(at=datetime(2026, 5, 1, tzinfo=UTC))
    assert ticks.next_tick(found, at("2026-04-01T00:00:00Z")) == at("2026-05-01T00:00:00Z")
    assert ticks.next_tick(found, at("2026-05-01T00:00:00Z")) is None


def test_seconds_stand_in_front() -> None:
    found = islice(ticks.ticks_after(schedule(cron="*/20 * * * * *"), at("2026-01-01T00:00:05.5Z")), 3)
    assert [from_micros(tick).second for tick in found] == [20, 40, 0]


def test_what_is_not_known_here_has_no_ticks_here() -> None:
    lost = schedule(cron="* * * * *", timezone="Mars/Base", next_at=START)
    for each in (lost, schedule(cron="of a later version", next_at=START)):
        assert not ticks.is_known_here(each)
        assert ticks.next_tick(each, 0) is None
        assert ticks.look(each, "x", at("2026-02-01T00:00:00Z")) is None
    assert ticks.local_time(lost, START) == "2026-01-01T00:00:00+00:00"


def test_the_calendar_ends() -> None:
    assert ticks.next_tick(schedule(cron="0 0 1 1 *"), at("2200-06-01T00:00:00Z")) is None


# Clocks that are changed. Berlin: 29 March 02:00 to 03:00, 25 October 03:00 to 02:00. New York: 8 March 02:00 to 03:00,
# 1 November 02:00 to 01:00. Lord Howe: 5 April 02:00 to 01:30, 4 October 02:00 to 02:30. All of 2026.


@pytest.mark.parametrize(
    ("zone", "cron", "after", "expected"),
    [
        (BERLIN, "30 2 * * *", "2026-03-28", ["28 02:30 +0100", "29 03:00 +0200", "30 02:30 +0200"]),
        (BERLIN, "0 2,3 * * *", "2026-03-29", ["29 03:00 +0200", "30 02:00 +0200", "30 03:00 +0200"]),
        (BERLIN, "0 30 2 * * *", "2026-03-28", ["28 02:30 +0100", "29 03:00 +0200", "30 02:30 +0200"]),
        (NEW_YORK, "15 2 * * *", "2026-03-07", ["07 02:15 -0500", "08 03:00 -0400", "09 02:15 -0400"]),
        (LORD_HOWE, "15 2 * * *", "2026-10-03", ["03 02:15 +1030", "04 02:30 +1100", "05 02:15 +1100"]),
        (LORD_HOWE, "0 2 * * *", "2026-10-03", ["03 02:00 +1030", "04 02:30 +1100", "05 02:00 +1100"]),
    ],
)
def test_a_fixed_time_that_is_skipped_ticks_when_the_clocks_are_put_forward(
    zone: str, cron: str, after: str, expected: list[str]
) -> None:
    assert shown(cron, zone, after, 3) == expected


@pytest.mark.parametrize(
    ("zone", "cron", "after", "expected"),
    [
        (BERLIN, "30 2 * * *", "2026-10-24", ["24 02:30 +0200", "25 02:30 +0200", "26 02:30 +0100"]),
        (NEW_YORK, "30 1 * * *", "2026-10-31", ["31 01:30 -0400", "01 01:30 -0400", "02 01:30 -0500"]),
        (LORD_HOWE, "45 1 * * *", "2026-04-04", ["04 01:45 +1100", "05 01:45 +1100", "06 01:45 +1030"]),
        (LORD_HOWE, "0 2 * * *", "2026-04-04", ["04 02:00 +1100", "05 02:00 +1030", "06 02:00 +1030"]),
        (LORD_HOWE, "0 0 2 * * *", "2026-04-04", ["04 02:00 +1100", "05 02:00 +1030", "06 02:00 +1030"]),
    ],
)
def test_a_fixed_time_that_is_shown_twice_ticks_once(zone: str, cron: str, after: str, expected: list[str]) -> None:
    assert shown(cron, zone, after, 3) == expected


def test_a_fixed_time_does_not_tick_again_for_whoever_looks_when_it_is_shown_again() -> None:
    again = datetime(2026, 10, 25, 2, 10, tzinfo=ZoneInfo(BERLIN), fold=1)
    tick = ticks.next_tick(schedule(cron="30 2 * * *", timezone=BERLIN), to_micros(again))
    assert tick == at("2026-10-26T02:30:00+01:00")


@pytest.mark.parametrize(
    ("zone", "cron", "after", "expected"),
    [
        (BERLIN, "*/30 * * * *", "2026-03-29T01:00", ["29 01:30 +0100", "29 03:00 +0200", "29 03:30 +0200"]),
        (
            BERLIN,
            "*/30 * * * *",
            "2026-10-25T02:00",
            ["25 02:30 +0200", "25 02:00 +0100", "25 02:30 +0100", "25 03:00 +0100"],
        ),
        (BERLIN, "0 * * * *", "2026-03-29T00:00", ["29 01:00 +0100", "29 03:00 +0200", "29 04:00 +0200"]),
        (BERLIN, "*/20 2 * * *", "2026-03-28T02:30", ["28 02:40 +0100", "30 02:00 +0200", "30 02:20 +0200"]),
        (NEW_YORK, "0 * * * *", "2026-11-01T00:00", ["01 01:00 -0400", "01 01:00 -0500", "01 02:00 -0500"]),
        (LORD_HOWE, "*/15 * * * *", "2026-10-04T01:40", ["04 01:45 +1030", "04 02:30 +1100", "04 02:45 +1100"]),
        (
            LORD_HOWE,
            "*/15 * * * *",
            "2026-04-05T01:40",
            ["05 01:45 +1100", "05 01:30 +1030", "05 01:45 +1030", "05 02:00 +1030"],
        ),
        (LORD_HOWE, "0 * * * *", "2026-10-04T00:30", ["04 01:00 +1030", "04 03:00 +1100", "04 04:00 +1100"]),
        (LORD_HOWE, "*/20 2 * * *", "2026-04-04T02:40", ["05 02:00 +1030", "05 02:20 +1030", "05 02:40 +1030"]),
    ],
)
def test_what_is_no_fixed_time_ticks_whenever_the_clocks_show_it(
    zone: str, cron: str, after: str, expected: list[str]
) -> None:
    assert shown(cron, zone, after, len(expected)) == expected


def test_an_hour_that_is_shown_again_is_not_passed_over_by_a_year() -> None:
    found = shown("*/30 2 25 10 *", BERLIN, "2026-10-25T02:15", 4)
    assert found == ["25 02:30 +0200", "25 02:00 +0100", "25 02:30 +0100", "25 02:00 +0200"]


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, LORD_HOWE])
def test_a_daily_time_ticks_on_every_day_of_the_year_once(zone: str) -> None:
    for clock in ("0 1", "30 1", "45 1", "0 2", "30 2", "59 2", "0 3", "0 0", "59 23"):
        start = to_micros(datetime(2026, 1, 1, tzinfo=ZoneInfo(zone)) - timedelta(seconds=1))
        found = islice(ticks.ticks_after(schedule(cron=f"{clock} * * *", timezone=zone), start), 365)
        days = [from_micros(tick).astimezone(ZoneInfo(zone)).date() for tick in found]
        assert all(after - before == timedelta(days=1) for before, after in pairwise(days)), clock


CRONS = ["* * * * *", "*/7 * * * *", "30 2 * * *", "0 */2 * * *", "15 1,2,3 * * *", "*/20 * * * * *", "0 3 * * SUN"]


@given(
    cron=st.sampled_from(CRONS),
    zone=st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE, "UTC", "Africa/Casablanca"]),
    days=st.floats(65, 306),
)
def test_ticks_follow_from_the_schedule_alone_wherever_one_begins_to_read(cron: str, zone: str, days: float) -> None:
    found = schedule(cron=cron, timezone=zone)
    began = to_micros(START + timedelta(days=days))
    in_a_row = list(islice(ticks.ticks_after(found, began), 12))
    one_by_one = []
    after = began
    for _ in in_a_row:
        tick = ticks.next_tick(found, after)
        assert tick is not None
        assert tick > after
        one_by_one.append(tick)
        after = tick
    assert in_a_row == one_by_one


@given(
    cron=st.sampled_from(["* * * * *", "*/15 * * * *", "5 * * * *", "*/10 2 * * *"]),
    zone=st.sampled_from([BERLIN, NEW_YORK, LORD_HOWE]),
    day=st.sampled_from(["2026-03-28T22", "2026-10-24T22", "2026-03-08T04", "2026-11-01T03", "2026-04-04T12"]),
)
def test_what_is_no_fixed_time_ticks_at_exactly_the_minutes_that_the_clocks_show(
    cron: str, zone: str, day: str
) -> None:
    from cronsim import CronSim

    start = to_micros(datetime.fromisoformat(day).replace(tzinfo=UTC)) - 1
    end = start + 6 * seconds(3600)
    expected = []
    for minute in range(6 * 60):
        instant = start + 1 + minute * seconds(60)
        wall = from_micros(instant).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        if next(CronSim(cron, wall - timedelta(seconds=1))) == wall:
            expected.append(instant)
    found = []
    for tick in ticks.ticks_after(schedule(cron=cron, timezone=zone), start):
        if tick > end:
            break
        found.append(tick)
    assert found == expected


# Jitter


def test_jitter_follows_from_the_schedule_and_the_tick() -> None:
    spread = schedule(every=60.0, jitter=30.0)
    due = [ticks.due_at(spread, "default/nightly", tick) - tick for tick in range(0, 60_000_000_000, 60_000_000)]
    assert due == [
        ticks.due_at(spread, "default/nightly", tick) - tick for tick in range(0, 60_000_000_000, 60_000_000)
    ]
    assert all(0 <= delay < seconds(30) for delay in due)
    assert len(set(due)) > 900
    assert ticks.due_at(spread, "other/nightly", 0) != ticks.due_at(spread, "default/nightly", 0)
    assert ticks.due_at(schedule(every=60.0), "default/nightly", 7) == 7


# What is due


def look(now: str, **parts: Any) -> ticks.Due | None:
    return ticks.look(schedule(**parts), "default/nightly", at(now))


def due(now: str, **parts: Any) -> tuple[list[str], int, str | None]:
    found = look(now, **parts)
    assert found is not None
    next_at = None if found.next_at is None else f"{from_micros(found.next_at):%H:%M:%S}"
    return [f"{from_micros(tick):%H:%M:%S}" for tick in found.ticks], found.skipped, next_at


NEXT = datetime(2026, 1, 1, 10, tzinfo=UTC)


def test_nothing_is_due_before_its_tick_or_when_none_is_left() -> None:
    assert look("2026-01-01T09:59:59Z", every=60.0, next_at=NEXT) is None
    assert look("2027-01-01T00:00:00Z", at=START, next_at=None) is None


@pytest.mark.parametrize("missed", ticks.MISSED)
def test_a_tick_that_is_seen_in_time_is_taken_whatever_the_policy(missed: str) -> None:
    assert due("2026-01-01T10:00:59Z", every=60.0, next_at=NEXT, missed=missed) == (["10:00:00"], 0, "10:01:00")
    assert due("2026-01-01T10:00:03Z", every=1.0, next_at=NEXT, missed=missed)[0] == [
        "10:00:00",
        "10:00:01",
        "10:00:02",
        "10:00:03",
    ]


def test_after_an_outage_skip_makes_what_is_on_time_and_nothing_else() -> None:
    parts: dict[str, Any] = {"every": 600.0, "next_at": NEXT, "missed": "skip"}
    assert due("2026-01-01T11:05:00Z", **parts) == ([], 7, "11:10:00")
    assert due("2026-01-01T11:00:30Z", **parts) == (["11:00:00"], 6, "11:10:00")


def test_after_an_outage_one_makes_one_for_all() -> None:
    parts: dict[str, Any] = {"every": 600.0, "next_at": NEXT, "missed": "one"}
    assert due("2026-01-01T11:05:00Z", **parts) == (["11:00:00"], 6, "11:10:00")
    assert due("2026-01-01T11:00:30Z", **parts) == (["11:00:00"], 6, "11:10:00")


def test_after_an_outage_all_makes_the_latest_up_to_a_bound() -> None:
    parts: dict[str, Any] = {"every": 600.0, "next_at": NEXT, "missed": "all", "max_missed": 3}
    assert due("2026-01-01T11:05:00Z", **parts) == (["10:40:00", "10:50:00", "11:00:00"], 0, "11:10:00")
    assert due("2026-01-01T11:00:30Z", **parts) == (["10:40:00", "10:50:00", "11:00:00"], 1, "11:10:00")
    assert due("2026-01-01T10:12:00Z", **parts) == (["10:00:00", "10:10:00"], 0, "10:20:00")


def test_years_without_anybody_who_looks_are_not_counted_through() -> None:
    found = look("2036-01-01T00:00:00Z", cron="* * * * * *", next_at=NEXT, missed="all", max_missed=1000)
    assert found is not None
    assert (len(found.ticks), found.ticks[-1]) == (1000, at("2036-01-01T00:00:00Z"))


def test_a_tick_that_was_missed_and_was_the_only_one_is_made_late() -> None:
    parts: dict[str, Any] = {"at": NEXT, "next_at": NEXT}
    assert due("2026-01-05T00:00:00Z", **parts) == (["10:00:00"], 0, None)
    assert due("2026-01-05T00:00:00Z", missed="skip", **parts) == ([], 1, None)


def test_ticks_are_taken_in_order_whatever_their_jitter() -> None:
    spread = schedule(every=1.0, jitter=60.0, next_at=NEXT)
    taken: list[int] = []
    for second in range(200):
        now = to_micros(NEXT) + seconds(second)
        found = ticks.look(spread, "default/nightly", now)
        if found is None:
            continue
        assert found.skipped == 0
        assert all(ticks.due_at(spread, "default/nightly", tick) <= now for tick in found.ticks)
        taken += found.ticks
        assert found.next_at is not None
        spread.next_at = from_micros(found.next_at)
    assert taken == [to_micros(NEXT) + seconds(number) for number in range(len(taken))]
    assert len(taken) > 100


@pytest.mark.parametrize(
    ("overlap", "busy", "taken", "skipped"),
    [
        ("allow", True, (1, 2, 3), 4),
        ("skip", True, (), 7),
        ("skip", False, (1,), 6),
        ("cancel", True, (3,), 6),
        ("cancel", False, (3,), 6),
    ],
)
def test_what_may_not_overlap_is_one_at_a_time(overlap: str, busy: bool, taken: tuple[int, ...], skipped: int) -> None:
    found = ticks.without_overlap(schedule(overlap=overlap), ticks.Due((1, 2, 3), 4, 9), busy=busy)
    assert found == ticks.Due(taken, skipped, 9)


def test_where_nothing_is_taken_nothing_overlaps() -> None:
    nothing = ticks.Due((), 2, 9)
    assert ticks.without_overlap(schedule(overlap="cancel"), nothing, busy=True) is nothing


# Words for people


def test_schedules_are_told_in_words() -> None:
    assert ticks.in_words(schedule(every=90.0)) == "every 90s"
    assert ticks.in_words(schedule(cron="0 2 * * *", timezone=BERLIN)) == "0 2 * * * Europe/Berlin"
    assert ticks.in_words(schedule(at=START)) == "at 2026-01-01T00:00:00+00:00"
    assert ticks.local_time(schedule(cron="x", timezone=BERLIN), START) == "2026-01-01T01:00:00+01:00"
    assert ticks.key_of("nightly", to_micros(START)) == "cron:nightly:2026-01-01T00:00:00Z"
    assert isinstance(ticks.no_schedule("x"), NotFound)
    assert isinstance(ticks.exists("x"), Conflict)
