"""When work that was done and not judged need not be done again."""

from __future__ import annotations

import pytest

from dibs.model.attempt import Attempt
from dibs.model.status import Outcome
from dibs.rules.made import still_counts


def attempt(fence: int, outcome: Outcome, reason: str | None = None) -> Attempt:
    return Attempt(number=fence, fence=fence, agent="ada", outcome=outcome, reason=reason)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_it_counts_after_an_attempt_that_was_cut_short(outcome: Outcome) -> None:
    cut_short = outcome in (Outcome.EXPIRED, Outcome.RELEASED, Outcome.TIMED_OUT)
    assert still_counts(2, [attempt(1, Outcome.FAILED), attempt(2, outcome)]) is cut_short


def test_who_gave_it_back_untouched_changes_nothing() -> None:
    made = attempt(2, Outcome.EXPIRED, "crash")
    assert still_counts(2, [made, attempt(3, Outcome.RELEASED), attempt(4, Outcome.EXPIRED, "expired")])


@pytest.mark.parametrize(
    "later", [(Outcome.EXPIRED, "crash"), (Outcome.REJECTED, "invalid_output"), (Outcome.FAILED, "error")]
)
def test_who_may_have_worked_on_it_since_made_something_else(later: tuple[Outcome, str]) -> None:
    assert not still_counts(2, [attempt(2, Outcome.EXPIRED, "crash"), attempt(3, *later)])


@pytest.mark.parametrize("attempts", [[], [attempt(1, Outcome.EXPIRED)], [attempt(3, Outcome.RELEASED)]])
def test_an_attempt_that_nobody_knows_does_not_count(attempts: list[Attempt]) -> None:
    assert not still_counts(2, attempts)
