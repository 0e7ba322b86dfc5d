"""When duties are due, missed or forgiven."""

from __future__ import annotations

from dibs.rules import schedule

SECOND = 1_000_000
NOW = 1_800_000_000 * SECOND


def test_a_duty_that_never_ran_is_due_but_not_missed() -> None:
    assert schedule.due(None, NOW, 1)
    assert schedule.next_due_at(None, NOW, 1) == NOW
    assert not schedule.missed(None, NOW, 1)


def test_a_duty_is_due_once_its_interval_has_passed() -> None:
    assert not schedule.due(NOW - SECOND + 1, NOW, 1)
    assert schedule.due(NOW - SECOND, NOW, 1)
    assert schedule.next_due_at(NOW - SECOND // 2, NOW, 1) == NOW + SECOND // 2
    assert schedule.next_due_at(NOW - 5 * SECOND, NOW, 1) == NOW


def test_a_clock_that_was_set_back_does_not_stop_a_duty() -> None:
    assert schedule.due(NOW + 3600 * SECOND, NOW, 1)


def test_a_duty_is_missed_when_it_is_more_than_three_intervals_late() -> None:
    assert not schedule.missed(NOW - 3 * SECOND, NOW, 1)
    assert schedule.missed(NOW - 3 * SECOND - 1, NOW, 1)


def test_nothing_expires_for_thirty_seconds_after_a_missed_duty() -> None:
    assert schedule.grace_until(NOW) == NOW + 30 * SECOND


def test_ended_tasks_are_kept_for_a_week_unless_told_otherwise() -> None:
    assert schedule.kept_until(NOW) == NOW + 7 * 86_400 * SECOND
    assert schedule.kept_until(NOW, 0.5) == NOW + SECOND // 2


def test_every_duty_has_an_interval() -> None:
    assert set(schedule.INTERVALS_S) == {"promote", "expire", "rerank", "spread", "prune"}
