"""How work flows through lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules import flow
from dibs.rules.flow import MINUTE_US, End, flows, nothing, since

if TYPE_CHECKING:
    import pytest


def test_the_last_minute_is_the_one_that_is_not_over() -> None:
    now = 100 * MINUTE_US + 17
    assert since(now, 1) == 100 * MINUTE_US
    assert since(now, 3) == 98 * MINUTE_US


def test_completions_are_counted_by_minute_and_lane() -> None:
    begin = 98 * MINUTE_US
    ends = [
        End(1, begin + 2 * MINUTE_US + 5, 30),
        End(2, begin + MINUTE_US, None),
        End(1, begin, 10),
        End(1, begin, 20),
    ]
    found = flows(ends, begin, 3)
    assert (found[1].per_minute, found[1].wait_p50, found[1].wait_p95) == ([2, 0, 1], 20, 30)
    assert (found[2].per_minute, found[2].wait_p50, found[2].wait_p95) == ([0, 1, 0], None, None)
    assert flows([], begin, 3) == {}
    assert nothing(ends, begin, 3) == [0, 0, 0]


def test_what_came_later_than_the_look_is_left_out() -> None:
    assert flows([End(1, 3 * MINUTE_US)], 0, 3)[1].per_minute == [0, 0, 0]


def test_minutes_that_were_not_looked_at_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "MOST_ENDS", 3)
    ends = [End(1, 2 * MINUTE_US + 1), End(1, 2 * MINUTE_US), End(1, MINUTE_US + 1)]
    assert flows(ends, 0, 3)[1].per_minute == [None, None, 2]
    assert nothing(ends, 0, 3) == [None, None, 0]
    late = [End(1, 9 * MINUTE_US)] * 3
    assert nothing(late, 0, 3) == [None, None, None]
