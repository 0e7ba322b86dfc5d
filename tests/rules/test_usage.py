"""What attempts used, added up, and which of several told costs holds."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.rules.usage import added_up, is_unpriced, newer_cost, plus

TOLD, COMPUTED, UNKNOWN = (0.5, None), (0.25, "prices 1"), (None, None)


def test_what_is_known_is_added_up() -> None:
    assert plus(2, 3) == 5
    assert plus(0.25, 0.5) == 0.75


def test_of_many_costs_those_that_are_known_count() -> None:
    assert added_up([None, 0.25, None, 0.5]) == 0.75
    assert added_up([]) is None
    assert added_up([None]) is None


def test_unknown_is_not_zero() -> None:
    assert plus(None, 3) == 3
    assert plus(3, None) == 3
    assert plus(None, 0) == 0
    assert plus(None, None) is None


def test_the_newest_cost_holds() -> None:
    assert newer_cost(TOLD, (0.75, None), tokens=True) == (0.75, None)
    assert newer_cost(COMPUTED, (0.75, "prices 2"), tokens=True) == (0.75, "prices 2")
    for cost in (TOLD, COMPUTED):
        assert newer_cost(UNKNOWN, cost, tokens=True) == cost


def test_what_the_agent_told_holds_over_what_is_computed() -> None:
    assert newer_cost(TOLD, COMPUTED, tokens=True) == TOLD
    assert newer_cost(COMPUTED, TOLD, tokens=True) == TOLD


def test_a_computed_cost_does_not_outlive_its_tokens() -> None:
    assert newer_cost(COMPUTED, UNKNOWN, tokens=True) == UNKNOWN
    assert newer_cost(COMPUTED, UNKNOWN, tokens=False) == COMPUTED


def test_a_report_without_a_cost_leaves_a_told_one_alone() -> None:
    assert newer_cost(TOLD, UNKNOWN, tokens=True) == TOLD
    assert newer_cost(UNKNOWN, UNKNOWN, tokens=True) == UNKNOWN


@pytest.mark.parametrize(
    ("outcome", "cost", "used", "unpriced"),
    [
        ("completed", 0.0, {"tokens_in": 5, "model": "m"}, False),
        ("completed", None, {}, False),
        ("completed", None, {"tokens_in": 0, "tokens_out": 0, "turns": 0}, False),
        ("completed", None, {"tokens_in": 5}, True),
        ("completed", None, {"tokens_out": 5}, True),
        ("completed", None, {"turns": 1}, True),
        ("completed", None, {"model": "m"}, True),
        ("expired", None, {"model": "m"}, True),
        ("released", None, {"model": "m"}, False),
        ("suspended", None, {"model": "m"}, False),
        ("rate_limited", None, {"model": "m"}, False),
        ("released", None, {"model": "m", "tokens_in": 5}, True),
    ],
)
def test_an_attempt_is_unpriced_if_it_probably_cost_something(
    outcome: str, cost: float | None, used: dict[str, Any], unpriced: bool
) -> None:
    facts = {"model": None, "tokens_in": None, "tokens_out": None, "turns": None, **used}
    assert is_unpriced(outcome, cost, **facts) is unpriced
