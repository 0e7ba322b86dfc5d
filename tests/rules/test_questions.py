"""What answers do, and what happens if none comes."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.model.question import Question
from dibs.model.status import Status
from dibs.rules import questions
from dibs.rules.lifecycle import Verb, allowed


def question(**fields: Any) -> Question:
    return Question(id="q_1", task_id="task_1", question="Which one?", **fields)


def test_interrupted_work_goes_on_whatever_its_time_was() -> None:
    assert questions.after_answer("question", False, open_edges=0, run_after=99, now=10) is Status.READY
    assert questions.after_answer("question", 1, open_edges=1, run_after=None, now=10) is Status.PENDING


def test_what_is_asked_about_a_dead_letter_has_an_id_of_its_own_and_tells_the_error() -> None:
    assert questions.decision_id("task_7", 2) == "q_7_d2"
    assert questions.decision_text("no such file", "error") == "It was given up: no such file - retry, drop or keep it?"
    assert "crash" in questions.decision_text(None, "crash")
    assert "unknown" in questions.decision_text(None, None)


def test_an_approved_task_begins_where_it_would_have_begun() -> None:
    assert questions.after_answer("approval", True, open_edges=1, run_after=99, now=10) is Status.PENDING
    assert questions.after_answer("approval", True, open_edges=0, run_after=99, now=10) is Status.SCHEDULED
    assert questions.after_answer("approval", True, open_edges=0, run_after=None, now=10) is Status.READY


def test_a_refused_task_is_cancelled() -> None:
    assert questions.after_answer("approval", False, open_edges=0, run_after=None, now=10) is Status.CANCELLED
    assert questions.refusal(None) == "it was not approved"
    assert questions.refusal("grace") == "it was not approved by grace"


def test_an_answer_about_work_leads_to_its_judgement() -> None:
    assert questions.after_answer("validation", {"approve": False}, open_edges=1, run_after=99, now=10) == "validating"
    assert Status.VALIDATING in allowed(Status.WAITING, Verb.ANSWER)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("yes", {"approve": True}),
        (" Y ", {"approve": True}),
        ("no", {"approve": False}),
        ("No: it has no tests", {"approve": False, "reason": "it has no tests"}),
        ("no it has no tests", {"approve": False, "reason": "it has no tests"}),
        ("yes, thank you", {"approve": True, "reason": "thank you"}),
        ('{"approve": true}', {"approve": True}),
        ("", ""),
        ("nothing", "nothing"),
    ],
)
def test_people_say_yes_or_no_to_work_and_why(said: str, answer: Any) -> None:
    assert questions.spoken(question(kind="validation", schema=questions.VALIDATION_SCHEMA), said) == answer


def test_the_table_allows_what_answers_do() -> None:
    for status in (Status.PENDING, Status.SCHEDULED, Status.READY, Status.CANCELLED):
        assert status in allowed(Status.WAITING, Verb.ANSWER)
    assert Status.DEAD_LETTERED in allowed(Status.WAITING, Verb.LAPSE)


def test_every_life_has_an_approval_of_its_own() -> None:
    assert questions.approval_id("task_01j", 0) == "q_01j"
    assert questions.approval_id("task_01j", 1) == "q_01j_2"
    assert questions.approval_id("odd", 2) == "q_odd_3"


def test_an_answer_must_fit_its_question() -> None:
    questions.check_answer(question(), object())
    questions.check_answer(question(schema={"type": "integer"}), 3)
    with pytest.raises(Invalid, match="q_1 takes another answer: it must be a whole number") as caught:
        questions.check_answer(question(schema={"type": "integer"}), "3")
    assert caught.value.field == "value"


@pytest.mark.parametrize(
    ("fields", "wrong", "allowed"),
    [
        ({"kind": "approval", "schema": questions.APPROVAL_SCHEMA}, "perhaps", "answer yes or no (true or false)."),
        ({"schema": {"type": "boolean"}}, 1, "answer yes or no (true or false)."),
        ({"kind": "validation", "schema": questions.VALIDATION_SCHEMA}, "fine", "answer yes, or no and why: 'no: "),
        ({"kind": "decision", "schema": questions.DECISION_SCHEMA}, {"do": "burn"}, "answer retry, drop or keep ("),
        ({"schema": {"enum": ["red", True, 3]}}, "blue", "it must be one of 'red', true, 3."),
    ],
)
def test_a_wrong_answer_hears_what_is_allowed(fields: dict[str, Any], wrong: Any, allowed: str) -> None:
    with pytest.raises(Invalid) as caught:
        questions.check_answer(question(**fields), wrong)
    assert caught.value.message.startswith(f"question q_1 takes another answer: {allowed}")


def test_a_default_must_fit_too() -> None:
    questions.check_default(None, "red")
    with pytest.raises(Invalid) as caught:
        questions.check_default({"type": "integer"}, "red")
    assert caught.value.field == "default"


def test_a_dead_letter_tells_what_nobody_answered() -> None:
    assert questions.lapse("q_1", "Which one?") == "nobody answered question q_1 in time: Which one?"
    assert len(questions.lapse("q_1", "x" * 5_000)) < 300


@pytest.mark.parametrize(
    ("fields", "said", "meant"),
    [
        ({}, "red", "red"),
        ({}, "42", 42),
        ({}, '{"pick": "red"}', {"pick": "red"}),
        ({}, '"42"', "42"),
        ({}, "yes", "yes"),
        ({}, "{broken", "{broken"),
        ({"schema": {"type": "string"}}, "42", "42"),
        ({"schema": {"type": "integer"}}, "42", 42),
        ({"schema": {"type": "integer"}}, "many", "many"),
        ({"schema": {"type": "integer"}}, "4.5", 4.5),
        ({"schema": {"enum": ["1", "2"]}}, "1", "1"),
        ({"schema": {"type": "boolean"}}, "No", False),
        ({"schema": {"type": "boolean"}}, "true", True),
        ({"kind": "approval", "schema": {"type": "boolean"}}, " Yes ", True),
        ({"kind": "approval"}, "maybe", "maybe"),
    ],
)
def test_answers_are_read_as_people_mean_them(fields: dict[str, Any], said: str, meant: Any) -> None:
    assert questions.spoken(question(**fields), said) == meant
