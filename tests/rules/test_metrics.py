"""What metrics mean."""

from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.errors import Invalid
from dibs.rules.metrics import BY, DAY_US, Counts, check_by, group_of, measured, percentile


def test_there_are_four_ways_to_group() -> None:
    assert [check_by(by) for by in BY] == ["type", "agent", "model", "day"]
    for by in ("colour", "", None, 3):
        with pytest.raises(Invalid) as caught:
            check_by(by)
        assert caught.value.field == "by"


def test_a_claim_belongs_to_one_group_of_each() -> None:
    claim = {"type": "t", "agent": "ada", "model": "m", "at": 3 * DAY_US + 1}
    assert [group_of(by, **claim) for by in BY] == ["t", "ada", "m", "3"]  # type: ignore[arg-type]
    assert group_of("model", type="t", agent="ada", model=None, at=0) == ""
    assert group_of("day", type="t", agent="ada", model=None, at=DAY_US - 1) == "0"


def test_percentiles_are_values_that_occurred() -> None:
    assert percentile([], 50) is None
    assert [percentile([7], percent) for percent in (50, 95)] == [7, 7]
    assert percentile([1, 2], 50) == 1
    assert percentile(list(range(1, 21)), 95) == 19
    assert percentile(list(range(1, 22)), 95) == 20


@given(st.lists(st.integers(), min_size=1), st.sampled_from([50, 95]))
def test_enough_of_all_do_not_exceed_a_percentile(values: list[int], percent: int) -> None:
    found = percentile(sorted(values), percent)
    assert found in values
    assert sum(value <= found for value in values) >= ceil(len(values) * percent / 100)
    assert sum(value < found for value in values) < len(values) * percent / 100


def test_counts_become_what_people_see() -> None:
    one = Counts("t", created=4, completed=3, failed=1, held=1, wait_p50=1_500_000, renewal_delay=250_000)
    (shown,) = measured("type", [one])
    assert (shown.name, shown.created, shown.error_rate) == ("t", 4, 0.25)
    assert (shown.wait_p50_s, shown.wait_p95_s, shown.renewal_delay_s, shown.held) == (1.5, None, 0.25, 1)


def test_nothing_ended_is_no_rate_of_errors() -> None:
    (shown,) = measured("type", [Counts("t", created=1)])
    assert shown.error_rate is None


def test_groups_come_by_name_and_what_has_none_last() -> None:
    found = measured("model", [Counts("small"), Counts(""), Counts("large")])
    assert [one.name for one in found] == ["large", "small", None]
    assert [one.created for one in found] == [None, None, None]


def test_days_come_in_their_order_and_have_dates() -> None:
    found = measured("day", [Counts("20000"), Counts("9999"), Counts("0")])
    assert [one.name for one in found] == ["1970-01-01", "1997-05-18", "2024-10-04"]
    assert [one.held for one in found] == [None, None, None]
