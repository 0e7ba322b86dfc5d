"""Budgets are worth an alarm once when little is left, and once when nothing is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dibs.model.views import Budget
from dibs.rules.alarms import alarms, event_data, level_of, name_of


def budget(spent: float = 0.0, limit: float = 10.0, **options: Any) -> Budget:
    return Budget(scope="type:code", limit=limit, spent=spent, left=limit - spent, **options)


@pytest.mark.parametrize(
    ("found", "level"),
    [
        (budget(0), ""),
        (budget(7.9), ""),
        (budget(8), "low"),
        (budget(9.9), "low"),
        (budget(10), "exhausted"),
        (budget(11), "exhausted"),
        (budget(1, waiting=2), "exhausted"),
        (budget(0, limit=0.0), ""),
        (budget(0, limit=0.0, waiting=1), ""),
    ],
)
def test_how_bad_it_is(found: Budget, level: str) -> None:
    assert level_of(found) == level


def test_each_level_is_told_once_until_it_gets_better() -> None:
    told: dict[str, str] = {}
    heard = []
    for spent in (5, 8, 9, 10, 10, 11):
        told, news = alarms([budget(spent)], told)
        heard.append([level for level, _ in news])
    assert heard == [[], ["low"], [], ["exhausted"], [], []]
    told, news = alarms([budget(8)], told)
    assert (told, news) == ({"type:code|usd|": "low"}, [])
    told, news = alarms([budget(1, limit=100)], told)
    assert (told, news) == ({}, [])
    told, news = alarms([budget(99, limit=100)], told)
    assert [level for level, _ in news] == ["low"]


def test_the_next_day_is_another_budget() -> None:
    days = [budget(9, window="day", ends_at=datetime(2030, 1, day, tzinfo=UTC)) for day in (1, 2)]
    told, _ = alarms([days[0]], {})
    told, news = alarms([days[1]], told)
    assert len(news) == 1
    assert set(told) == {name_of(days[1])}


def test_the_event_says_what_is_left() -> None:
    assert event_data(budget(8)) == {"scope": "type:code", "unit": "usd", "limit": 10, "spent": 8, "left": 2}
    said = event_data(budget(1, waiting=3, ends_at=datetime(2030, 1, 1, tzinfo=UTC)))
    assert (said["waiting"], said["ends_at"]) == (3, "2030-01-01T00:00:00+00:00")
