"""What comes next for work that was handed in, and what a judge may say."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.model.question import Question
from dibs.model.status import Status
from dibs.model.task import Task
from dibs.rules import questions, validating
from dibs.rules.validating import Step, next_step, verdict_faults

JUDGE = "task_1_judge_3_1"
QUESTION = "q_1_work_3_1"
RUBRIC: dict[str, Any] = {"validation": ["decision-report", "judge"], "rubric": "It rhymes.", "criteria": ["rhymes"]}
PASS = {"verdict": "pass", "criteria": {"rhymes": {"pass": True}}}
FAIL = {"verdict": "fail", "criteria": {"rhymes": {"pass": False, "reason": "it does not"}}, "reason": "no poem"}


def task(expects: Any = RUBRIC, **fields: Any) -> Task:
    return Task(id="task_1", type="poem", fence=3, expects=expects, status=Status.VALIDATING, **fields)


def judge(status: Status, output: Any = None, **fields: Any) -> dict[str, Task]:
    return {JUDGE: Task(id=JUDGE, type="judge", status=status, output=output, **fields)}


def asked(id: str = QUESTION, **fields: Any) -> dict[str, Question]:
    return {id: Question(id=id, task_id="task_1", kind="validation", **fields)}


def test_what_the_author_says_of_its_own_work_does_not_count() -> None:
    step = next_step(task(agent="ada"), judge(Status.COMPLETED, PASS, agent="ada"), {})
    assert (step.do, step.id) == ("ask", QUESTION)
    assert step.text.startswith("The work was judged by its author (ada, task_1_judge_3_1), which does not count.")
    assert next_step(task(agent="ada"), judge(Status.COMPLETED, PASS, agent="bob"), {}).do == "complete"


def test_work_is_sent_to_its_judge_once() -> None:
    assert next_step(task(), {}, {}) == Step("send", 1, JUDGE)
    assert validating.judge_ids(task()) == [JUDGE]
    for status in (Status.READY, Status.RUNNING, Status.RETRYING):
        assert next_step(task(), judge(status), {}) == Step("wait", 1, JUDGE)


def test_a_verdict_decides() -> None:
    assert next_step(task(), judge(Status.COMPLETED, PASS), {}) == Step("complete")
    refused = next_step(task(), judge(Status.COMPLETED, FAIL), {})
    assert (refused.do, refused.text) == ("reject", "refused by judge for 2 reasons: no poem\nrhymes: it does not")


def test_a_judge_of_another_attempt_says_nothing_about_this_one() -> None:
    earlier = {"task_1_judge_2_1": Task(id="task_1_judge_2_1", type="judge", status=Status.COMPLETED, output=FAIL)}
    assert next_step(task(), earlier, {}) == Step("send", 1, JUDGE)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"status": Status.DEAD_LETTERED, "error": "no opinion"}, "is dead_lettered: no opinion"),
        ({"status": Status.CANCELLED, "cancel_reason": "enough"}, "is cancelled: enough"),
        ({"status": Status.CANCELLED, "reason": "deadline"}, "is cancelled: deadline"),
        ({"status": Status.CANCELLED}, "is cancelled: no reason is known"),
    ],
)
def test_a_person_is_asked_where_no_judge_could_decide(fields: Any, why: str) -> None:
    step = next_step(task(), judge(**fields), {})
    assert (step.do, step.place, step.id) == ("ask", 1, QUESTION)
    assert why in step.text
    assert step.text.endswith("It was to be judged by this: It rhymes.")
    yes = asked(status="answered", answer={"approve": True})
    assert next_step(task(), judge(**fields), yes) == Step("complete")


def test_a_person_is_asked_once_and_decides() -> None:
    subject = task({"validation": "human"})
    id = "q_1_work_3_0"
    assert next_step(subject, {}, {}) == Step("ask", 0, id, questions.VALIDATION_TEXT)
    assert next_step(task({"validation": "human", "question": "Good?"}), {}, {}).text == "Good?"
    assert next_step(subject, {}, asked(id)) == Step("wait", 0, id)
    assert next_step(subject, {}, asked(id, status="answered", answer={"approve": True})) == Step("complete")
    no = asked(id, status="answered", answer={"approve": False, "reason": "too long"}, answered_by="grace")
    assert next_step(subject, {}, no) == Step("reject", 0, id, "refused by grace: too long")
    no = asked(id, status="answered", answer={"approve": False})
    assert next_step(subject, {}, no).text == "refused by a person: no reason was given"


def test_a_person_has_time_to_answer_and_then_somebody_else() -> None:
    yes, id, second = {"approve": True}, "q_1_work_3_0", "q_1_work_3_0_2"
    timed = task({"validation": "human", "assignee": "grace", "timeout": 60, "default": True})
    text = questions.VALIDATION_TEXT
    assert next_step(timed, {}, {}) == Step("ask", 0, id, text, "grace", 60, yes)
    late = asked(id, status="answered", answer=yes, answered_by="timeout")
    assert next_step(timed, {}, late) == Step("complete")
    subject = task({"validation": "human", "timeout": 60, "escalate_to": "lead", "default": True, "assignee": "grace"})
    not_yet = {"approve": False, "reason": "nobody answered in time; lead is asked"}
    assert next_step(subject, {}, {}) == Step("ask", 0, id, text, "grace", 60, not_yet)
    no = asked(id, status="answered", answer={"approve": False, "reason": "no"}, answered_by="grace")
    assert next_step(subject, {}, no).do == "reject"
    late = asked(id, status="answered", answer=not_yet, answered_by="timeout")
    again = f"{text} (Nobody (grace) answered in time.)"
    assert next_step(subject, {}, late) == Step("ask", 0, second, again, "lead", 60, yes)
    assert next_step(subject, {}, {**late, **asked(second)}) == Step("wait", 0, second)
    for answer, do in ((yes, "complete"), ({"approve": False}, "reject")):
        said = {**late, **asked(second, status="answered", answer=answer, answered_by="timeout")}
        assert next_step(subject, {}, said).do == do
    open_to_all = task({"validation": "human", "timeout": 60, "escalate_to": "lead"})
    assert next_step(open_to_all, {}, late).text == f"{text} (Nobody answered in time.)"


def test_checks_are_made_in_their_order() -> None:
    subject = task({"validation": ["judge", "human"], "rubric": "It rhymes."})
    first = {"task_1_judge_3_0": Task(id="task_1_judge_3_0", type="judge", status=Status.COMPLETED, output=PASS)}
    assert next_step(subject, {}, {}).do == "send"
    assert next_step(subject, first, {}) == Step("ask", 1, QUESTION, questions.VALIDATION_TEXT)


def test_a_judge_is_paid_by_the_dag_and_the_type_of_the_work() -> None:
    assert validating.charged_to(task(dag_id="dag_7")) == ("dag:dag_7", "type:poem")
    assert validating.judge_ids(task(), [1, 2]) == ["task_1_judge_1_1", "task_1_judge_2_1"]


def test_a_judge_is_told_what_it_needs_and_the_author_gets_nothing() -> None:
    subject = task(
        title="Tea", payload={"about": "tea"}, output="a poem", decision={"why": 1}, priority=7, user="grace"
    )
    order = validating.order(subject, 1)
    assert order.payload == {
        "task": {"id": "task_1", "type": "poem", "title": "Tea", "payload": {"about": "tea"}, "decision": {"why": 1}},
        "output": "a poem",
        "rubric": "It rhymes.",
        "criteria": ["rhymes"],
    }
    assert (order.type, order.requires, order.title) == ("judge", ("judge",), "Judge Tea")
    assert (order.priority, order.user) == (7, "grace")
    assert order.expects == {"validation": "verdict", "criteria": ["rhymes"]}
    assert validating.order(task(), 1).title == "Judge poem"
    assert validating.not_for("ada") == "!ada"


def test_what_is_large_or_deep_is_named_instead() -> None:
    order = validating.order(task(payload="x" * 200_000, output=["y" * 200_000]), 1)
    assert order.payload["task"]["payload"] == {"ref": "task:task_1:payload"}
    assert order.payload["output"] == {"ref": "task:task_1:output"}
    deep: Any = 1
    for _ in range(64):
        deep = [deep]
    assert validating.order(task(output=deep), 1).payload["output"] == {"ref": "task:task_1:output"}


@pytest.mark.parametrize(
    ("output", "fault"),
    [
        (PASS, None),
        (FAIL, None),
        ({"verdict": "fail", "criteria": {"rhymes": {"pass": False}}}, None),
        ({"verdict": "fail", "criteria": {"rhymes": {"pass": True}}, "reason": "it is dull"}, None),
        ({**PASS, "criteria": {"rhymes": {"pass": True}, "more": {"pass": True}}}, None),
        (None, "an object with a verdict"),
        ("pass", "an object with a verdict"),
        ({"verdict": "perhaps"}, "an object with a verdict"),
        ({"verdict": "pass", "criteria": []}, "criteria must be an object"),
        ({"verdict": "pass"}, "criteria.rhymes must be an object such as"),
        ({"verdict": "pass", "criteria": {"rhymes": True}}, "criteria.rhymes must be an object such as"),
        ({"verdict": "pass", "criteria": {"rhymes": {"pass": "yes"}}}, "criteria.rhymes must be"),
        ({**PASS, "criteria": {"rhymes": {"pass": False}}}, "the verdict is pass, but criteria.rhymes is not met"),
        ({"verdict": "fail", "criteria": {"rhymes": {"pass": True}}, "reason": " "}, "must have a reason"),
    ],
)
def test_a_verdict_says_pass_or_fail_and_why(output: Any, fault: str | None) -> None:
    faults = verdict_faults(output, ["rhymes"])
    assert bool(faults) == (fault is not None)
    assert fault is None or fault in faults[0]


def test_a_criterion_that_is_not_met_is_a_reason() -> None:
    assert validating.reasons({"verdict": "fail", "criteria": {"rhymes": {"pass": False}}}) == ["rhymes is not met"]
