"""What becomes of a task after a failure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dibs.model.attempt import Attempt
from dibs.model.retry import Retry
from dibs.model.status import Outcome, Status
from dibs.model.task import Task
from dibs.rules.retry import Failure, PoisonPolicy, Verdict, after_failure, fingerprint

BOOM = Failure("error", "boom")


def a_task(
    *,
    attempts: int = 0,
    crashes: int = 0,
    max_attempts: int = 10,
    retry: Retry | None = None,
    fallback_models: tuple[str, ...] = (),
) -> Task:
    return Task(
        id="task_1",
        type="x",
        attempts=attempts,
        crashes=crashes,
        max_attempts=max_attempts,
        retry=retry,
        fallback_models=fallback_models,
    )


def tried(*agents: str, error: str = "boom", outcome: Outcome = Outcome.FAILED) -> list[Attempt]:
    return [
        Attempt(
            number=number,
            fence=number,
            agent=agent,
            outcome=outcome,
            error=error,
            fingerprint=fingerprint("error", error),
        )
        for number, agent in enumerate(agents, 1)
    ]


def test_a_failure_is_retried_after_the_default_delay() -> None:
    verdict = after_failure(a_task(), [], "ann", BOOM, draw=0.5)
    assert verdict == Verdict(
        next=Status.RETRYING,
        delay_s=10.0,
        counts_attempt=True,
        counts_crash=False,
        reason="error",
        fingerprint=fingerprint("error", "boom"),
    )


def test_an_immediate_retry_goes_straight_to_ready() -> None:
    verdict = after_failure(a_task(retry=Retry(strategy="immediate")), [], "ann", BOOM, draw=0)
    assert verdict.next is Status.READY
    assert verdict.delay_s == 0


def test_the_delay_grows_with_the_counted_failures() -> None:
    policy = Retry(delay=1, jitter=0)
    waits = [after_failure(a_task(attempts=n, retry=policy), [], "ann", BOOM, 0).delay_s for n in range(4)]
    assert waits == [1, 2, 4, 8]


@pytest.mark.parametrize(
    ("asked", "waited", "status"),
    [
        (0, 0, Status.READY),
        (-3, 0, Status.READY),
        (42, 42, Status.RETRYING),
        (10**9, 86_400, Status.RETRYING),
    ],
)
def test_retry_after_replaces_the_delay_up_to_a_day(asked: float, waited: float, status: Status) -> None:
    verdict = after_failure(a_task(), [], "ann", Failure("error", "x", retry_after=asked), 0.5)
    assert (verdict.delay_s, verdict.next) == (waited, status)


def test_the_last_attempt_dead_letters_with_its_own_reason() -> None:
    verdict = after_failure(a_task(attempts=2, max_attempts=3), [], "ann", BOOM, 0)
    assert (verdict.next, verdict.reason, verdict.poison_pill) == (Status.DEAD_LETTERED, "error", False)
    assert verdict.counts_attempt


def test_max_attempts_one_allows_one_counted_attempt() -> None:
    assert after_failure(a_task(max_attempts=1), [], "ann", BOOM, 0).next is Status.DEAD_LETTERED


def test_the_reason_wins_over_a_wish_to_retry() -> None:
    verdict = after_failure(a_task(), [], "ann", Failure("auth_failure", "401", retry=True), 0)
    assert (verdict.next, verdict.reason) == (Status.DEAD_LETTERED, "auth_failure")


def test_no_retry_is_obeyed() -> None:
    assert after_failure(a_task(), [], "ann", Failure("error", "x", retry=False), 0).next is Status.DEAD_LETTERED


def test_an_unconfirmed_start_counts_for_nothing_and_makes_a_suspect() -> None:
    lost = Failure("expired", "", Outcome.EXPIRED, confirmed=False)
    verdict = after_failure(a_task(attempts=9, crashes=2, max_attempts=10), [], "ann", lost, 0.5)
    assert verdict == Verdict(
        next=Status.READY, counts_attempt=False, counts_crash=False, suspect=True, reason="expired"
    )


def test_a_confirmed_expiry_counts_as_attempt_and_crash_and_is_retried_at_once() -> None:
    lost = Failure("expired", "", Outcome.EXPIRED, retry_after=60)
    verdict = after_failure(a_task(), [], "ann", lost, 0.5)
    assert verdict == Verdict(next=Status.READY, counts_attempt=True, counts_crash=True, reason="expired")


def test_a_child_killed_by_a_signal_counts_as_attempt_and_crash() -> None:
    verdict = after_failure(a_task(), [], "ann", Failure("crash", "signal 9", crash=True), 0.5)
    assert (verdict.next, verdict.counts_attempt, verdict.counts_crash) == (Status.RETRYING, True, True)


@pytest.mark.parametrize("failure", [Failure("crash", "signal 9", crash=True), Failure("expired", "", Outcome.EXPIRED)])
def test_the_third_crash_is_a_poison_pill_even_without_the_fingerprint_rule(failure: Failure) -> None:
    verdict = after_failure(a_task(crashes=2), [], "ann", failure, 0.5, PoisonPolicy(enabled=False))
    assert (verdict.next, verdict.poison_pill, verdict.reason) == (Status.DEAD_LETTERED, True, "poison_pill")
    assert verdict.counts_crash


def test_an_ordinary_failure_after_two_crashes_is_no_poison_pill() -> None:
    assert not after_failure(a_task(crashes=2), [], "ann", BOOM, 0.5).poison_pill


def test_the_number_of_crashes_is_configurable() -> None:
    crash = Failure("crash", "signal 9", crash=True)
    assert not after_failure(a_task(crashes=2), [], "ann", crash, 0.5, PoisonPolicy(crashes=4)).poison_pill


def test_the_same_error_from_two_agents_in_three_attempts_is_a_poison_pill() -> None:
    verdict = after_failure(a_task(attempts=2), tried("ann", "ann"), "bob", BOOM, 0.5)
    assert (verdict.next, verdict.poison_pill, verdict.reason) == (Status.DEAD_LETTERED, True, "poison_pill")


@pytest.mark.parametrize(
    ("previous", "agent"),
    [
        (tried("ann", "ann"), "ann"),
        (tried("ann"), "bob"),
        (tried("ann", "bob", error="other"), "ann"),
        (tried("ann", "bob", outcome=Outcome.EXPIRED), "ann"),
        (tried("ann", "bob", outcome=Outcome.RELEASED), "ann"),
    ],
)
def test_one_agent_too_few_attempts_or_other_errors_are_no_poison_pill(previous: list[Attempt], agent: str) -> None:
    assert not after_failure(a_task(attempts=2), previous, agent, BOOM, 0.5).poison_pill


def test_the_fingerprint_rule_can_be_turned_off() -> None:
    task, previous = a_task(attempts=2), tried("ann", "ann")
    assert after_failure(task, previous, "bob", BOOM, 0.5, PoisonPolicy(enabled=False)).next is Status.RETRYING
    assert after_failure(task, previous, "bob", BOOM, 0.5, PoisonPolicy(attempts=4)).next is Status.RETRYING
    assert after_failure(task, previous, "bob", BOOM, 0.5, PoisonPolicy(agents=3)).next is Status.RETRYING


def test_errors_of_an_earlier_life_are_forgiven() -> None:
    assert not after_failure(a_task(attempts=0), tried("ann", "bob"), "ann", BOOM, 0.5).poison_pill
    assert not after_failure(a_task(attempts=1), tried("ann", "bob", "eve"), "ann", BOOM, 0.5).poison_pill


def test_fallback_models_take_over_after_the_second_failed_attempt() -> None:
    def falls_back(attempts: int, failure: Failure = BOOM, models: tuple[str, ...] = ("small",)) -> bool:
        return after_failure(a_task(attempts=attempts, fallback_models=models), [], "ann", failure, 0).fallback

    assert [falls_back(attempts) for attempts in (0, 1, 2)] == [False, True, True]
    assert not falls_back(5, models=())
    unconfirmed = Failure("expired", "", Outcome.EXPIRED, confirmed=False)
    assert [falls_back(attempts, unconfirmed) for attempts in (1, 2)] == [False, True]


failures = st.builds(
    Failure,
    st.sampled_from(["error", "timeout", "expired", "auth_failure", "mine"]),
    st.text(max_size=20),
    st.sampled_from([Outcome.FAILED, Outcome.TIMED_OUT, Outcome.EXPIRED]),
    st.booleans(),
    st.none() | st.floats(0, 1e6),
    st.booleans(),
    st.booleans(),
)


@given(failures, st.integers(0, 5), st.integers(0, 5), st.integers(1, 6), st.floats(0, 1, exclude_max=True))
def test_every_verdict_is_consistent(
    failure: Failure, attempts: int, crashes: int, max_attempts: int, draw: float
) -> None:
    task = a_task(attempts=attempts, crashes=crashes, max_attempts=max_attempts)
    verdict = after_failure(task, [], "ann", failure, draw)
    assert verdict.next in (Status.READY, Status.RETRYING, Status.DEAD_LETTERED)
    assert (verdict.delay_s > 0) == (verdict.next is Status.RETRYING)
    assert verdict.counts_attempt != verdict.suspect
    assert verdict.counts_attempt or not verdict.counts_crash
    assert not verdict.poison_pill or verdict.next is Status.DEAD_LETTERED
    if verdict.counts_attempt and attempts + 1 >= max_attempts:
        assert verdict.next is Status.DEAD_LETTERED


def limited(releases: int = 0, **more: Any) -> Verdict:
    task = Task(id="task_1", type="code", releases=releases)
    return after_failure(task, [], "a", Failure(reason="rate_limit", error="429", **more), 0.5)


def test_a_rate_limit_uses_up_no_attempt_and_waits_as_long_as_it_says() -> None:
    verdict = limited(retry_after=42)
    assert (verdict.next, verdict.delay_s, verdict.limited) == (Status.RETRYING, 42, True)
    assert (verdict.counts_attempt, verdict.counts_crash) == (False, False)


@pytest.mark.parametrize(("releases", "base"), [(0, 60), (1, 120), (2, 240), (10, 3_600)])
def test_rate_limits_in_a_row_wait_longer_and_longer(releases: int, base: float) -> None:
    assert limited(releases).delay_s == pytest.approx(base * 1.05)


def test_the_twentieth_rate_limit_in_a_row_counts_as_a_failure() -> None:
    assert limited(18).counts_attempt is False
    assert limited(19).counts_attempt is True


def test_a_rate_limit_that_shall_not_be_retried_is_a_dead_letter() -> None:
    assert limited(retry=False).next is Status.DEAD_LETTERED


def test_a_rejected_output_is_tried_again_like_a_failure() -> None:
    refused = Failure("invalid_output", "refused by regex: no link", outcome=Outcome.REJECTED)
    verdict = after_failure(a_task(retry=Retry(delay=5, jitter=0)), [], "ann", refused, draw=0.5)
    assert (verdict.next, verdict.delay_s, verdict.counts_attempt) == (Status.RETRYING, 5, True)
    assert after_failure(a_task(attempts=9), [], "ann", refused, 0.5).next is Status.DEAD_LETTERED
    picky = Retry(no_retry_on=("invalid_output",))
    assert after_failure(a_task(retry=picky), [], "ann", refused, 0.5).next is Status.DEAD_LETTERED


def test_outputs_that_are_rejected_for_the_same_reason_make_no_poison_pill() -> None:
    refused = Failure("invalid_output", "boom", outcome=Outcome.REJECTED)
    past = tried("ann", "bob", "ann", outcome=Outcome.REJECTED)
    for attempt in past:
        attempt.fingerprint = fingerprint("invalid_output", "boom")
    assert after_failure(a_task(attempts=3), past, "bob", refused, 0.5).next is Status.RETRYING


def test_rejected_attempts_belong_to_this_life() -> None:
    past = tried("ann", "bob") + tried("ann", outcome=Outcome.REJECTED)
    # Two of the three were counted since it was retried by hand, so the first does not make this one the third.
    assert after_failure(a_task(attempts=2), past, "ann", BOOM, 0.5).poison_pill is False
