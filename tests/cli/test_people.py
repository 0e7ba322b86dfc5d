"""Questions from the shell: agents ask, people look and answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Run


def held(dibs: Run, *options: object) -> str:
    """A task that is held under fence 1."""
    id = dibs("add", "t", "A title", *options, ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    return id


def test_an_agent_asks_a_person_answers_and_the_next_claim_has_it(dibs: Run) -> None:
    id = held(dibs)
    question = dibs("ask", id, "--fence", 1, "Which one?", "--schema", '{"enum": ["red", "blue"]}', ok=True).line
    assert question.startswith("q_")
    assert dibs("show", id, "--json", ok=True).json["status"] == "waiting"
    [found] = dibs("inbox", "--json", ok=True).json
    assert (found["id"], found["task_id"], found["question"]) == (question, id, "Which one?")
    assert dibs("answer", question, "red", "--by", "grace", ok=True).line == "ready"
    assert dibs("inbox", "--json", ok=True).json == []
    claim = dibs("claim", "--agent", "ada", ok=True).json
    assert (claim["fence"], claim["answers"]) == (2, {question: "red"})
    again = dibs("ask", id, "--fence", 2, "Which one?", "--schema", '{"enum": ["red", "blue"]}', ok=True)
    assert again.json == "red"
    assert "you still hold" in again.err


def test_ask_tells_programs_whether_to_stop(dibs: Run) -> None:
    id = held(dibs)
    wish = ("ask", id, "--fence", 1, "Which one?", "--assignee", "grace", "--timeout", "1h")
    asked = dibs(*wish, "--json", ok=True).json
    assert (asked["suspended"], asked["question"]["status"], asked["question"]["assignee"]) == (True, "open", "grace")
    dibs("answer", asked["question"]["id"], '{"a": 1}', ok=True)
    dibs("claim", "--agent", "ada", ok=True)
    again = dibs("ask", id, "--fence", 2, "Which one?", "--assignee", "grace", "--json", ok=True).json
    assert (again["suspended"], again["question"]["answer"]) == (False, {"a": 1})


def test_the_inbox_in_a_pipe(dibs: Run) -> None:
    assert dibs("inbox", ok=True).out == ""
    first = held(dibs)
    question = dibs("ask", first, "--fence", 1, "Which\none?", "--assignee", "grace", ok=True).line
    second = dibs("add", "u", "--approval", ok=True).line
    rows = [line.split("\t") for line in dibs("inbox", ok=True).out.splitlines()]
    assert [row[:6] for row in rows] == [
        [question, "question", "Which one?", first, "A title", "grace"],
        [rows[1][0], "approval", "Shall this task run?", second, "u", ""],
    ]
    assert dibs("inbox", "--assignee", "linus", ok=True).line.split("\t")[0] == rows[1][0]
    assert len(dibs("inbox", "--limit", 1, ok=True).out.splitlines()) == 1


def test_the_inbox_on_a_terminal(dibs: Run, terminal: Run) -> None:
    assert "Nobody waits for an answer." in terminal("inbox").out
    id = held(dibs)
    dibs("ask", id, "--fence", 1, "Which one?", ok=True)
    shown = terminal("inbox").out
    assert "Which one?" in shown
    assert "dibs answer ID VALUE" in shown


def test_a_task_is_approved_or_refused(dibs: Run) -> None:
    one = dibs("add", "t", "--approval", ok=True).line
    two = dibs("add", "t", "--approval", ok=True).line
    assert dibs("claim", "--agent", "ada").code == 3
    questions = {found["task_id"]: found["id"] for found in dibs("inbox", "--json", ok=True).json}
    assert dibs("answer", questions[one], "yes", ok=True).line == "ready"
    assert dibs("answer", questions[two], "false", "--by", "grace", ok=True).line == "cancelled"
    assert dibs("show", two, "--json", ok=True).json["cancel_reason"] == "it was not approved by grace"
    assert dibs("claim", "--agent", "ada", ok=True).json["task"]["id"] == one


def test_why_and_show_name_the_question(dibs: Run) -> None:
    id = held(dibs)
    question = dibs("ask", id, "--fence", 1, "Which one?", ok=True).line
    why = dibs("why", id, ok=True).out
    assert f"question: {question}: Which one?" in why
    assert f"answer question {question}: dibs answer {question} VALUE" in why
    assert dibs("why", id, "--json", ok=True).json["blockers"][0]["kind"] == "question"
    shown = dibs("show", id, ok=True).out
    assert "It waits for a person to answer." in shown
    dibs("answer", question, "red", "--by", "grace", ok=True)
    assert f"{question}\tanswered\tWhich one?\tred\tgrace" in dibs("show", id, ok=True).out


def test_an_answer_may_come_from_a_file_or_standard_input(dibs: Run, shell: Run, tmp_path: Path) -> None:
    id = held(dibs)
    one = dibs("ask", id, "--fence", 1, "Which one?", ok=True).line
    (tmp_path / "answer.json").write_text('{"colour": "red"}\n')
    answered = dibs("answer", one, f"@{tmp_path / 'answer.json'}", "--json", ok=True).json
    assert (answered["status"], answered["answer"]) == ("answered", {"colour": "red"})
    dibs("claim", "--agent", "ada", ok=True)
    two = dibs("ask", id, "--fence", 2, "How many?", "--schema", '{"type": "string"}', ok=True).line
    assert shell("answer", two, "-", "--json", stdin=b"42\n").json["answer"] == "42"


def test_what_is_said_twice_or_too_late(dibs: Run) -> None:
    id = held(dibs)
    question = dibs("ask", id, "--fence", 1, "Which one?", ok=True).line
    dibs("answer", question, "red", ok=True)
    dibs("answer", question, "red", ok=True)
    other = dibs("answer", question, "blue", "--json")
    assert (other.code, other.error["code"], other.error["field"]) == (5, "illegal_transition", "question_id")
    unknown = dibs("answer", "q_unknown", "blue", "--json")
    assert (unknown.code, unknown.error["field"]) == (4, "question_id")
    assert "`dibs inbox`" in unknown.error["message"]
    stale = dibs("ask", id, "--fence", 7, "Which one?", "--json")
    assert (stale.code, stale.error["code"]) == (5, "lease_lost")


@pytest.mark.parametrize(
    ("argv", "field"),
    [
        (["  "], "question"),
        (["Which one?", "--schema", "{"], "schema"),
        (["Which one?", "--schema", '{"$ref": "#"}'], "schema"),
        (["Which one?", "--schema", "@/nowhere"], "schema"),
        (["Which one?", "--timeout", "soon"], "timeout"),
        (["Which one?", "--default", "3"], "timeout"),
        (["Which one?", "--timeout", "5m", "--default", "3", "--schema", '{"type": "string"}'], "default"),
        (["Which one?", "--assignee", ""], "assignee"),
        ([], "question"),
    ],
    ids=str,
)
def test_a_bad_question_names_the_field_and_asks_nothing(
    dibs: Run, snapshot: Callable[[], Any], argv: list[str], field: str
) -> None:
    id = held(dibs)
    before = snapshot()
    refused = dibs("ask", id, "--fence", 1, *argv, "--json")
    assert (refused.code, refused.out) == (2, ""), refused.err
    assert refused.error["field"] == field
    assert snapshot() == before


def test_a_bad_answer_names_the_field_and_changes_nothing(dibs: Run, snapshot: Callable[[], Any]) -> None:
    id = held(dibs)
    question = dibs("ask", id, "--fence", 1, "How many?", "--schema", '{"type": "integer"}', ok=True).line
    before = snapshot()
    for argv, field in (
        ([question, "many"], "value"),
        ([question, "@/nowhere"], "value"),
        ([question, "3", "--by", ""], "by"),
        ([question], "value"),
        ([""], "id"),
    ):
        refused = dibs("answer", *argv, "--json")
        assert (refused.code, refused.out) == (2, ""), refused.err
        assert refused.error["field"] in (field, "value")
    assert snapshot() == before


def test_a_wrong_answer_is_told_what_is_allowed(dibs: Run) -> None:
    dibs("add", "t", "--approval", ok=True)
    [approval] = dibs("inbox", "--json", ok=True).json
    told = dibs("answer", approval["id"], "perhaps")
    said = f"question {approval['id']} takes another answer: answer yes or no (true or false)."
    assert (told.code, told.err) == (2, f"dibs: {said}\n")
    dibs("answer", approval["id"], "yes", ok=True)
    claim = dibs("claim", "--agent", "ada", ok=True).json
    asked = dibs("ask", claim["task"]["id"], "--fence", 1, "How many?", "--schema", '{"type": "integer"}', ok=True).line
    assert dibs("answer", asked, "many").err.endswith("takes another answer: it must be a whole number.\n")
