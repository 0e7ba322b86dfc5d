"""What people may ask for: bad input is refused with the field named."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import Invalid
from dibs.model.instants import to_micros
from dibs.rules import validation

HUGE = pytest.param(10**5000, id="huge")
NOW = to_micros(datetime(2026, 1, 1, tzinfo=UTC))


class Nowhere(tzinfo):
    """A zone that does not know its offset."""

    def utcoffset(self, when: datetime | None) -> None:
        return None

    dst = utcoffset

    def tzname(self, when: datetime | None) -> str:
        return "nowhere"


def refusal(call: Any, *args: Any, **options: Any) -> str:
    """The message with which `call` refuses; it must name the field."""
    with pytest.raises(Invalid) as caught:
        call(*args, **options)
    assert caught.value.field == "the_field"
    assert caught.value.message.startswith("the_field")
    assert caught.value.exit_code == 2
    return caught.value.message


@pytest.mark.parametrize("value", ["code", "Zürich – 東京 🦊", "a\nb\tc", "x" * 200, "no\u00a0break"])
def test_readable_text_is_taken(value: str) -> None:
    assert validation.text(value, "the_field") == value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "empty or blank"),
        (" \n\t ", "empty or blank"),
        ("x" * 201, "201 characters; at most 200"),
        ("a\0b", "a NUL character at position 1"),
        ("ab\ud800", "a lone surrogate at position 2"),
        ("\x1b[31m", r"control character U+001B"),
        ("a\x7f", "control character U+007F"),
        ("a\x85b", "control character U+0085"),
        ("a\rb", "control character U+000D"),
        (None, "must be text, not a value of type NoneType"),
        (5, "must be text, not 5"),
        (b"x", "must be text, not b'x'"),
        (["x"], "must be text, not a value of type list"),
    ],
)
def test_unreadable_text_is_refused(value: object, why: str) -> None:
    assert why in refusal(validation.text, value, "the_field")


def test_blank_text_and_other_lengths_can_be_allowed() -> None:
    assert validation.text("", "the_field", blank=True) == ""
    assert validation.text("x" * 4000, "the_field", max_chars=4000)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (0, 0),
        (5, 5),
        (0.25, 0.25),
        ("90s", 90),
        ("5m", 300),
        ("2h", 7200),
        ("1d", 86_400),
        ("250ms", 0.25),
        (" 1.5 h ", 5400),
        ("7", 7),
        (timedelta(minutes=2), 120),
    ],
)
def test_durations_are_seconds_or_text(value: object, seconds: float) -> None:
    result = validation.duration_s(value, "the_field")
    assert result == seconds
    assert isinstance(result, float)


@pytest.mark.parametrize(
    "value",
    [True, None, "", "s", "soon", "5x", "5m5s", "--5s", float("nan"), "nan", [5], b"5s", "1,5s"],
)
def test_what_is_no_duration_is_refused(value: object) -> None:
    assert "such as 250ms, 90s" in refusal(validation.duration_s, value, "the_field")


@pytest.mark.parametrize("value", [-1, "-5m", "99999d", float("inf"), "inf", 10**400, 1e300, timedelta(-1)])
def test_absurd_durations_are_refused(value: object) -> None:
    assert "between 0s and 3650d" in refusal(validation.duration_s, value, "the_field")


def test_a_duration_has_the_bounds_of_its_field() -> None:
    message = refusal(validation.duration_s, 0.5, "the_field", low=1.0, high=86_400.0)
    assert message == "the_field must be between 1s and 1d, not 0.5."
    assert "0.0005s" in refusal(validation.duration_s, 0, "the_field", low=0.0005, high=90.0)
    assert "a huge number" in refusal(validation.duration_s, 10**5000, "the_field")


@given(st.floats(0, 10**8))
def test_any_sensible_number_of_seconds_is_itself(value: float) -> None:
    assert validation.duration_s(value, "the_field") == value


@pytest.mark.parametrize(
    "value",
    [
        datetime(2030, 1, 31, 12, tzinfo=UTC),
        datetime(2030, 1, 31, 14, tzinfo=timezone(timedelta(hours=2))),
        "2030-01-31T12:00:00Z",
        " 2030-01-31T13:00:00+01:00 ",
    ],
)
@pytest.mark.parametrize("durations", [True, False])
def test_instants_are_aware(value: object, durations: bool) -> None:
    expected = to_micros(datetime(2030, 1, 31, 12, tzinfo=UTC))
    assert validation.instant(value, "the_field", NOW, durations=durations) == expected


@pytest.mark.parametrize(
    "value",
    [
        datetime(2030, 1, 31, 12),  # noqa: DTZ001 — the point of the test
        datetime(2030, 1, 31, tzinfo=Nowhere()),
        "2030-01-31",
        "2030-01-31T12:00",
    ],
)
def test_instants_without_a_zone_are_refused(value: object) -> None:
    message = refusal(validation.instant, value, "the_field", NOW, durations=True)
    assert "has no time zone; write 2030-01-31T" in message


@pytest.mark.parametrize(("value", "ahead"), [("90s", 90), (5, 5), (0.5, 0.5), (timedelta(hours=1), 3600)])
def test_a_duration_counts_from_now_where_it_may(value: object, ahead: float) -> None:
    assert validation.instant(value, "the_field", NOW, durations=True) == NOW + round(ahead * 1_000_000)
    message = refusal(validation.instant, value, "the_field", NOW, durations=False)
    assert "2030-01-31T12:00:00Z" in message
    assert "duration" not in message


@pytest.mark.parametrize("value", ["tomorrow", "", None, [1], date(2030, 1, 1), "2030-13-01T00:00:00Z"])
def test_what_is_no_instant_is_refused(value: object) -> None:
    message = refusal(validation.instant, value, "the_field", NOW, durations=True)
    assert "or a duration from now" in message


@pytest.mark.parametrize("value", [True, float("nan"), "nan", "-5s", -1, 1e300])
def test_nonsense_durations_from_now_are_refused(value: object) -> None:
    refusal(validation.instant, value, "the_field", NOW, durations=True)


@pytest.mark.parametrize(
    "value",
    [
        datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(2201, 1, 1, tzinfo=UTC),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=14))),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))),
        190 * 365 * 86_400,
    ],
)
def test_instants_outside_2000_to_2200_are_refused(value: object) -> None:
    assert "2000 to 2200" in refusal(validation.instant, value, "the_field", NOW, durations=True)


def test_numbers_are_taken_within_their_bounds() -> None:
    assert validation.number(50, "the_field", 0, 100) == 50.0
    assert isinstance(validation.number(50, "the_field", 0, 100), float)
    assert validation.number(0.1, "the_field", 0, 100) == 0.1


@pytest.mark.parametrize("value", [True, "50", None, float("nan"), float("inf"), -0.1, 101, 10**400, HUGE, [1], 1j])
def test_other_numbers_are_refused(value: object) -> None:
    assert "a number from 0 to 100" in refusal(validation.number, value, "the_field", 0, 100)


def test_whole_numbers_are_taken_within_their_bounds() -> None:
    assert validation.whole(3, "the_field", 1, 10_000) == 3


@pytest.mark.parametrize("value", [True, "3", 3.0, None, 0, 10_001, HUGE, float("nan")])
def test_other_whole_numbers_are_refused(value: object) -> None:
    assert "a whole number from 1 to 10,000" in refusal(validation.whole, value, "the_field", 1, 10_000)


def test_names_are_a_sorted_set() -> None:
    assert validation.names((), "the_field") == ()
    assert validation.names([], "the_field") == ()
    assert validation.names(["b", "a", "b"], "the_field") == ("a", "b")
    assert validation.names({"b", "a"}, "the_field") == ("a", "b")
    assert validation.names((name for name in "ba"), "the_field") == ("a", "b")


def test_names_can_keep_their_order_if_they_have_one() -> None:
    assert validation.names(["b", "a", "b"], "the_field", ordered=True) == ("b", "a")
    assert validation.names({"b", "a", "c"}, "the_field", ordered=True) == ("a", "b", "c")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ("web", "write ['web']"),
        (b"web", "write [b'web']"),
        ("x" * 99, "…]"),
        ({"web": 1}, "not a value of type dict"),
        (None, "not a value of type NoneType"),
        (5, "not 5"),
        ([5], "must be text"),
        ([""], "empty or blank"),
        (["a\0"], "NUL"),
        ([str(number) for number in range(101)], "101 entries; at most 100"),
    ],
)
def test_other_names_are_refused(values: object, why: str) -> None:
    assert why in refusal(validation.names, values, "the_field")


def test_a_flag_is_true_or_false_and_nothing_like_it() -> None:
    assert validation.flag(True, "approval") is True
    assert validation.flag(False, "approval") is False
    for value in (1, 0, None, "yes"):
        assert "must be True or False" in refusal(validation.flag, value, "the_field")
