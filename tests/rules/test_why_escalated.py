"""Why a task that keeps failing is where it is, and what was done about it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dibs.model.escalation import Escalation
from dibs.model.instants import to_micros
from dibs.model.question import Question
from dibs.model.review import Resolution, Review
from dibs.model.status import Status
from dibs.model.task import Task
from dibs.rules.why import explain

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOW = to_micros(NOON)


def taken(do: str, after: int = 2, **fields: Any) -> Escalation:
    return Escalation(after=after, do=do, at=NOON, fence=after, **fields)


def task(status: Status, *escalations: Escalation, **fields: Any) -> Task:
    return Task(id="task_1", type="code", status=status, escalations=escalations, **fields)


@pytest.mark.parametrize(
    ("last", "help"),
    [
        (taken("reassign", agent="senior"), "it is for senior now: see that this agent runs"),
        (taken("reassign", model="large"), "it is for the model large now: see that an agent with it runs"),
        (taken("notify", to="ops"), "dibs history task_1"),
    ],
)
def test_the_rungs_it_took_are_told_with_what_helps_after_the_last(last: Escalation, help: str) -> None:
    why = explain(task(Status.RETRYING, taken("notify", after=1), last, error="no", reason="error"), NOW)
    escalated = why.blockers[-1]
    assert (escalated.kind, escalated.help) == ("escalation", help)
    assert escalated.detail.startswith("after 1 failed: notify; after 2 failed: ")


def test_what_completed_all_the_same_needs_no_explanation() -> None:
    assert [b.kind for b in explain(task(Status.COMPLETED, taken("notify")), NOW).blockers] == ["final"]


def test_a_person_who_is_asked_because_it_fails_is_named() -> None:
    question = Question(id="q_1_e2", task_id="task_1", kind="escalation", question="How?", assignee="grace")
    waiting = task(Status.WAITING, taken("ask", to="grace", question="q_1_e2"))
    why = explain(waiting, NOW, questions=[question])
    assert why.explanation == "It keeps failing, and waits for a person to say how it shall go on."
    assert [(b.kind, b.ids) for b in why.blockers] == [("question", ["q_1_e2"]), ("escalation", ["q_1_e2"])]
    assert "dibs answer q_1_e2 VALUE" in (why.blockers[0].help or "")


@pytest.mark.parametrize(("fence", "asked"), [(3, True), (2, False)])
def test_a_dead_letter_says_who_shall_decide_about_it(fence: int, asked: bool) -> None:
    review = Review(resolution=Resolution.ESCALATED, by="ada", at=NOON, fence=fence, to="grace", question="q_1_d1")
    why = explain(task(Status.DEAD_LETTERED, reason="error", attempts=3, fence=3, reviews=(review,)), NOW)
    assert ("grace was asked what shall become of it" in why.explanation) == asked
    assert ("dibs answer q_1_d1 retry" in (why.blockers[0].help or "")) == asked


def test_a_dead_letter_that_somebody_kept_waits_for_nobody() -> None:
    review = Review(resolution=Resolution.KEPT, by="ada", at=NOON, fence=3)
    why = explain(task(Status.DEAD_LETTERED, reason="error", attempts=3, fence=3, reviews=(review,)), NOW)
    assert "asked" not in why.explanation
