"""Token buckets: how many there are, when there is one, and what people are told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import Invalid
from dibs.model.instants import from_micros
from dibs.rules import rates
from dibs.rules.rates import Rate

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("10/min", Rate(10, 60.0, 10)),
        ("1/s", Rate(1, 1.0, 1)),
        ("5/second", Rate(5, 1.0, 5)),
        ("100/hour", Rate(100, 3600.0, 100)),
        ("1000/day", Rate(1000, 86_400.0, 1000)),
        ("3/30s", Rate(3, 30.0, 3)),
        ("2/5m", Rate(2, 300.0, 2)),
    ],
)
def test_rates_are_read(text: str, rate: Rate) -> None:
    assert rates.parse(text) == rate


def test_a_burst_is_read() -> None:
    assert rates.parse("10/min", 3) == Rate(10, 60.0, 3)


@pytest.mark.parametrize(
    ("rate", "burst", "field"),
    [
        ("", None, "rate"),
        ("10", None, "rate"),
        ("/min", None, "rate"),
        ("10/", None, "rate"),
        ("10/week", None, "rate"),
        ("0/min", None, "rate"),
        ("1000001/min", None, "rate"),
        ("9" * 99 + "/min", None, "rate"),
        ("-1/min", None, "rate"),
        ("1.5/min", None, "rate"),
        ("٣/min", None, "rate"),
        ("1/0s", None, "rate"),
        ("1/31d", None, "rate"),
        (10, None, "rate"),
        ("10/min", 0, "burst"),
        ("10/min", True, "burst"),
        ("10/min", "many", "burst"),
    ],
)
def test_other_rates_are_refused(rate: Any, burst: Any, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        rates.parse(rate, burst)
    assert refused.value.field == field


def test_a_bucket_is_emptied_and_fills_evenly() -> None:
    rate, now = Rate(10, 60.0, 10), 100 * SECOND
    assert rates.tokens(rate, 0, now) == 10
    full_at = rates.taken(rate, 0, now, 10)
    assert rates.tokens(rate, full_at, now) == 0
    assert rates.opens_at(rate, full_at) == now + 6 * SECOND
    assert rates.tokens(rate, full_at, now + 6 * SECOND - 1) == 0
    assert rates.tokens(rate, full_at, now + 6 * SECOND) == 1
    assert rates.tokens(rate, full_at, now + 59 * SECOND) == 9
    assert rates.tokens(rate, full_at, now + 900 * SECOND) == 10


def test_what_does_not_divide_evenly_is_handed_out_no_faster() -> None:
    assert Rate(7, 60.0, 1).interval == 8_571_429


def test_another_rate_finds_the_bucket_empty_at_worst() -> None:
    now = 100 * SECOND
    full_at = rates.taken(Rate(1, 3600.0, 1), 0, now, 1)
    assert rates.changed(Rate(6, 60.0, 6), full_at, now) == now + 60 * SECOND
    assert rates.changed(Rate(1, 7200.0, 1), full_at, now) == full_at


@given(
    amount=st.integers(1, 50),
    burst=st.integers(1, 50),
    waits=st.lists(st.integers(0, 30 * SECOND), min_size=1, max_size=60),
)
def test_no_more_are_taken_than_the_burst_and_what_came_back(amount: int, burst: int, waits: list[int]) -> None:
    rate, now, full_at, taken = Rate(amount, 60.0, burst), 0, 0, 0
    for wait in waits:
        now += wait
        left = rates.tokens(rate, full_at, now)
        assert 0 <= left <= burst
        full_at = rates.taken(rate, full_at, now, left)
        taken += left
        opens = rates.opens_at(rate, full_at)
        assert rates.tokens(rate, full_at, opens) >= 1
        assert rates.tokens(rate, full_at, opens - 1) == 0
    assert taken <= burst + now // rate.interval


def test_rooms_are_capped_by_what_is_left() -> None:
    rooms = {"a": 3, "b": 1, "c": 2}
    rates.cap(rooms, {"a": 2, "b": 5, "d": 4})
    assert rooms == {"a": 2, "b": 1, "c": 2, "d": 4}


def test_a_bucket_without_a_token_is_a_closed_gate() -> None:
    rate, now = Rate(3, 30.0, 1), 50 * SECOND
    full_at = rates.taken(rate, 0, now, 1)
    found = rates.shown("call", rate, full_at, now)
    assert (found.left, found.opens_at) == (0, from_micros(now + 10 * SECOND))
    closure = rates.told(found)
    assert closure is not None
    assert (closure.gate, closure.kind, closure.until) == ("rate:call", "rate", found.opens_at)
    assert closure.reason == "its rate is 3/30s"
    later = rates.shown("call", rate, full_at, now + 10 * SECOND)
    assert (later.left, later.opens_at, rates.told(later)) == (1, None, None)
    assert rates.in_words(rates.shown("call", Rate(9, 3600.0, 1), 0, now)) == "9/hour"


def test_a_type_without_a_rate_is_told_where_to_look() -> None:
    refused = rates.no_rate("call")
    assert (refused.field, refused.message) == (
        "type",
        "There is no rate of type call. `dibs rate ls` shows the ones there are.",
    )
