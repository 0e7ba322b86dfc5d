"""Ladders: what may be written, and what a failure takes of one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.model.escalation import Escalation, Rung
from dibs.model.status import Outcome, Status
from dibs.rules import escalation
from dibs.rules.escalation import Step, as_json, from_json, parse, step

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOTIFY: dict[str, Any] = {"after": 1, "do": "notify"}
REASSIGN: dict[str, Any] = {"after": 2, "do": "reassign", "agent": "senior"}
ASK: dict[str, Any] = {"after": 3, "do": "ask", "to": "grace"}
FAIL: dict[str, Any] = {"after": 4, "do": "fail_dag"}
LADDER = parse([NOTIFY, REASSIGN, ASK, FAIL])


def climb(failures: int, *taken: int, next: Status = Status.RETRYING, used_up: bool = False) -> tuple[list[str], Any]:
    """What the failure takes, by its actions, and where it moves the task; `taken`: places of rungs."""
    done = {(LADDER[place].after, LADDER[place].do) for place in taken}
    found = step(LADDER, failures, done, next=next, used_up=used_up)
    return [rung.do for rung in found.rungs], found.next


def test_each_failure_takes_what_it_makes_due() -> None:
    assert climb(1) == (["notify"], None)
    assert climb(2, 0) == (["reassign"], None)
    assert climb(3, 0, 1) == (["ask"], Status.WAITING)
    assert climb(4, 0, 1, 2) == (["fail_dag"], Status.DEAD_LETTERED)
    assert climb(9, 0, 1, 2, 3) == ([], None)


def test_what_was_missed_is_taken_in_order_up_to_a_question() -> None:
    assert climb(9) == (["notify", "reassign", "ask"], Status.WAITING)
    assert climb(9, 0, 1, 2) == (["fail_dag"], Status.DEAD_LETTERED)


def test_attempts_that_are_used_up_are_given_another() -> None:
    used_up: dict[str, Any] = {"next": Status.DEAD_LETTERED, "used_up": True}
    assert climb(2, 0, **used_up) == (["reassign"], Status.READY)
    assert climb(3, 0, 1, **used_up) == (["ask"], Status.WAITING)


def test_a_question_comes_before_a_dead_letter() -> None:
    used_up: dict[str, Any] = {"next": Status.DEAD_LETTERED, "used_up": True}
    assert climb(1, **used_up) == (["notify", "ask"], Status.WAITING)
    assert climb(1, 0, **used_up) == (["ask"], Status.WAITING)
    assert climb(1, 0, 2, **used_up) == ([], None)


def test_what_is_hopeless_is_told_of_and_may_fail_its_dag() -> None:
    hopeless: dict[str, Any] = {"next": Status.DEAD_LETTERED}
    assert climb(3, **hopeless) == (["notify"], None)
    assert climb(9, **hopeless) == (["notify", "fail_dag"], Status.DEAD_LETTERED)


def test_no_ladder_no_step() -> None:
    assert step((), 3, (), next=Status.READY, used_up=False) == Step()


def test_only_attempts_that_count_are_failures() -> None:
    assert escalation.is_failure(Outcome.EXPIRED, counts_attempt=True)
    assert not escalation.is_failure(Outcome.EXPIRED, counts_attempt=False)
    assert not escalation.is_failure(Outcome.COMPLETED, counts_attempt=True)
    assert not escalation.is_failure(Outcome.RATE_LIMITED, counts_attempt=False)


def test_a_ladder_is_kept_and_read_back() -> None:
    asked = {**ASK, "question": "Why?", "timeout": "2h", "default": {"b": 1, "a": None}}
    rungs = parse([NOTIFY, asked])
    assert rungs[1] == Rung(after=3, do="ask", to="grace", question="Why?", timeout_s=7200, default={"b": 1, "a": None})
    assert from_json(as_json(rungs)) == rungs
    assert parse(list(rungs)) == rungs
    assert '"default":{"a":null,"b":1}' in as_json(rungs)


def test_what_is_null_is_left_out() -> None:
    assert parse([{**NOTIFY, "to": None, "agent": None, "default": None}]) == parse([NOTIFY])


@pytest.mark.parametrize(
    ("field", "rungs"),
    [
        ("escalation", None),
        ("escalation", "notify"),
        ("escalation", []),
        ("escalation", [NOTIFY] * 21),
        ("escalation", ["notify"]),
        ("then", [{**NOTIFY, "then": 1}]),
        ("after", [{"do": "notify"}]),
        ("after", [{"after": 0, "do": "notify"}]),
        ("after", [{"after": True, "do": "notify"}]),
        ("after", [{"after": 1001, "do": "notify"}]),
        ("after", [{**NOTIFY, "after": 2}, NOTIFY]),
        ("after", [{**ASK, "after": 1}, {**NOTIFY, "after": 1}]),
        ("after", [REASSIGN, {**FAIL, "after": 2}]),
        ("do", [{"after": 1}]),
        ("do", [{"after": 1, "do": ["notify"]}]),
        ("do", [NOTIFY, NOTIFY]),
        ("do", [FAIL, {**NOTIFY, "after": 9}]),
        ("to", [{"after": 1, "do": "ask"}]),
        ("to", [{"after": 1, "do": "ask", "to": " "}]),
        ("to", [{**FAIL, "to": "grace"}]),
        ("agent", [{"after": 1, "do": "reassign"}]),
        ("agent", [{**REASSIGN, "model": "large"}]),
        ("agent", [{**REASSIGN, "agent": 7}]),
        ("agent", [{**NOTIFY, "agent": "senior"}]),
        ("model", [{"after": 1, "do": "reassign", "model": "\0"}]),
        ("question", [{**ASK, "question": ""}]),
        ("timeout", [{**ASK, "timeout": "soon"}]),
        ("timeout", [{**ASK, "timeout": 0}]),
        ("timeout", [{**ASK, "default": 1}]),
        ("default", [{**ASK, "timeout": 9, "default": {1, 2}}]),
    ],
)
def test_a_ladder_that_makes_no_sense_is_refused_by_its_part(field: str, rungs: Any) -> None:
    with pytest.raises(Invalid) as caught:
        parse(rungs)
    assert caught.value.field == field
    if isinstance(rungs, list) and 0 < len(rungs) < 3:
        assert caught.value.message.startswith(f"rung {len(rungs)}: ")


def test_a_ladder_belongs_to_a_type_or_a_dag() -> None:
    assert escalation.scope_of("code", None) == "type:code"
    assert escalation.scope_of(None, "dag_1") == "dag:dag_1"
    for type, dag, field in ((None, None, "type"), ("code", "dag_1", "dag"), ("", None, "type"), (None, 7, "dag")):
        with pytest.raises(Invalid) as caught:
            escalation.scope_of(type, dag)
        assert caught.value.field == field
    assert escalation.scopes_for("code", "dag_1") == ("dag:dag_1", "type:code", "type:*")
    missing = escalation.no_ladder("type:code")
    assert (missing.field, "code" in missing.message) == ("type", True)


def test_what_was_taken_is_known_by_failures_and_action() -> None:
    taken = [Escalation(after=1, do="notify", at=NOON, fence=1), Escalation(after=4, do="fail_dag", at=NOON, fence=4)]
    assert escalation.taken_in(taken) == {(1, "notify"), (4, "fail_dag")}
    assert escalation.fails_dag(taken)
    assert not escalation.fails_dag(taken[:1])


def test_a_question_has_a_name_of_its_own_and_says_what_happened() -> None:
    assert escalation.question_id("task_7", 3) == "q_7_e3"
    assert escalation.question_name(3) == "escalation:3"
    [plain, written] = parse([ASK, {**ASK, "after": 4, "question": "Why?"}])
    assert escalation.question_text(written, 4, "no") == "Why?"
    assert "Failed attempts: 3. The last error: no - " in escalation.question_text(plain, 3, "no")
    assert "unknown" in escalation.question_text(plain, 3, None)


def test_the_event_of_a_rung_says_who_has_to_do_with_it() -> None:
    notify, reassign, ask, fail = LADDER
    assert escalation.event_data(notify, 1, "q_1") == {"after": 1, "failures": 1}
    assert escalation.event_data(reassign, 2, "q_1") == {"after": 2, "failures": 2, "agent": "senior"}
    assert escalation.event_data(ask, 3, "q_1") == {"after": 3, "failures": 3, "to": "grace", "question": "q_1"}
    assert escalation.event_data(fail, 4, None) == {"after": 4, "failures": 4}


def test_rungs_in_words() -> None:
    model = Rung(after=1, do="reassign", model="large")
    assert [escalation.in_words(rung) for rung in (*LADDER, model)] == [
        "notify",
        "reassign to agent senior",
        "ask grace",
        "fail the dag",
        "reassign to model large",
    ]
