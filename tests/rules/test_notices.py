"""What people read of what happened; nobody's words steer a chat or a mail."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dibs.model.event import Event
from dibs.model.question import Question
from dibs.model.task import Task
from dibs.rules.notices import MAX_LINE_CHARS, MAX_TITLE_CHARS, Notice, as_chat, notice

AT = datetime(2030, 1, 1, tzinfo=UTC)


def event(type: str, **options: Any) -> Event:
    return Event(seq=7, type=type, at=AT, **options)


def task(**options: Any) -> Task:
    return Task(**{"id": "task_1", "type": "code", "created_at": AT, "updated_at": AT, **options})


def test_a_dead_letter_says_what_failed_why_and_what_to_do() -> None:
    dead = event("task.dead_lettered", task_id="task_1", agent="ada", reason="error", data={"error": "no such key"})
    assert notice(dead, task(title="Build it", attempts=3)) == Notice(
        "Given up: code · Build it",
        ("no such key", "task_1, reason error, agent ada, attempts 3", "dibs dlq show task_1"),
    )


def test_without_its_task_it_says_less() -> None:
    assert notice(event("task.dead_lettered", task_id="task_1")) == Notice(
        "Given up: task_1", ("task_1", "dibs dlq show task_1")
    )
    assert notice(event("task.completed", task_id="task_1"), task()).title == "Completed: code task_1"


@pytest.mark.parametrize(
    ("reason", "title"), [("out_of_memory", "Out of memory"), ("budget_exceeded", "Over its budget")]
)
def test_some_reasons_are_said_first(reason: str, title: str) -> None:
    told = notice(event("task.retrying", task_id="task_1", reason=reason), task(error="killed"))
    assert told.title == f"{title}: code task_1"
    assert told.lines[0] == "killed"


def test_a_question_is_told_with_whom_it_is_for_and_how_to_answer() -> None:
    waits = event("task.waiting", task_id="task_1", reason="question", data={"question": "q_1"})
    asked = Question(id="q_1", task_id="task_1", question="Which colour?", assignee="lead")
    told = notice(waits, task(error="an older one"), asked)
    assert told.title == "Waits for an answer: code task_1"
    assert told.lines == ("Which colour?", "for lead", "task_1, reason question", "dibs answer q_1 …")
    assert "for lead" not in notice(waits, None, Question(id="q_1", task_id="task_1", question="?")).lines
    approval = Question(id="q_1", task_id="task_1", kind="approval")
    assert notice(waits, None, approval).lines == ("task_1, reason question", "dibs answer q_1 …")
    assert notice(waits).lines == ("task_1, reason question",)


def test_breakers_gaps_and_whatever_else_happens() -> None:
    opened = notice(event("breaker.opened", reason="5 failures", data={"type": "code", "failures": 5}))
    assert opened == Notice("A breaker opened: code", ("reason 5 failures, failures 5", "dibs breaker ls"))
    assert notice(event("gap")) == Notice(
        "Events were missed", ("Everything up to event 7 was forgotten before it could be told.",)
    )
    assert notice(event("agent.lost", agent="ada")) == Notice("An agent is lost: ada", ("agent ada",))
    assert notice(event("dag.failed", dag_id="dag_1")).title == "A dag failed: dag_1"
    assert notice(event("agent.drained", agent="ada")).title == "agent.drained: ada"
    assert notice(event("ping")) == Notice("A test")
    low = event(
        "budget.low", reason="type:code", data={"scope": "type:code", "unit": "usd", "spent": 8.5, "limit": 10.0}
    )
    assert notice(low) == Notice(
        "A budget is nearly used up: type:code",
        ("reason type:code, spent 8.5, limit 10.0, unit usd", "dibs budget ls"),
    )
    dead = event("hook.disabled", reason="gone", data={"hook": "ci", "error": "it answered 410"})
    assert notice(dead) == Notice("A hook is disabled: ci", ("it answered 410", "reason gone", "dibs hook ls"))


def test_other_peoples_words_stay_on_one_line_and_short() -> None:
    told = notice(
        event("task.dead_lettered", task_id="task_1", data={"error": "a\r\nBcc: x\0\x1b[31m " + "e" * 9_999}),
        task(title="t\nSubject: y" + "t" * 9_999),
    )
    assert told.title.startswith("Given up: code · t Subject: ytt")
    assert (len(told.title), told.title[-1]) == (MAX_TITLE_CHARS, "…")
    assert told.lines[0].startswith("a Bcc: x [31m eee")
    assert len(told.lines[0]) == MAX_LINE_CHARS


def test_in_a_chat_nobody_is_mentioned_and_nothing_is_a_link() -> None:
    said = as_chat(Notice("<!channel> & co", ("<https://x.test|click>", "@here")))
    assert said == {
        "text": "*&lt;!channel&gt; &amp; co*\n&lt;https://x.test|click&gt;\n@\u200bhere",
    }
