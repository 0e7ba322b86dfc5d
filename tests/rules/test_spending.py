"""What was spent, on what and when."""

from __future__ import annotations

import pytest

from dibs.errors import Invalid
from dibs.model.instants import from_micros
from dibs.rules.metrics import DAY_US
from dibs.rules.spending import MAX_DAYS, Sum, check_by, days, spent

NOW = 20_000 * DAY_US + 5


def test_a_month_until_today_unless_told_otherwise() -> None:
    assert days(None, None, NOW) == (19_971 * DAY_US, 20_001 * DAY_US)
    assert days(NOW - 3 * DAY_US, NOW - DAY_US, NOW) == (19_997 * DAY_US, 20_000 * DAY_US)
    assert days(0, None, NOW)[0] == (20_001 - MAX_DAYS) * DAY_US
    with pytest.raises(Invalid) as refused:
        days(NOW, NOW - 2 * DAY_US, NOW)
    assert refused.value.field == "since"


def test_sums_are_in_order_and_what_has_no_name_is_last() -> None:
    found = spent([Sum(1, "a", 1), Sum(0, "", 2, None, 2), Sum(0, "b", 1, 0.5, 0, 10, 20)], 19_990 * DAY_US, DAY_US)
    assert [(one.at, one.name, one.cost_usd) for one in found] == [
        (from_micros(19_990 * DAY_US), "b", 0.5),
        (from_micros(19_990 * DAY_US), None, None),
        (from_micros(19_991 * DAY_US), "a", None),
    ]
    assert (found[0].attempts, found[0].tokens_in, found[0].tokens_out, found[1].unpriced) == (1, 10, 20, 2)


def test_there_are_four_ways_to_group() -> None:
    assert check_by("dag") == "dag"
    with pytest.raises(Invalid) as refused:
        check_by("day")
    assert refused.value.field == "by"
