"""The state machine of a circuit breaker, transition by transition."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.model.instants import seconds
from dibs.model.status import Outcome
from dibs.rules import breaker
from dibs.rules.breaker import HEALTHY, Override, Record, Settings, State, Verdict

ON = Settings(failure_threshold=3, cooldown_s=100, half_open_after_s=60, enabled=True)
OFF = Settings(failure_threshold=3)
PROBE = ("task_probe", 4)
OTHER = ("task_other", 1)
SECOND = seconds(1)


def after(record: Record, *said: Verdict, claim: tuple[str, int] = OTHER, now: int = 0, holds: Settings = ON) -> Record:
    for verdict in said:
        record = breaker.ended(record, holds, verdict, claim, now)
    return record


def half_open(probe: tuple[str, int] | None = PROBE) -> Record:
    record = breaker.due(breaker.opened(HEALTHY, ON, 0, None), 60 * SECOND)
    return record if probe is None else breaker.probed(record, probe)


@pytest.mark.parametrize(
    ("outcome", "reason", "counts", "said"),
    [
        (Outcome.COMPLETED, None, True, Verdict.SUCCESS),
        (Outcome.FAILED, "error", True, Verdict.FAILURE),
        (Outcome.FAILED, None, True, Verdict.FAILURE),
        (Outcome.TIMED_OUT, "timeout", True, Verdict.FAILURE),
        (Outcome.EXPIRED, "crash", True, Verdict.FAILURE),
        (Outcome.REJECTED, "invalid_output", True, Verdict.FAILURE),
        (Outcome.SUBMITTED, None, False, Verdict.HANDED_IN),
        (Outcome.EXPIRED, "expired", False, Verdict.NOTHING),
        (Outcome.RELEASED, "released", False, Verdict.NOTHING),
        (Outcome.SUSPENDED, None, False, Verdict.NOTHING),
        (Outcome.RATE_LIMITED, "rate_limit", False, Verdict.NOTHING),
        (Outcome.FAILED, "rate_limit", True, Verdict.NOTHING),
        (Outcome.FAILED, "budget_exceeded", True, Verdict.NOTHING),
        (Outcome.CANCELLED, "cancelled", False, Verdict.NOTHING),
    ],
    ids=str,
)
def test_what_an_ending_says_about_its_type(outcome: str, reason: str | None, counts: bool, said: Verdict) -> None:
    assert breaker.verdict(outcome, reason, counts_attempt=counts) is said


def test_of_what_fails_together_one_counts() -> None:
    assert breaker.verdict("failed", "error", counts_attempt=True, together=True) is Verdict.NOTHING
    assert breaker.verdict("completed", None, counts_attempt=True, together=True) is Verdict.SUCCESS


def test_it_opens_at_the_threshold_and_not_before() -> None:
    two = after(HEALTHY, Verdict.FAILURE, Verdict.FAILURE, now=SECOND)
    assert (two.state, two.failed_at, two.last_failure_at) == (State.CLOSED, (SECOND, SECOND), SECOND)
    three = after(two, Verdict.FAILURE, now=2 * SECOND)
    assert (three.state, three.opened_at, three.due_at) == (State.OPEN, 2 * SECOND, 62 * SECOND)
    assert three.reason == "3 failed attempts in a row"


def test_a_threshold_of_one_is_told_in_the_singular() -> None:
    holds = Settings(failure_threshold=1, enabled=True)
    assert after(HEALTHY, Verdict.FAILURE, holds=holds).reason == "1 failed attempt"


def test_a_success_forgets_and_writes_only_if_there_is_something_to_forget() -> None:
    assert after(HEALTHY, Verdict.SUCCESS) is HEALTHY
    failed = after(HEALTHY, Verdict.FAILURE, Verdict.FAILURE)
    assert failed.is_troubled
    forgiven = after(failed, Verdict.SUCCESS)
    assert (forgiven.failed_at, forgiven.is_troubled, forgiven.last_failure_at) == ((), False, 0)
    assert after(forgiven, Verdict.FAILURE, Verdict.FAILURE).state is State.CLOSED


def test_failures_older_than_the_cooldown_are_forgotten() -> None:
    record = after(HEALTHY, Verdict.FAILURE, now=0)
    record = after(record, Verdict.FAILURE, now=60 * SECOND)
    record = after(record, Verdict.FAILURE, now=100 * SECOND)
    assert (record.state, record.failed_at) == (State.CLOSED, (60 * SECOND, 100 * SECOND))
    assert after(record, Verdict.FAILURE, now=159 * SECOND).state is State.OPEN


def test_what_says_nothing_changes_nothing() -> None:
    failed = after(HEALTHY, Verdict.FAILURE)
    assert after(failed, Verdict.NOTHING) is failed


def test_it_counts_only_while_it_is_enabled() -> None:
    assert after(HEALTHY, *[Verdict.FAILURE] * 9, holds=OFF) is HEALTHY


def test_open_nothing_that_ends_decides() -> None:
    record = breaker.opened(HEALTHY, ON, 0, "down")
    for said in Verdict:
        assert after(record, said, claim=PROBE) is record


def test_it_is_half_open_when_its_time_has_come() -> None:
    record = breaker.opened(HEALTHY, ON, 0, None)
    assert record.reason == breaker.BY_HAND
    assert breaker.due(record, 60 * SECOND - 1) is record
    tried = breaker.due(record, 61 * SECOND)
    assert (tried.state, tried.half_open_at, tried.due_at, tried.probe) == (State.HALF_OPEN, 61 * SECOND, None, None)
    assert breaker.due(tried, 999 * SECOND) is tried


def test_half_open_only_the_probe_decides() -> None:
    record = half_open()
    for said in Verdict:
        assert after(record, said, claim=OTHER) is record
        assert after(record, said, claim=(PROBE[0], PROBE[1] - 1)) is record
    free = half_open(None)
    assert after(free, Verdict.SUCCESS, claim=PROBE) is free


def test_its_probe_closes_opens_or_frees_it() -> None:
    closed = after(half_open(), Verdict.SUCCESS, claim=PROBE)
    assert (closed.state, closed.probe, closed.reason, closed.opened_at) == (State.CLOSED, None, None, 0)
    again = after(half_open(), Verdict.FAILURE, claim=PROBE, now=70 * SECOND)
    assert (again.state, again.opened_at, again.due_at) == (State.OPEN, 70 * SECOND, 130 * SECOND)
    assert (again.reason, again.half_open_at, again.probe) == (breaker.PROBE_FAILED, None, None)
    freed = after(half_open(), Verdict.NOTHING, claim=PROBE)
    assert (freed.state, freed.probe) == (State.HALF_OPEN, None)


def test_closing_what_is_closed_changes_nothing() -> None:
    assert breaker.closed(HEALTHY) is HEALTHY


def test_other_settings_move_the_time_of_an_open_one_only() -> None:
    record = breaker.opened(HEALTHY, ON, 5 * SECOND, None)
    assert breaker.retimed(record, Settings(half_open_after_s=1)).due_at == 6 * SECOND
    assert breaker.retimed(HEALTHY, ON) is HEALTHY


def test_no_more_instants_are_kept_than_a_threshold_may_ask_for() -> None:
    holds = Settings(failure_threshold=1, cooldown_s=1e6, half_open_after_s=1, enabled=True)
    record = Record(state=State.HALF_OPEN, failed_at=tuple(range(breaker.MAX_THRESHOLD)), probe=PROBE)
    assert len(after(record, Verdict.FAILURE, claim=PROBE, now=SECOND, holds=holds).failed_at) == breaker.MAX_THRESHOLD


def test_each_new_state_is_told_once() -> None:
    path = [
        HEALTHY,
        after(HEALTHY, Verdict.FAILURE),
        breaker.opened(HEALTHY, ON, 0, None),
        half_open(None),
        half_open(),
        HEALTHY,
    ]
    assert [breaker.event_between(before, later) for before, later in pairwise(path)] == [
        None,
        "breaker.opened",
        "breaker.half_open",
        None,
        "breaker.closed",
    ]
    assert breaker.event_data("code", path[1]) == {"type": "code", "failures": 1}


@pytest.mark.parametrize(
    ("own", "every", "holds"),
    [
        (None, None, Settings()),
        (None, Override(enabled=True), Settings(enabled=True)),
        (
            Override(cooldown_s=1),
            Override(cooldown_s=2, half_open_after_s=3),
            Settings(cooldown_s=1, half_open_after_s=3),
        ),
        (Override(enabled=False, failure_threshold=7), Override(enabled=True), Settings(failure_threshold=7)),
    ],
    ids=str,
)
def test_settings_hold_field_by_field(own: Override | None, every: Override | None, holds: Settings) -> None:
    assert breaker.settings_of(own, every) == holds


@pytest.mark.parametrize(
    ("before", "wanted", "merged"),
    [
        (None, {"cooldown_s": 1.0}, {"cooldown_s": 1.0}),
        ({"cooldown_s": 1.0, "enabled": True}, {"enabled": False}, {"cooldown_s": 1.0, "enabled": False}),
    ],
    ids=str,
)
def test_what_is_left_out_stays_as_it_was_set(
    before: dict[str, Any] | None, wanted: dict[str, Any], merged: dict[str, Any]
) -> None:
    known = None if before is None else Override(**before)
    assert breaker.merged(known, Override(**wanted)) == Override(**merged)


def test_what_is_set_for_a_breaker_is_checked() -> None:
    wanted = breaker.override_of("code", failure_threshold=3, cooldown_s="5m", enabled=False)
    assert wanted == Override(failure_threshold=3, cooldown_s=300.0, enabled=False)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"failure_threshold": 0}, "failure_threshold"),
        ({"cooldown_s": "soon"}, "cooldown_s"),
        ({"half_open_after_s": 0}, "half_open_after_s"),
        ({"enabled": "yes"}, "enabled"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        breaker.override_of("code", **options)
    assert refused.value.field == field


def test_handing_in_closes_what_waits_for_its_probe_and_forgets_nothing_otherwise() -> None:
    assert after(half_open(), Verdict.HANDED_IN, claim=PROBE).state is State.CLOSED
    failed = after(HEALTHY, Verdict.FAILURE)
    assert after(failed, Verdict.HANDED_IN) == failed
