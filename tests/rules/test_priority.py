"""Effective priority, ranks and urgency."""

from __future__ import annotations

from datetime import UTC, datetime
from math import isclose, log2, sqrt

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dibs.model.instants import to_micros
from dibs.rules import priority as rules

MINUTE = 60_000_000
NOW = to_micros(datetime(2031, 5, 4, 3, 2, 1, tzinfo=UTC))

instants = st.integers(rules.EPOCH, NOW + 10**15)
boosts = st.sampled_from(rules.BOOSTS)


def test_minutes_count_from_2025() -> None:
    assert to_micros(datetime(2025, 1, 1, tzinfo=UTC)) == rules.EPOCH
    assert rules.minutes(rules.EPOCH + 90_000_000) == 1.5


def test_there_are_sixteen_boosts_and_none() -> None:
    assert len(rules.BOOSTS) == 17
    assert rules.BOOSTS[0] == 0
    assert rules.BOOSTS[1] == 0.01
    assert rules.BOOSTS[-1] == 1000


@pytest.mark.parametrize(
    ("given_boost", "rounded"),
    [
        (0, 0),
        (1e-300, 0.01),
        (5e-324, 0.01),
        (0.013, 0.01),
        (0.015, 0.02),
        (0.3, 0.2),
        (0.33, 0.5),
        (7, 5),
        (999, 1000),
    ],
)
def test_boost_is_rounded_by_ratio(given_boost: float, rounded: float) -> None:
    assert rules.round_boost(given_boost) == rounded


@given(st.floats(0.01, 1000))
def test_a_rounded_boost_is_the_nearest_by_ratio_and_stays(boost: float) -> None:
    rounded = rules.round_boost(boost)
    assert rules.round_boost(rounded) == rounded
    assert max(boost / rounded, rounded / boost) <= sqrt(2.5) * 1.000001


def test_urgency_halves_with_every_quarter_of_an_hour_left() -> None:
    assert rules.urgency(None, NOW) == 0
    assert rules.urgency(NOW, NOW) == 50
    assert rules.urgency(NOW - 1, NOW) == 50
    assert rules.urgency(NOW + 15 * MINUTE, NOW) == 25
    assert rules.urgency(NOW + 30 * MINUTE, NOW) == 12.5
    assert rules.urgency(NOW + 10**17, NOW) == 0
    assert rules.steps(NOW + 30 * MINUTE, NOW) == 12


def test_a_reached_or_absent_deadline_has_no_next_step() -> None:
    assert rules.next_step_at(None, NOW) is None
    assert rules.next_step_at(NOW, NOW) is None
    assert rules.next_step_at(NOW - 5, NOW) is None


def test_the_last_step_is_the_deadline_itself() -> None:
    assert rules.next_step_at(NOW, NOW - 1) == NOW


@given(instants, st.integers(1, 100 * MINUTE))
@example(NOW, 1)
@example(NOW, 15 * MINUTE)
@example(NOW, 15 * MINUTE + 1)
def test_the_next_step_is_the_first_instant_with_one_more(deadline: int, remaining: int) -> None:
    now = deadline - remaining
    at = rules.next_step_at(deadline, now)
    assert at is not None
    assert at > now
    assert rules.steps(deadline, at) == rules.steps(deadline, now) + 1
    assert rules.steps(deadline, at - 1) == rules.steps(deadline, now)


@pytest.mark.parametrize("wanted", range(1, 51))
def test_following_the_steps_visits_every_one(wanted: int) -> None:
    at: int | None = NOW - 10**12
    for _ in range(wanted):
        assert at is not None
        at = rules.next_step_at(NOW, at)
    assert at is not None
    assert rules.steps(NOW, at) == wanted


@pytest.mark.parametrize("error", [3e-9, -3e-9])
def test_an_inexact_logarithm_does_not_move_the_step(error: float, monkeypatch: pytest.MonkeyPatch) -> None:
    at = rules.next_step_at(NOW, NOW - 20 * MINUTE)
    monkeypatch.setattr(rules, "log2", lambda ratio: log2(ratio) + error)
    assert rules.next_step_at(NOW, NOW - 20 * MINUTE) == at


@given(
    st.floats(0, 100),
    boosts,
    instants,
    st.integers(0, rules.MAX_WEIGHT),
    st.none() | instants,
    instants,
)
def test_the_rank_stands_for_the_definition_within_a_point(
    priority: float, boost: float, aged_from: int, weight: int, deadline: int | None, now: int
) -> None:
    rank = rules.rank(priority, boost, aged_from, weight, rules.steps(deadline, now))
    exact = rules.exact_effective(priority, boost, aged_from, weight, deadline, now)
    difference = rules.effective(rank, boost, now) - exact
    tolerance = 1e-6 + boost * 1e-6
    assert -tolerance <= difference < 1 + tolerance


def test_effective_priority_by_hand() -> None:
    aged_from = NOW - 100 * MINUTE
    exact = rules.exact_effective(50, 0.1, aged_from, 3, NOW + 15 * MINUTE, NOW)
    assert isclose(exact, 50 - 10 - 25 - 3)
    rank = rules.rank(50, 0.1, aged_from, 3, 25)
    assert isclose(rules.effective(rank, 0.1, NOW), exact, abs_tol=1e-6)


@given(st.floats(0, 100), st.floats(0, 100), boosts, instants, instants, instants, instants)
def test_tasks_of_one_boost_never_change_their_order(
    one: float, other: float, boost: float, one_from: int, other_from: int, now: int, later: int
) -> None:
    ranks = [rules.rank(one, boost, one_from, 0, 0), rules.rank(other, boost, other_from, 0, 0)]
    for moment in (now, later):
        values = [rules.effective(rank, boost, moment) for rank in ranks]
        if ranks[0] < ranks[1]:
            assert values[0] <= values[1]


@pytest.mark.parametrize(
    ("priority", "tier"),
    [
        (-5, "critical"),
        (9.9, "critical"),
        (10, "high"),
        (29, "high"),
        (30, "normal"),
        (59, "normal"),
        (60, "low"),
        (79, "low"),
        (80, "background"),
        (100, "background"),
    ],
)
def test_tiers(priority: float, tier: str) -> None:
    assert rules.tier(priority) == tier


def test_a_rank_is_of_the_tier_that_its_effective_priority_has() -> None:
    now = rules.EPOCH + 90 * 60_000_000
    for boost in (0.0, 0.1, 5.0):
        bounds = rules.tier_ranks(boost, now)
        for tier, rank in zip(rules.TIERS[1:], bounds, strict=True):
            assert rules.tier(rules.effective(rank + 0.001, boost, now)) == tier
            assert rules.tier(rules.effective(rank - 0.001, boost, now)) != tier


def test_tiers_that_nothing_is_in_are_left_out() -> None:
    assert rules.by_tier([1, 0, 2, 0, 0]) == {"critical": 1, "normal": 2}
