"""Retry policies: reading them, checking them, and the delays they give."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dibs.errors import Invalid
from dibs.model.attempt import Attempt
from dibs.model.retry import NOT_RETRIED, Retry
from dibs.model.status import Outcome
from dibs.model.task import Task
from dibs.rules import retry

draws = st.floats(0, 1, exclude_max=True)


def timed_out(count: int) -> list[Attempt]:
    return [
        Attempt(number=number, fence=number, agent="a", outcome=Outcome.TIMED_OUT) for number in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("immediate", Retry(strategy="immediate")),
        ("fixed:5s", Retry(strategy="fixed", delay=5)),
        ("linear:5s:5m", Retry(strategy="linear", delay=5, cap=300)),
        ("quadratic:250ms:1h", Retry(strategy="quadratic", delay=0.25, cap=3600)),
        ("exponential:10s:5m", Retry()),
        ("exponential", Retry()),
        ("exponential:3", Retry(delay=3)),
        ("fixed:10m", Retry(strategy="fixed", delay=600, cap=600)),
    ],
)
def test_policies_are_read_from_text(text: str, policy: Retry) -> None:
    assert retry.parse(text) == policy
    assert retry.check(retry.parse(text)) == policy


@pytest.mark.parametrize(
    "text",
    ["", "never", "immediate:5s", "fixed:5s:5m", "linear:5s:5m:6m", "fixed:soon", "fixed:-1s", "fixed:nan",
     "exponential:10m:5s", "exponential:99999d", 5, None, "Fixed:5s"],
)  # fmt: skip
def test_nonsense_text_is_refused(text: object) -> None:
    with pytest.raises(Invalid) as caught:
        retry.parse(text)
    assert caught.value.field == "retry"


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"strategy": "sometimes"}, "strategy"),
        ({"strategy": None}, "strategy"),
        ({"delay": -1}, "delay"),
        ({"delay": float("nan")}, "delay"),
        ({"delay": 1e12}, "delay"),
        ({"delay": True}, "delay"),
        ({"cap": float("inf")}, "cap"),
        ({"multiplier": 0.5}, "multiplier"),
        ({"multiplier": 101}, "multiplier"),
        ({"multiplier": "2"}, "multiplier"),
        ({"jitter": -0.1}, "jitter"),
        ({"jitter": 1.1}, "jitter"),
        ({"timeout_multiplier": 0.9}, "timeout_multiplier"),
        ({"timeout_multiplier": 1000}, "timeout_multiplier"),
        ({"retry_on": "timeout"}, "retry_on"),
        ({"no_retry_on": ("",)}, "no_retry_on"),
    ],
)
def test_nonsense_policies_are_refused_by_the_part(changes: dict[str, Any], part: str) -> None:
    with pytest.raises(Invalid, match=f"retry: {part}") as caught:
        retry.check(replace(Retry(), **changes))
    assert caught.value.field == "retry"


def test_only_a_policy_is_a_policy() -> None:
    with pytest.raises(Invalid, match="dict"):
        retry.check({"delay": 5})


def test_a_checked_policy_has_seconds_and_names() -> None:
    loose: Any = Retry(delay="5s", cap="1m", multiplier=3, retry_on=["timeout", "error"], no_retry_on=[])  # type: ignore[arg-type]
    assert retry.check(loose) == Retry(
        delay=5.0, cap=60.0, multiplier=3.0, retry_on=("timeout", "error"), no_retry_on=()
    )
    assert retry.check(Retry()) == Retry()


@pytest.mark.parametrize(
    ("strategy", "delays"),
    [
        ("immediate", [0, 0, 0, 0]),
        ("fixed", [10, 10, 10, 10]),
        ("linear", [10, 20, 30, 40]),
        ("quadratic", [10, 40, 90, 100]),
        ("exponential", [10, 30, 90, 100]),
    ],
)
def test_each_strategy_grows_in_its_way_up_to_the_cap(strategy: str, delays: list[float]) -> None:
    policy = Retry(strategy=strategy, delay=10, multiplier=3, cap=100, jitter=0)
    assert [retry.delay_s(policy, failures, 0.3) for failures in (1, 2, 3, 4)] == delays


def test_delays_do_not_compound() -> None:
    policy = Retry(delay=60, multiplier=2, cap=10_000, jitter=0)
    assert [retry.delay_s(policy, failures, 0) for failures in (1, 2, 3)] == [60, 120, 240]


def test_jitter_spreads_a_delay_evenly_around_itself() -> None:
    policy = Retry(strategy="fixed", delay=10, jitter=0.5)
    assert [retry.delay_s(policy, 1, draw) for draw in (0, 0.5, 1)] == [5, 10, 15]


def test_no_delay_stays_none_however_often() -> None:
    assert retry.delay_s(Retry(delay=0), 10**6, 0.9) == 0


@given(st.sampled_from(retry.STRATEGIES), st.integers(1, 10**400), draws)
def test_no_number_of_failures_overflows(strategy: str, failures: int, draw: float) -> None:
    assert 0 <= retry.delay_s(Retry(strategy=strategy, multiplier=100), failures, draw) <= 300 * 1.5


@given(st.sampled_from(retry.STRATEGIES), st.integers(1, 1000), draws)
def test_a_later_failure_never_waits_less(strategy: str, failures: int, draw: float) -> None:
    policy = Retry(strategy=strategy)
    assert retry.delay_s(policy, failures, draw) <= retry.delay_s(policy, failures + 1, draw)


def test_reasons_that_are_not_retried_by_default() -> None:
    for reason in NOT_RETRIED:
        assert not retry.retryable(Retry(), reason)
    for reason in ("error", "timeout", "crash", "expired", "rate_limit", "invalid_output", "my_own"):
        assert retry.retryable(Retry(), reason)


def test_retry_on_names_the_known_reasons_and_unknown_ones_pass() -> None:
    policy = Retry(retry_on=("timeout", "auth_failure"), no_retry_on=("auth_failure", "mine"))
    assert retry.retryable(policy, "timeout")
    assert not retry.retryable(policy, "error")
    assert not retry.retryable(policy, "auth_failure")
    assert not retry.retryable(policy, "mine")
    assert retry.retryable(policy, "yours")


def test_the_first_release_waits_as_asked_and_later_ones_longer() -> None:
    assert retry.release_delay_s(1, 0) == 0
    assert retry.release_delay_s(1, 7) == 7
    assert [retry.release_delay_s(count, 0) for count in (2, 3, 4, 5)] == [1, 2, 4, 8]
    assert retry.release_delay_s(3, 60) == 60
    assert retry.release_delay_s(10**9, 0) == 300
    assert retry.release_delay_s(50, 1000) == 1000


def test_a_task_without_timeout_has_none() -> None:
    assert retry.timeout_s(Task(id="t", type="x"), timed_out(3)) is None


def test_each_timed_out_attempt_stretches_the_next_timeout() -> None:
    task = Task(id="t", type="x", timeout=60, retry=Retry(timeout_multiplier=2), attempts=2)
    assert retry.timeout_s(task, []) == 60
    assert retry.timeout_s(task, timed_out(2)) == 240
    failed = Attempt(number=2, fence=2, agent="a", outcome=Outcome.FAILED)
    assert retry.timeout_s(task, [*timed_out(1), failed]) == 120
    assert retry.timeout_s(Task(id="t", type="x", timeout=60, attempts=2), timed_out(2)) == 60


def test_a_timeout_grows_to_seven_days_at_most() -> None:
    week = 7 * 86_400
    task = Task(id="t", type="x", timeout=60, retry=Retry(timeout_multiplier=100), attempts=500)
    assert retry.timeout_s(task, timed_out(5)) == week
    assert retry.timeout_s(task, timed_out(500)) == week
    assert retry.timeout_s(Task(id="t", type="x", timeout=2 * week), []) == 2 * week


def test_a_new_life_starts_with_the_timeout_that_was_asked_for() -> None:
    task = Task(id="t", type="x", timeout=60, retry=Retry(timeout_multiplier=2), attempts=0)
    assert retry.timeout_s(task, timed_out(3)) == 60


SAME = [
    ("File /tmp/tmpab12/run.py line 10", "file  /var/x/run.py LINE 999"),
    ("no such file /tmp/tmp.a8s7d", "no such file /tmp/tmp.xxyyz"),
    ("C:\\users\\ann\\job.log missing", "c:\\users\\bob\\job.log missing"),
    ("task task_01j8k2m3n4p5q6r7s8t9v0w1x2 lost", "task task_01j9zzzzzzz5q6r7s8t9v0w1x2 lost"),
    ("at 0x7f3a2b of 5 items", "at 0xdeadbeef00 of 12345 items"),
    ("id 550e8400-e29b-41d4-a716-446655440000", "id 123e4567-e89b-12d3-a456-426614174000"),
    ("commit deadbeefcafe failed", "commit 0123456789ab failed"),
    ("2026-01-02T03:04:05.678Z boom", "2027-11-12 13:14:15+02:00 boom"),
    ("KeyError: 'topic'", "KeyError: 'goal'"),
    ('can\'t open "a b"', 'can\'t open "c"'),
    ("unknown name `x`", "unknown name `y z`"),
    ("x" * 2000 + "a", "x" * 2000 + "b"),
    ("lone \ud800", "lone \ud801"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_equal_errors_share_a_fingerprint(one: str, other: str) -> None:
    assert retry.fingerprint("error", one) == retry.fingerprint("error", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ZeroDivisionError", "KeyError"),
        ("failed in /a/b/one.py", "failed in /a/b/two.py"),
        ("can't open it", "can't close it"),
        ("http2 is refused", "utf8 is refused"),
        ("", "something"),
    ],
)
def test_different_errors_have_different_fingerprints(one: str, other: str) -> None:
    assert retry.fingerprint("error", one) != retry.fingerprint("error", other)


def test_the_reason_is_part_of_a_fingerprint_and_it_never_changes() -> None:
    assert retry.fingerprint("timeout", "x") != retry.fingerprint("error", "x")
    # Stored fingerprints are compared with new ones, so another value here loses history.
    assert retry.fingerprint("error", "boom 1") == "0e594a7788ecc4f7"


@given(st.text(), st.text())
def test_a_fingerprint_is_short_hex_for_any_text(reason: str, error: str) -> None:
    mark = retry.fingerprint(reason, error)
    assert len(mark) == 16
    int(mark, 16)


def test_a_reason_named_in_retry_on_is_retried_although_it_is_not_by_default() -> None:
    assert not retry.retryable(Retry(), "auth_failure")
    assert retry.retryable(Retry(retry_on=("auth_failure",)), "auth_failure")
    assert not retry.retryable(Retry(retry_on=("timeout",)), "auth_failure")


def test_a_reason_ruled_out_by_name_is_not_retried_even_if_named_in_retry_on() -> None:
    policy = Retry(retry_on=("auth_failure",), no_retry_on=("auth_failure",))
    assert not retry.retryable(policy, "auth_failure")
