"""Which lanes are closed to an agent, and until when."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dibs.model.instants import to_micros
from dibs.rules import closing
from dibs.rules.breaker import HEALTHY, Record, State
from dibs.rules.closing import Pause, Shut, Ways

LANES = [(1, "code"), (2, "code"), (3, "research")]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def shut(*rows: tuple[str, str, int | None]) -> Shut:
    return closing.gather([("default", why, name, until) for why, name, until in rows])["default"]


def ways(*rows: tuple[str, str, int | None], agent: str = "ada") -> Ways:
    return closing.ways(shut(*rows), LANES, agent)


def test_nothing_closed_everything_open() -> None:
    assert closing.ways(None, LANES, "ada") == Ways([1, 2, 3], [], [], None)


@pytest.mark.parametrize(
    ("gate", "lanes"),
    [
        ("type:code", [3]),
        ("lane:2", [1, 3]),
        ("agent:ada", []),
        ("agent:bob", [1, 2, 3]),
        ("everything", []),
        ("type:lint", [1, 2, 3]),
    ],
)
def test_a_pause_closes_what_it_names(gate: str, lanes: list[int]) -> None:
    assert ways(("paused", gate, None)) == Ways(lanes, [], [], None)


def test_a_lane_opens_when_the_last_of_what_closes_it_does() -> None:
    found = ways(("paused", "type:code", 10), ("paused", "lane:1", 30), ("open", "code", 20))
    assert (found.lanes, found.opens_at) == ([3], 20)
    assert ways(("paused", "lane:1", 30), ("paused", "lane:2", 40)).opens_at == 30
    assert ways(("paused", "lane:1", 40), ("paused", "lane:2", 30)).opens_at == 30


def test_a_rate_limit_closes_lanes_until_its_time_is_over() -> None:
    closed = shut(("limited", "provider:acme", 30), ("paused", "lane:2", 50))
    assert closing.changes_at({"default": closed}) == 30
    found = closing.ways(closed, LANES, "ada", {1: 40, 2: 30, 3: None})
    assert (found.lanes, found.opens_at, found.limited_until) == ([3], 40, 30)


def test_a_pause_without_an_end_never_opens_by_time() -> None:
    assert ways(("paused", "type:code", 10), ("paused", "everything", None)).opens_at is None


def test_a_breaker_closes_tries_or_is_watched() -> None:
    assert ways(("open", "code", 5)) == Ways([3], [], [], 5)
    assert ways(("trying", "code", None)) == Ways([1, 2, 3], [1, 2], [], None)
    assert ways(("probing", "code", None)) == Ways([3], [], [1, 2], None)
    assert ways(("trying", "code", None), ("paused", "lane:1", None)) == Ways([2, 3], [2], [], None)


def test_projects_are_kept_apart() -> None:
    found = closing.gather(
        [("one", "paused", "everything", 7), ("two", "open", "code", 5), ("two", "paused", "x", None)]
    )
    assert set(found) == {"one", "two"}
    assert closing.changes_at(found) == 5
    assert closing.changes_at({}) is None


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (HEALTHY, None),
        (Record(state=State.OPEN), "open"),
        (Record(state=State.HALF_OPEN), "trying"),
        (Record(state=State.HALF_OPEN, probe=("task_1", 1)), "probing"),
    ],
    ids=str,
)
def test_how_a_breaker_closes(record: Record, why: str | None) -> None:
    assert closing.why_shut(record) == why


def test_what_people_are_told_of_a_pause() -> None:
    since, until = to_micros(NOON), to_micros(NOON) + 60_000_000
    pause = Pause(scope="lane", name="3", since=since, until=until, reason="broken", by="human:grace")
    told = closing.told(pause)
    assert (told.gate, told.lane, told.type, told.agent, told.since) == ("lane:3", 3, None, None, NOON)
    assert told.help == "dibs resume --lane 3"
    assert closing.event_data(pause) == {"gate": "lane:3", "until": "2026-01-01T12:01:00+00:00", "by": "human:grace"}
    everything = closing.told(Pause(scope="everything"))
    assert (everything.gate, everything.until, everything.help) == ("everything", None, "dibs resume --everything")
    assert closing.told(Pause(scope="agent", name="ada")).agent == "ada"
    assert closing.told(Pause(scope="type", name="code")).type == "code"


def test_what_people_are_told_of_a_breaker() -> None:
    assert closing.told_breaker("code", HEALTHY) is None
    record = Record(state=State.OPEN, opened_at=to_micros(NOON), due_at=to_micros(NOON), reason="5 failed attempts")
    told = closing.told_breaker("code", record)
    assert told is not None
    assert (told.gate, told.since, told.until, told.reason) == ("breaker:code", NOON, NOON, "5 failed attempts")
    free = closing.told_breaker("code", Record(state=State.HALF_OPEN, reason="why"))
    assert free is not None
    assert (free.since, free.until) == (None, None)
    assert free.reason == "why; half-open, the next claim takes its probe"
    probing = closing.told_breaker("code", Record(state=State.HALF_OPEN, reason="why", probe=("task_1", 1)))
    assert probing is not None
    assert probing.reason == "why; half-open, its probe is task_1"


def test_slots_of_types_are_remembered_and_close_nothing() -> None:
    closed = shut((closing.SLOTS, "code", 3))
    assert closed.slots == {"code": 3}
    assert closing.ways(closed, [(1, "code")], "ada") == Ways([1], [], [], None)
    assert closing.changes_at({"default": closed}) is None


def test_agents_with_budgets_of_their_own_are_remembered_and_nothing_is_closed() -> None:
    closed = shut((closing.SPENDS, "ada", None))
    assert closed.spenders == {"ada"}
    assert closing.ways(closed, [(1, "code")], "ada") == Ways([1], [], [], None)


def test_the_end_of_a_window_is_when_something_may_change_and_closes_nothing() -> None:
    closed = shut((closing.WINDOW, "budget:global:usd", 70), (closing.WINDOW, "budget:type:a:usd", 50))
    assert closing.changes_at({"default": closed}) == 50
    assert closing.ways(closed, [(1, "code")], "ada") == Ways([1], [], [], 50)
    closed.paused["type:code"] = 40
    assert closing.ways(closed, [(1, "code")], "ada") == Ways([], [], [], 40)


def test_types_with_a_rate_are_remembered_and_close_nothing() -> None:
    closed = shut((closing.RATE, "code", None))
    assert closed.rates == {"code"}
    assert closing.ways(closed, [(1, "code")], "ada") == Ways([1], [], [], None)
