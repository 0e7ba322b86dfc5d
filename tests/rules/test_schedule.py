"""When duties run, and when nothing expires."""

from __future__ import annotations

import pytest

from dibs.duties import DUTIES
from dibs.rules import schedule


def test_every_duty_has_an_interval() -> None:
    assert set(schedule.INTERVALS_S) == set(DUTIES)
    assert all(interval_s > 0 for interval_s in schedule.INTERVALS_S.values())


@pytest.mark.parametrize(
    ("wall_s", "running_s", "slept"),
    [(1.0, 1.0, False), (60.0, 60.0, False), (3.5, 0.5, False), (3_600.0, 1.0, True), (-3_600.0, 1.0, False)],
)
def test_a_machine_slept_if_the_wall_clock_ran_ahead(wall_s: float, running_s: float, slept: bool) -> None:
    assert schedule.slept(wall_s, running_s) is slept


SECOND = 1_000_000
NOW = 1_800_000_000 * SECOND


@pytest.mark.parametrize(
    ("due_at", "due"),
    [(None, True), (NOW, True), (NOW + 1, False), (NOW + 30 * SECOND, False), (NOW + 31 * SECOND, True)],
)
def test_a_duty_is_due_at_its_time_and_when_the_clock_was_put_back(due_at: int | None, due: bool) -> None:
    assert schedule.due(due_at, NOW, 1) is due
