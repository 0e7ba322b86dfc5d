"""dibs report ls, set and rm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run

REPORT = '{"validation": "decision-report"}'


def test_what_reports_must_say_is_set_shown_and_forgotten(dibs: Run) -> None:
    assert dibs("report", "ls", "--json", ok=True).json == []
    made = dibs("report", "set", "review", "decision", "risks", "--json", ok=True).json
    assert made == {"type": "review", "fields": ["decision", "risks"]}
    assert dibs("report", "ls", ok=True).line == "review\tdecision, risks"
    task = dibs("add", "review", "--expects", REPORT, ok=True).line
    assert dibs("report", "rm", "review", "--json", ok=True).json == made
    assert dibs("report", "ls", "--json", ok=True).json == []
    dibs("claim", "--agent", "ada", ok=True)
    refused = dibs("complete", task, "--fence", 1, "--decision", '{"decision": "yes"}', "--json")
    assert (refused.code, refused.error["code"]) == (2, "invalid_output")
    assert "refused by decision-report: decision.risks is missing" in refused.error["message"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("set", "review"), "fields"),
        (("set", "review", ""), "fields"),
        (("set", "", "risks"), "type"),
        (("rm", ""), "type"),
    ],
)
def test_what_is_no_report_is_refused(dibs: Run, arguments: tuple[str, ...], field: str) -> None:
    dibs("add", "review", ok=True)
    wrong = dibs("report", *arguments, "--json")
    assert (wrong.code, wrong.error["field"]) == (2, field)
    assert dibs("report", "ls", "--json", ok=True).json == []
