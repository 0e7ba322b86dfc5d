"""Work that others judge, from the shell: handed in, judged by an agent or a person, explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Run

JUDGED = '{"validation": "judge", "rubric": "It is cheap.", "criteria": ["cheap"]}'
PASS = '{"verdict": "pass", "criteria": {"cheap": {"pass": true}}}'
FAIL = '{"verdict": "fail", "criteria": {"cheap": {"pass": false}}, "reason": "it is not"}'


def handed_in(dibs: Run, expects: str, becomes: str) -> str:
    """A task whose work was handed in by ada."""
    id = dibs("add", "quote", "Tea", "--expects", expects, "--retry", "immediate", ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    assert dibs("complete", id, "--fence", 1, "--output", '{"price": 3}', ok=True).line == becomes
    return id


def test_another_agent_judges_and_the_author_cannot(dibs: Run) -> None:
    id = handed_in(dibs, JUDGED, "validating")
    assert dibs("claim", "--agent", "ada", "--can", "judge").code == 3
    claim = dibs("claim", "--agent", "bob", "--can", "judge", ok=True).json
    assert (claim["task"]["type"], claim["task"]["payload"]["output"]) == ("judge", {"price": 3})
    refused = dibs("complete", claim["task"]["id"], "--fence", 1, "--output", '"fine"')
    assert (refused.code, refused.line) == (2, "retrying")
    assert "refused by verdict: it must be an object with a verdict" in refused.err
    assert dibs("show", id, "--json", ok=True).json["status"] == "validating"


def test_a_verdict_completes_the_work_or_has_it_done_again(dibs: Run) -> None:
    id = handed_in(dibs, JUDGED, "validating")
    judge = dibs("claim", "--agent", "bob", "--can", "judge", ok=True).json["task"]["id"]
    assert dibs("complete", judge, "--fence", 1, "--output", FAIL, ok=True).line == "completed"
    again = dibs("claim", "--agent", "ada", ok=True).json
    assert again["previous_attempts"][0]["error"].startswith("refused by judge for 2 reasons: it is not")
    dibs("complete", id, "--fence", 2, "--output", '{"price": 1}', ok=True)
    judge = dibs("claim", "--agent", "bob", "--can", "judge", ok=True).json["task"]["id"]
    dibs("complete", judge, "--fence", 1, "--output", PASS, ok=True)
    shown = dibs("show", id, "--json", ok=True).json
    assert (shown["status"], shown["output"]) == ("completed", {"price": 1})


def test_why_and_show_tell_who_judges_and_what_would_help(dibs: Run) -> None:
    id = handed_in(dibs, JUDGED, "validating")
    why = dibs("why", id, "--json", ok=True).json
    assert why["status"] == "validating"
    assert why["explanation"].startswith("ada has handed in its work; it is judged by Judge Tea (")
    [blocker] = why["blockers"]
    [judge] = blocker["ids"]
    assert blocker["help"] == f"dibs why {judge}"
    dibs("claim", "--agent", "ada", "--can", "judge")
    [missing] = dibs("why", judge, "--json", ok=True).json["blockers"]
    assert (missing["kind"], missing["help"]) == ("assignee", "start another agent with capability judge")
    shown = dibs("show", id, ok=True).out
    assert "validating" in shown
    assert '"price": 3' in shown


def test_what_judging_cost_is_shown_beside_what_the_work_cost(dibs: Run) -> None:
    id = handed_in(dibs, JUDGED, "validating")
    claim = dibs("claim", "--agent", "bob", "--can", "judge", ok=True).json["task"]
    dibs("complete", claim["id"], "--fence", 1, "--output", PASS, "--cost", 0.25, ok=True)
    assert "judging it cost\t$0.25" in dibs("show", id, ok=True).out
    assert "judging it cost\t$0.25" in dibs("dag", "show", id, ok=True).out
    assert dibs("dag", "show", id, "--json", ok=True).json["judging_usd"] == 0.25
    assert f"charged to\tdag:{claim['charged_to'][0][4:]}, type:quote" in dibs("show", claim["id"], ok=True).out


def test_a_person_says_yes_or_no_and_why(dibs: Run) -> None:
    id = handed_in(dibs, '{"validation": "human", "assignee": "grace"}', "waiting")
    [question] = dibs("inbox", "--json", ok=True).json
    assert (question["kind"], question["assignee"], question["task_id"]) == ("validation", "grace", id)
    row = dibs("inbox", ok=True).line.split("\t")
    assert row[:4] == [question["id"], "validation", "Is the output of this task what was asked for?", id]
    why = dibs("why", id, ok=True).out
    assert f"dibs answer {question['id']} yes, or 'no: WHY'" in why
    refused = dibs("answer", question["id"], "perhaps", "--json")
    assert (refused.code, refused.error["field"]) == (2, "value")
    assert dibs("answer", question["id"], "no: too dear", "--by", "grace", ok=True).line == "ready"
    again = dibs("claim", "--agent", "ada", ok=True).json
    assert again["previous_attempts"][0]["error"] == "refused by grace: too dear"
    assert dibs("complete", id, "--fence", 2, "--output", '{"price": 1}', "--json", ok=True).json["status"] == "waiting"
    [other] = dibs("inbox", "--json", ok=True).json
    assert dibs("answer", other["id"], "yes", ok=True).line == "completed"


def test_cancelling_the_work_withdraws_the_question(dibs: Run) -> None:
    id = handed_in(dibs, '{"validation": "human"}', "waiting")
    [question] = dibs("inbox", "--json", ok=True).json
    dibs("cancel", id, ok=True)
    assert dibs("inbox", "--json", ok=True).json == []
    assert dibs("answer", question["id"], "yes").code == 5


def test_a_task_may_be_for_anybody_but_one(dibs: Run) -> None:
    dibs("add", "t", "--assignee", "!ada", ok=True)
    assert dibs("claim", "--agent", "ada").code == 3
    assert dibs("claim", "--agent", "bob").code == 0
