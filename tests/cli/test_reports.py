"""How `dibs report ls` shows fields, and what a report that lacks one is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_a_report_that_says_too_little_is_refused(dibs: Run) -> None:
    assert dibs("report", "set", "review", "decision", "risks", ok=True).out == ""
    assert dibs("report", "ls", ok=True).line == "review\tdecision, risks"
    task = dibs("add", "review", "--expects", '{"validation": "decision-report"}', ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    refused = dibs("complete", task, "--fence", 1, "--decision", '{"decision": "yes"}', "--json")
    assert (refused.code, refused.error["code"]) == (2, "invalid_output")
    assert "refused by decision-report: decision.risks is missing" in refused.error["message"]
