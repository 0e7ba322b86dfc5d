"""dibs escalation, what show and why tell of it, and dead letters that somebody else decides about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Run

LADDER = (
    '[{"after": 1, "do": "reassign", "agent": "senior"},'
    ' {"after": 2, "do": "ask", "to": "grace", "question": "Which branch?", "timeout": "2h", "default": "main"}]'
)
RUNG = 'after = 1\ndo = "notify"\n'


def failed(dibs: Run, *, agent: str = "ada", max_attempts: int = 1, again: str | None = None) -> str:
    """A task at which an agent failed."""
    task = again or str(dibs("add", "code", "--retry", "immediate", "--max-attempts", max_attempts, ok=True).line)
    claim = dibs("claim", "--agent", agent, ok=True).json
    dibs("fail", task, "--fence", claim["fence"], "--error", f"no branch {claim['fence']}", ok=True)
    return task


def test_a_ladder_is_a_line_for_each_rung(dibs: Run) -> None:
    dibs("escalation", "set", "--type", "code", LADDER, ok=True)
    assert [line.split("\t") for line in dibs("escalation", "ls", ok=True).out.splitlines()] == [
        ["type code", "1", "reassign to agent senior", "", "", ""],
        ["type code", "2", "ask grace", "Which branch?", "7200s", "main"],
    ]
    assert dibs("escalation", "clear", "--type", "code", ok=True).out == ""
    assert dibs("escalation", "ls", ok=True).out == ""


def test_show_and_why_tell_which_rung_was_taken_and_what_helps(dibs: Run) -> None:
    dibs("escalation", "set", "--type", "code", LADDER, ok=True)
    task = failed(dibs, max_attempts=5)
    assert dibs("claim", "--agent", "ada").code == 3
    assert "it is for senior now" in dibs("why", task, ok=True).out
    failed(dibs, agent="senior", again=task)
    [question] = dibs("inbox", "--assignee", "grace", "--json", ok=True).json
    shown = dibs("show", task, ok=True).out
    assert "reassign to agent senior after 1 failed" in shown
    assert "ask grace after 2 failed" in shown
    why = dibs("why", task, "--json", ok=True).json
    assert "waits for a person to say how it shall go on" in why["explanation"]
    assert f"dibs answer {question['id']}" in why["blockers"][0]["help"]
    assert dibs("answer", question["id"], "main", ok=True).line == "ready"
    assert dibs("claim", "--agent", "senior", ok=True).json["answers"] == {question["id"]: "main"}


def test_a_dag_file_may_have_a_ladder(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "dag.yaml"
    file.write_text("title: One\nescalation: [{after: 1, do: fail_dag}]\ntasks: [{type: code}, {type: other}]\n")
    dag = dibs("dag", "submit", file, ok=True).line
    assert dibs("escalation", "show", "--dag", dag, "--json", ok=True).json["dag"] == dag
    assert "escalation\tafter 1 failed fail the dag" in dibs("dag", "show", dag, ok=True).out
    assert dibs("dag", "show", dag, "--json", ok=True).json["escalation"] == [{"after": 1, "do": "fail_dag"}]
    claim = dibs("claim", "--agent", "ada", "--type", "code", ok=True).json
    dibs("fail", claim["task"]["id"], "--fence", 1, "--error", "no", ok=True)
    assert dibs("dag", "show", dag, "--json", ok=True).json["status"] == "failed"


def test_a_file_sets_the_ladders_of_types(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "dibs.toml"
    file.write_text(
        '[[escalation.code]]\nafter = 1\ndo = "notify"\nto = "ops"\n'
        '[[escalation.code]]\nafter = 3\ndo = "fail_dag"\n'
        '[[escalation.defaults]]\nafter = 2\ndo = "ask"\nto = "oncall"\ntimeout = "5m"\ndefault = "go on"\n'
    )
    applied = dibs("escalation", "apply", file, "--json", ok=True).json
    assert [(each["type"], len(each["rungs"])) for each in applied] == [("*", 1), ("code", 2)]
    assert sorted(each["type"] for each in dibs("escalation", "ls", "--json", ok=True).json) == ["*", "code"]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("file", "[breakers.code]\nenabled = true\n"),
        ("file", "escalation = 3\n"),
        ("file", "this is no TOML"),
        ("escalation", "[escalation.code]\nafter = 1\n"),
        ("do", '[[escalation.code]]\nafter = 1\ndo = "shout"\n'),
        ("escalation", f"[[escalation.defaults]]\n{RUNG}[[escalation.'*']]\n{RUNG}"),
    ],
)
def test_a_bad_file_sets_nothing(dibs: Run, tmp_path: Path, field: str, text: str) -> None:
    file = tmp_path / "dibs.toml"
    file.write_text(f'{text}[[escalation.good]]\nafter = 1\ndo = "notify"\n' if field == "do" else text)
    refused = dibs("escalation", "apply", file, "--json")
    assert (refused.code, refused.error["field"]) == (2, field)
    assert dibs("escalation", "ls", "--json", ok=True).json == []


def test_an_escalated_dead_letter_is_decided_from_the_inbox(dibs: Run) -> None:
    task = failed(dibs)
    dibs("dlq", "escalate", task, "--to", "team:payments", "--question", "Is it paid?", "--by", "ada", ok=True)
    [question] = dibs("inbox", "--assignee", "team:payments", "--json", ok=True).json
    assert (question["kind"], question["question"], question["task_id"]) == ("decision", "Is it paid?", task)
    assert f"dibs answer {question['id']} retry" in dibs("why", task, ok=True).out
    assert dibs("answer", question["id"], '{"do": "retry", "note": "it is"}', "--by", "grace", ok=True).line == "ready"
    reviews = dibs("show", task, "--json", ok=True).json["reviews"]
    assert [(each["resolution"], each["by"], each.get("note")) for each in reviews] == [
        ("escalated", "ada", None),
        ("retried", "grace", "it is"),
    ]
    assert question["id"] in dibs("claim", "--agent", "ada", ok=True).json["answers"]


def test_a_word_or_a_note_decides_too(dibs: Run) -> None:
    dropped, noted = failed(dibs), failed(dibs)
    dibs("dlq", "escalate", dropped, noted, "--to", "grace", ok=True)
    first, second = dibs("inbox", "--json", ok=True).json
    assert dibs("answer", first["id"], "drop", ok=True).line == "cancelled"
    assert dibs("answer", second["id"], "the page is gone", ok=True).line == "dead_lettered"
    assert dibs("show", noted, "--json", ok=True).json["reviews"][-1]["note"] == "the page is gone"
    refused = dibs("answer", second["id"], "retry", "--json")
    assert (refused.code, refused.error["field"]) == (5, "question_id")


def test_a_question_goes_with_escalate_and_must_say_something(dibs: Run, snapshot: Callable[[], Any]) -> None:
    task = failed(dibs)
    before = snapshot()
    assert dibs("dlq", "escalate", task, "--to", "grace", "--question", " ", "--json").error["field"] == "question"
    assert dibs("dlq", "keep", task, "--question", "why?", "--json").code == 2
    assert snapshot() == before
