"""Why a task is where it is, for every status it can have."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dibs.model.agent import AgentStatus
from dibs.model.attempt import Attempt
from dibs.model.instants import to_micros
from dibs.model.question import Question
from dibs.model.status import Outcome, Status
from dibs.model.task import Task
from dibs.model.views import Agent, Why
from dibs.rules.why import explain

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOW = to_micros(NOON)


def task(status: Status = Status.READY, **fields: Any) -> Task:
    return Task(id="task_1", type="code", status=status, **fields)


def agent(id: str = "coder-1", *, heard: timedelta = timedelta(0), **offers: Any) -> Agent:
    return Agent(id=id, heard_at=NOON - heard, **offers)


def ask(subject: Task, parents: tuple[Task, ...] = (), agents: tuple[Agent, ...] = ()) -> Why:
    why = explain(subject, NOW, parents=parents, agents=agents)
    assert why.task_id == subject.id
    assert why.status == subject.status
    return why


def test_a_task_that_gathers_says_with_whom_and_how_long() -> None:
    ends = NOON + timedelta(seconds=30)
    subject = task(Status.SCHEDULED, coalesce_key="doc:17", run_after=ends, gathers_until=ends)
    why = ask(subject)
    assert why.explanation == "It waits for others of its group (doc:17) to come; its window ends in 30 s."
    [blocker] = why.blockers
    assert (blocker.kind, blocker.until) == ("coalesce", ends)
    later = task(Status.SCHEDULED, coalesce_key="doc:17", run_after=ends + timedelta(hours=1), gathers_until=ends)
    assert [blocker.kind for blocker in ask(later).blockers] == ["schedule"]


def test_a_pending_task_names_each_task_it_waits_for() -> None:
    running = Task(id="task_a", type="research", ref="facts", status=Status.RUNNING)
    failed = Task(id="task_b", type="design", title="Wireframe", status=Status.RETRYING)
    why = ask(task(Status.PENDING), (running, failed))
    assert why.explanation == "It waits for 2 other tasks to end."
    assert [(b.kind, b.ids, b.help) for b in why.blockers] == [
        ("dependency", ["task_a"], "dibs why task_a"),
        ("dependency", ["task_b"], "dibs why task_b"),
    ]
    assert "facts (task_a), which is running" in why.blockers[0].detail
    assert "Wireframe (task_b)" in why.blockers[1].detail


def test_one_parent_is_singular_and_goes_by_its_type_if_it_has_no_name() -> None:
    why = ask(task(Status.PENDING), (Task(id="task_a", type="research"),))
    assert why.explanation == "It waits for 1 other task to end."
    assert "research (task_a)" in why.blockers[0].detail


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (timedelta(days=3), "in 3 d"),
        (timedelta(hours=5), "in 5 h"),
        (timedelta(minutes=90), "in 90 min"),
        (timedelta(seconds=45), "in 45 s"),
        (timedelta(milliseconds=200), "in less than a second"),
        (timedelta(seconds=-5), "now"),
    ],
)
def test_a_scheduled_task_says_when(left: timedelta, words: str) -> None:
    why = ask(task(Status.SCHEDULED, run_after=NOON + left))
    assert why.explanation == f"It is scheduled to run {words}."
    assert why.blockers[0].kind == "schedule"
    assert why.blockers[0].until == NOON + left


def test_a_scheduled_task_without_an_instant_runs_now() -> None:
    assert ask(task(Status.SCHEDULED)).explanation == "It is scheduled to run now."


def test_a_retrying_task_says_what_failed_and_when_it_is_tried_again() -> None:
    later = NOON + timedelta(minutes=4)
    why = ask(task(Status.RETRYING, error="boom\nmore", reason="error", attempts=1, retry_at=later))
    assert why.explanation == "Its last attempt failed (error); it will be tried again in 4 min (1 of 3 attempts used)."
    assert why.blockers[0].kind == "retry"
    assert why.blockers[0].detail == "failed with error: boom"
    assert why.blockers[0].until == later


def test_a_rejected_task_says_that_its_output_was_refused_and_why() -> None:
    error = 'refused by json-schema for 2 reasons: /price: the value is not of type "number"\n/name: …'
    fields: dict[str, Any] = {"error": error, "reason": "invalid_output", "attempts": 1, "expects": {"validation": "…"}}
    why = ask(task(Status.RETRYING, retry_at=NOON + timedelta(seconds=10), **fields))
    assert why.explanation == "Its last output was refused; it will be tried again in 10 s (1 of 3 attempts used)."
    assert why.blockers[0].detail == error.splitlines()[0]
    assert why.blockers[0].help == "dibs history task_1"
    gone = ask(task(Status.DEAD_LETTERED, **fields))
    assert gone.explanation == "It is a dead letter (invalid_output) after 1 attempt."
    assert gone.blockers[0].detail == error.splitlines()[0]


def test_an_agent_that_calls_its_own_output_invalid_has_failed() -> None:
    why = ask(task(Status.RETRYING, error="I cannot parse this", reason="invalid_output", attempts=1))
    assert why.explanation.startswith("Its last attempt failed (invalid_output); ")


def test_a_traceback_is_known_by_its_last_line() -> None:
    text = "Traceback (most recent call last):\n  File …\nValueError: no such page"
    why = ask(task(Status.RETRYING, error=text, reason="error", attempts=1))
    assert why.blockers[0].detail == "failed with error: ValueError: no such page"


def test_a_released_task_is_not_called_failed() -> None:
    why = ask(task(Status.RETRYING, retry_at=NOON + timedelta(seconds=5)))
    assert why.explanation == "It was given back and will be offered again in 5 s."
    assert why.blockers[0].kind == "retry"


def test_a_task_that_failed_before_it_was_given_back_is_not_called_failed_now() -> None:
    last = Attempt(number=0, fence=3, agent="coder-1", outcome=Outcome.RELEASED, reason="released")
    subject = task(Status.RETRYING, error="no", reason="error", retry_at=NOON + timedelta(seconds=5))
    assert explain(subject, NOW, last=last).explanation == "It was given back and will be offered again in 5 s."


def test_a_task_whose_values_could_not_be_read_says_so_and_where_to_look() -> None:
    last = Attempt(number=0, fence=1, agent="coder-1", outcome=Outcome.RELEASED, reason="artifacts_away")
    why = explain(task(Status.RETRYING, retry_at=NOON + timedelta(seconds=5)), NOW, last=last)
    assert why.explanation.startswith("It was given back, because what coder-1 needs for it lies with the artifacts")
    [blocker] = why.blockers
    assert (blocker.kind, blocker.until) == ("retry", NOON + timedelta(seconds=5))
    assert blocker.detail.startswith("artifacts_away: ")
    assert "dibs doctor" in (blocker.help or "")


def test_a_blank_error_is_no_trouble() -> None:
    assert ask(task(Status.RETRYING, error="  ", reason="error")).blockers[0].detail == "failed with error: "


def test_a_ready_task_that_somebody_can_do_has_no_blocker() -> None:
    why = ask(task(requires=("git",)), agents=(agent(capabilities=("git",)),))
    assert why.blockers == []
    assert "next free agent" in why.explanation


@pytest.mark.parametrize(
    "agents", [(), (agent(heard=timedelta(seconds=91)),), (Agent(id="registered, never heard of"),)]
)
def test_a_ready_task_says_when_no_agent_is_live(agents: tuple[Agent, ...]) -> None:
    why = ask(task(), agents=agents)
    assert "no agent has asked for work" in why.explanation
    assert why.blockers[0].kind == "capability"


@pytest.mark.parametrize(
    ("needs", "offers", "kind", "words"),
    [
        ({"assignee": "ada"}, {}, "assignee", "assigned to ada"),
        ({"requires": ("git", "gpu")}, {"capabilities": ("git",)}, "capability", "no live agent offers gpu"),
        ({"models": ("opus",)}, {"models": ("haiku",)}, "model", "no live agent offers opus"),
        (
            {"models": ("opus",), "fallback_models": ("haiku",), "attempts": 2},
            {"models": ("opus",)},
            "model",
            "no live agent offers haiku",
        ),
        ({}, {"types": ("design",)}, "capability", "takes type code"),
    ],
)
def test_a_ready_task_names_what_nobody_offers(
    needs: dict[str, Any], offers: dict[str, Any], kind: str, words: str
) -> None:
    why = ask(task(**needs), agents=(agent(**offers),))
    assert why.blockers[0].kind == kind
    assert words in why.blockers[0].detail
    assert why.blockers[0].help
    assert why.blockers[0].detail in why.explanation


def test_a_ready_task_is_for_an_agent_of_the_type_it_is_assigned_to() -> None:
    assert ask(task(assignee="coder"), agents=(agent(type="coder"),)).blockers == []


def test_where_no_agent_is_live_the_advice_names_what_the_task_requires() -> None:
    assert "--can gpu,web" in (ask(task(requires=("gpu", "web"))).blockers[0].help or "")


def test_a_ready_task_says_when_every_agent_has_as_much_as_it_may() -> None:
    full = agent(max_concurrent=2, tasks=["task_8", "task_9"])
    [blocker] = ask(task(), agents=(full,)).blockers
    assert (blocker.kind, blocker.ids) == ("gate", ["task_8", "task_9"])
    assert "coder-1 (2 of 2)" in blocker.detail
    assert ask(task(), agents=(full, agent("coder-2"))).blockers == []


def test_a_ready_task_says_when_who_could_do_it_is_draining() -> None:
    draining = agent(status=AgentStatus.DRAINING)
    why = ask(task(), agents=(draining, agent("designer", types=("design",))))
    assert why.blockers[0].kind == "gate"
    assert "draining and takes nothing new: coder-1" in why.explanation
    assert ask(task(), agents=(agent(status=AgentStatus.OFFLINE),)).blockers[0].kind == "capability"


@pytest.mark.parametrize(
    ("status", "words"), [(Status.RUNNING, "is working on it"), (Status.CLAIMED, "has claimed it")]
)
def test_a_held_task_names_its_holder(status: Status, words: str) -> None:
    until = NOON + timedelta(seconds=30)
    why = ask(task(status, agent="coder-1", fence=4, lease_expires_at=until))
    assert why.explanation == f"coder-1 {words}; the lease ends in 30 s."
    assert why.blockers[0].kind == "lease"
    assert why.blockers[0].detail == "held by coder-1, fence 4"
    assert why.blockers[0].until == until


def test_a_held_task_without_a_lease_still_names_its_holder() -> None:
    assert ask(task(Status.CLAIMED, agent="ada")).explanation == "ada has claimed it."


def test_a_completed_task_says_so() -> None:
    why = ask(task(Status.COMPLETED))
    assert why.explanation == "It is completed."
    assert why.blockers[0].kind == "final"


@pytest.mark.parametrize(
    ("pill", "attempts", "words"),
    [
        (False, 3, "It is a dead letter (error) after 3 attempts."),
        (False, 1, "It is a dead letter (error) after 1 attempt."),
        (True, 3, "It is a poison pill and was given up after 3 attempts."),
    ],
)
def test_a_dead_letter_says_why_it_was_given_up(pill: bool, attempts: int, words: str) -> None:
    dead = task(Status.DEAD_LETTERED, attempts=attempts, reason="error", error="boom", poison_pill=pill)
    why = ask(dead)
    assert why.explanation == words
    assert why.blockers[0].detail == "boom"
    assert "dibs retry task_1" in str(why.blockers[0].help)


def test_a_task_cancelled_because_of_another_names_it() -> None:
    why = ask(task(Status.CANCELLED, cause="task_0", reason="dependency_failed"))
    assert why.explanation == "It was cancelled (dependency_failed) because of task_0."
    assert why.blockers[0].ids == ["task_0"]


@pytest.mark.parametrize(("reason", "words"), [("not needed", ": not needed"), (None, "")])
def test_a_task_cancelled_by_request_repeats_the_reason(reason: str | None, words: str) -> None:
    assert ask(task(Status.CANCELLED, cancel_reason=reason)).explanation == f"It was cancelled{words}."


def test_work_that_was_handed_in_names_its_judge() -> None:
    judge = Task(id="task_j", type="judge", title="Judge code", status=Status.READY)
    why = ask(task(Status.VALIDATING, agent="ada"), (judge,))
    assert why.explanation == "ada has handed in its work; it is judged by Judge code (task_j), which is ready."
    assert [(b.kind, b.ids, b.help) for b in why.blockers] == [("dependency", ["task_j"], "dibs why task_j")]
    between = ask(task(Status.VALIDATING))
    assert between.explanation == "Its work is handed in; what becomes of it is decided in a moment."
    assert between.blockers == []


def test_work_that_a_person_looks_at_says_how_to_answer() -> None:
    question = Question(id="q_1", task_id="task_1", kind="validation", question="Is it good?")
    why = explain(task(Status.WAITING), NOW, questions=(question,))
    assert why.explanation == "Its work is done, and a person has to say whether it is what was asked for."
    assert why.blockers[0].kind == "question"
    assert why.blockers[0].help == "answer question q_1: dibs answer q_1 yes, or 'no: WHY'"


def test_a_task_for_anybody_but_one_says_so_when_nobody_else_is_there() -> None:
    judge = task(assignee="!coder-1", requires=("judge",))
    why = ask(judge, agents=(agent(capabilities=("judge",)),))
    (blocker,) = why.blockers
    assert blocker.kind == "assignee"
    assert blocker.detail == "it is for anybody but coder-1, and nobody else has been heard of lately"
    assert blocker.help == "start another agent with capability judge"
    assert ask(task(assignee="!coder-1"), agents=(agent(),)).blockers[0].help == "start another agent"
    assert ask(judge, agents=(agent("bob", capabilities=("judge",)),)).blockers == []


def test_a_waiting_task_names_its_open_question_and_how_to_answer_it() -> None:
    asked = Question(
        id="q_1", task_id="task_1", question="Which one?", assignee="grace", expires_at=NOON + timedelta(hours=5)
    )
    earlier = Question(id="q_0", task_id="task_1", question="How many?", status="answered")
    why = explain(task(Status.WAITING), NOW, questions=(earlier, asked))
    assert why.explanation == "It waits for a person to answer; its time ends in 5 h."
    [blocker] = why.blockers
    assert (blocker.kind, blocker.ids, blocker.until) == ("question", ["q_1"], NOON + timedelta(hours=5))
    assert blocker.detail == "q_1 for grace: Which one?"
    assert blocker.help == "answer question q_1: dibs answer q_1 VALUE"
    without_end = explain(task(Status.WAITING), NOW, questions=(Question(id="q_2", task_id="task_1"),))
    assert without_end.explanation == "It waits for a person to answer."


def test_a_task_to_be_approved_names_what_else_it_waits_for() -> None:
    approval = Question(id="q_1", task_id="task_1", kind="approval", question="Shall this task run?")
    parent = Task(id="task_a", type="research")
    why = explain(task(Status.WAITING), NOW, parents=(parent,), questions=(approval,))
    assert why.explanation == "It waits to be approved."
    assert [(blocker.kind, blocker.ids) for blocker in why.blockers] == [
        ("approval", ["q_1"]),
        ("dependency", ["task_a"]),
    ]
    assert why.blockers[0].help == "answer question q_1: dibs answer q_1 true"
