"""Output contracts from the shell: `dibs add --expects`, and what `dibs complete` says of an output that is refused."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run

PRICE: dict[str, Any] = {
    "validation": "json-schema",
    "schema": {"properties": {"price": {"type": "number"}}, "required": ["price"]},
}
EXPECTS = msgspec.json.encode(PRICE).decode()


def claimed(dibs: Run, *options: object) -> str:
    """Add a task that expects a price, and claim it."""
    id = dibs("add", "quote", "--expects", EXPECTS, *options, ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    return id


def test_add_takes_a_contract_as_json_or_from_a_file(dibs: Run, tmp_path: Path) -> None:
    assert dibs("add", "t", "--expects", EXPECTS, "--json", ok=True).json["expects"] == PRICE
    file = tmp_path / "expects.json"
    file.write_text(EXPECTS)
    id = dibs("add", "t", "--expects", f"@{file}", ok=True).line
    assert dibs("show", id, "--json", ok=True).json["expects"] == PRICE
    shown = dibs("show", id, ok=True).out
    assert "expects\n" in shown
    assert '"validation": "json-schema"' in shown


def test_a_dag_file_may_carry_contracts(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "dag.yaml"
    file.write_text("title: Page\ntasks:\n  - {type: t, ref: a, expects: {validation: regex, pattern: '^# '}}\n")
    dibs("dag", "submit", file, ok=True)
    claim = dibs("claim", "--agent", "a", ok=True).json
    assert claim["task"]["expects"] == {"validation": "regex", "pattern": "^# "}


def test_an_output_that_is_expected_completes_as_ever(dibs: Run) -> None:
    id = claimed(dibs)
    assert dibs("complete", id, "--fence", 1, "--output", '{"price": 3}') == (0, "completed\n", "")


def test_an_output_that_is_refused_is_exit_2_with_the_reasons_and_where_the_task_went(dibs: Run) -> None:
    id = claimed(dibs, "--retry", "fixed:1h")
    refused = dibs("complete", id, "--fence", 1, "--output", '{"price": "cheap"}')
    assert (refused.code, refused.line) == (2, "retrying")
    assert refused.err.startswith("dibs: the output was refused by json-schema: /price: ")
    assert refused.err.endswith("The task is retrying.\n")
    task = dibs("show", id, "--json", ok=True).json
    assert (task["status"], task["reason"], task["attempts"], task["output"]) == ("retrying", "invalid_output", 1, None)
    why = dibs("why", id, ok=True).out
    assert "Its last output was refused; it will be tried again" in why
    assert "refused by json-schema: /price: " in why
    assert "rejected" in dibs("history", id, ok=True).out


def test_with_json_the_settled_claim_is_printed_beside_the_error(dibs: Run) -> None:
    id = claimed(dibs, "--max-attempts", 1)
    refused = dibs("complete", id, "--fence", 1, "--output", "{}", "--json")
    assert refused.code == 2
    assert refused.json == {
        "task_id": id,
        "fence": 1,
        "outcome": "rejected",
        "status": "dead_lettered",
        "retry_at": None,
    }
    assert (refused.error["code"], refused.error["field"]) == ("invalid_output", "output")
    assert '"price" is a required property' in refused.error["message"]


def test_saying_it_again_is_answered_the_same(dibs: Run) -> None:
    id = claimed(dibs, "--retry", "immediate")
    first = dibs("complete", id, "--fence", 1, "--output", "{}")
    assert dibs("complete", id, "--fence", 1, "--output", "{}") == first
    other = dibs("complete", id, "--fence", 1, "--output", '{"price": 3}', "--json")
    assert (other.code, other.error["code"]) == (5, "illegal_transition")


def test_a_command_that_must_pass_is_run_by_whoever_completes(dibs: Run, tmp_path: Path) -> None:
    code = f"import sys, os; os.path.exists({str(tmp_path / 'done')!r}) or sys.exit('not done')"
    expects = msgspec.json.encode({"validation": "test-pass", "argv": [sys.executable, "-c", code]}).decode()
    id = dibs("add", "t", "--expects", expects, "--retry", "immediate", ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    refused = dibs("complete", id, "--fence", 1)
    assert (refused.code, refused.line) == (2, "ready")
    assert refused.err.startswith("dibs: the output was refused by command: `")
    assert refused.err.endswith("ended with exit code 1; not done. The task is ready.\n")
    (tmp_path / "done").touch()
    dibs("claim", "--agent", "a", ok=True)
    assert dibs("complete", id, "--fence", 2) == (0, "completed\n", "")
    assert dibs("complete", id, "--fence", 1) == refused


def test_where_a_command_cannot_be_run_the_claim_is_kept(dibs: Run) -> None:
    id = dibs("add", "t", "--expects", '{"validation": "command", "argv": ["no-such-program"]}', ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    refused = dibs("complete", id, "--fence", 1, "--json")
    assert (refused.code, refused.error["code"]) == (6, "unavailable")
    assert "there is no program 'no-such-program' here" in refused.error["message"]
    assert dibs("show", id, "--json", ok=True).json["status"] == "running"


def test_a_decision_is_given_beside_the_output(dibs: Run) -> None:
    id = dibs("add", "t", "--expects", '{"validation": "decision-report"}', "--retry", "immediate", ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    refused = dibs("complete", id, "--fence", 1, "--decision", '{"decision": "tea"}')
    assert (refused.code, refused.line) == (2, "ready")
    assert "decision.reasoning is missing" in refused.err
    dibs("claim", "--agent", "a", ok=True)
    report = '{"decision": "tea", "reasoning": "it was there"}'
    assert dibs("complete", id, "--fence", 2, "--decision", report, ok=True).line == "completed"


def test_an_agent_of_the_shell_hears_why_its_last_attempt_was_refused(dibs: Run) -> None:
    id = claimed(dibs, "--retry", "immediate")
    dibs("complete", id, "--fence", 1, "--output", "{}")
    [previous] = dibs("claim", "--agent", "a", ok=True).json["previous_attempts"]
    assert (previous["outcome"], previous["reason"]) == ("rejected", "invalid_output")
    assert "required" in previous["error"]
