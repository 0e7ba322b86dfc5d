"""Agents ask, people answer."""

from __future__ import annotations

from typing import Any

from tests.doors.story import Step, Story

HOLD = (
    Step("add", {"type": "t", "title": "A title"}, shell="add t 'A title'", saves="task"),
    Step("claim", {"agent": "ada"}, shell="claim --agent ada"),
)
RED = {"enum": ["red", "blue"]}


def ask(options: Any, shell: str, fence: int = 1, **more: Any) -> Step:
    """What the holder of the task asks."""
    command = f"ask $task.id --fence {fence} {shell}"
    return Step("ask_under", {"claim": ["$task.id", fence], **options}, shell=command, **more)


STORIES = (
    Story(
        "an agent asks, a person answers, and the next claim has it",
        *HOLD,
        ask(
            {"question": "Which one?", "schema": RED, "assignee": "grace", "timeout": "1h"},
            '\'Which one?\' --schema \'{"enum": ["red", "blue"]}\' --assignee grace --timeout 1h',
            saves="asked",
            answers={"suspended": True, "question": {"question": "Which one?", "status": "open", "assignee": "grace"}},
        ),
        Step("get", {"task_id": "$task.id"}, shell="show $task.id", answers={"status": "waiting"}),
        Step("why", {"task_id": "$task.id"}, shell="why $task.id", answers={"blockers": [{"kind": "question"}]}),
        Step(
            "inbox",
            shell="inbox",
            answers=[{"id": "$asked.question.id", "task_id": "$task.id", "question": "Which one?"}],
        ),
        Step("inbox", {"assignee": "grace"}, shell="inbox --assignee grace", answers=[{"id": "$asked.question.id"}]),
        Step("inbox", {"assignee": "linus"}, shell="inbox --assignee linus", answers=[]),
        Step("get_question", {"question_id": "$asked.question.id"}, answers={"question": "Which one?"}),
        Step(
            "answer",
            {"question_id": "$asked.question.id", "value": "green"},
            shell="answer $asked.question.id green",
            refused="invalid",
            wrong="value",
        ),
        Step(
            "answer",
            {"question_id": "$asked.question.id", "value": "red", "by": "grace"},
            shell="answer $asked.question.id red --by grace",
            answers={"status": "answered", "answer": "red", "answered_by": "grace"},
        ),
        Step("inbox", shell="inbox", answers=[]),
        Step("questions_of", {"task_id": "$task.id"}, answers=[{"status": "answered", "answer": "red"}]),
        Step(
            "claim",
            {"agent": "ada"},
            shell="claim --agent ada",
            answers=[{"fence": 2, "answers": {"$asked.question.id": "red"}}],
        ),
        ask(
            {"question": "Which one?", "schema": RED, "assignee": "grace", "timeout": "1h"},
            '\'Which one?\' --schema \'{"enum": ["red", "blue"]}\' --assignee grace --timeout 1h',
            2,
            answers={"suspended": False, "question": {"id": "$asked.question.id", "answer": "red"}},
        ),
    ),
    Story(
        "a question in Python is the question alone",
        *HOLD,
        Step(
            "ask",
            {"claim": ["$task.id", 1], "question": "Which?"},
            saves="question",
            answers={"question": "Which?", "status": "open"},
        ),
        Step(
            "answer",
            {"question_id": "$question.id", "value": {"a": 1}},
            shell="answer $question.id '{\"a\": 1}'",
            answers={"answer": {"a": 1}},
        ),
        Step(
            "claim",
            {"agent": "ada"},
            shell="claim --agent ada",
            answers=[{"fence": 2, "answers": {"$question.id": {"a": 1}}}],
        ),
    ),
    Story(
        "a task is approved or refused",
        Step("add", {"type": "t", "approval": True}, shell="add t --approval", saves="one"),
        Step("add", {"type": "t", "approval": True}, shell="add t --approval", saves="two"),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada", answers=[]),
        Step("inbox", shell="inbox", saves="inbox", answers=[{"task_id": "$one.id"}, {"task_id": "$two.id"}]),
        Step("inbox", {"limit": 1}, shell="inbox --limit 1", answers=[{"task_id": "$one.id"}]),
        Step(
            "answer",
            {"question_id": "$inbox.0.id", "value": "perhaps"},
            shell="answer $inbox.0.id perhaps",
            refused="invalid",
            wrong="value",
        ),
        Step("answer", {"question_id": "$inbox.0.id", "value": True}, shell="answer $inbox.0.id true"),
        Step(
            "answer",
            {"question_id": "$inbox.1.id", "value": False, "by": "grace"},
            shell="answer $inbox.1.id false --by grace",
        ),
        Step("get", {"task_id": "$one.id"}, shell="show $one.id", answers={"status": "ready"}),
        Step(
            "get",
            {"task_id": "$two.id"},
            shell="show $two.id",
            answers={"status": "cancelled", "cancel_reason": "it was not approved by grace"},
        ),
        Step("claim", {"agent": "ada"}, shell="claim --agent ada", answers=[{"task": {"id": "$one.id"}}]),
    ),
    Story(
        "what is said twice or too late",
        *HOLD,
        ask({"question": "Which one?"}, "'Which one?'", saves="asked"),
        *(
            Step(
                "answer",
                {"question_id": "$asked.question.id", "value": "red"},
                shell="answer $asked.question.id red",
                answers={"answer": "red"},
            )
            for _ in range(2)
        ),
        Step(
            "answer",
            {"question_id": "$asked.question.id", "value": "blue"},
            shell="answer $asked.question.id blue",
            refused="illegal_transition",
            wrong="question_id",
        ),
        Step(
            "answer",
            {"question_id": "q_unknown", "value": "blue"},
            shell="answer q_unknown blue",
            refused="not_found",
            wrong="question_id",
        ),
        Step("get_question", {"question_id": "q_unknown"}, refused="not_found", wrong="question_id"),
        ask({"question": "Which one?"}, "'Which one?'", 7, refused="lease_lost"),
    ),
    Story(
        "what is no question is refused by its field and asks nothing",
        *HOLD,
        Step("last_seq", answers=5),
        *(
            ask(options, shell, refused="invalid", wrong=wrong)
            for options, shell, wrong in (
                ({"question": "  "}, "'  '", "question"),
                ({"question": "Which?", "schema": {"$ref": "#"}}, 'Which? --schema \'{"$ref": "#"}\'', "schema"),
                ({"question": "Which?", "timeout": "soon"}, "Which? --timeout soon", "timeout"),
                ({"question": "Which?", "default": 3}, "Which? --default 3", "timeout"),
                (
                    {"question": "Which?", "timeout": "5m", "default": 3, "schema": {"type": "string"}},
                    'Which? --timeout 5m --default 3 --schema \'{"type": "string"}\'',
                    "default",
                ),
                ({"question": "Which?", "assignee": ""}, "Which? --assignee ''", "assignee"),
            )
        ),
        ask(
            {"question": "How many?", "schema": {"type": "integer"}},
            "'How many?' --schema '{\"type\": \"integer\"}'",
            saves="asked",
        ),
        *(
            Step(
                "answer",
                {"question_id": "$asked.question.id", **options},
                shell=f"answer $asked.question.id {shell}",
                refused="invalid",
                wrong=wrong,
            )
            for options, shell, wrong in (
                ({"value": "many"}, "many", "value"),
                ({"value": 3, "by": ""}, "3 --by ''", "by"),
            )
        ),
        Step("inbox", shell="inbox", answers=[{"status": "open"}]),
    ),
)
