"""Bad input: a clear error that names the field, the right exit code, and nothing has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Run

UNKNOWN = "task_00000000000000000000000000"

BAD_ADDS: list[tuple[list[str], str]] = [
    ([""], "type"),
    (["   "], "type"),
    (["t", ""], "title"),
    (["t", "--payload", "{topic: CORS}"], "payload"),
    (["t", "--payload", "hello"], "payload"),
    (["t", "--payload", ""], "payload"),
    (["t", "--payload", "NaN"], "payload"),
    (["t", "--payload", '"a\\u0000b"'], "payload"),
    (["t", "--payload", '"a\\ud800b"'], "payload"),
    (["t", "--payload", "[" * 100 + "]" * 100], "payload"),
    (["t", "--payload", "[" * 50_000 + "]" * 50_000], "payload"),
    (["t", "--payload", "@/nowhere/at/all.json"], "payload"),
    (["t", "--priority", "high"], "priority"),
    (["t", "--priority", "101"], "priority"),
    (["t", "--priority", "-1"], "priority"),
    (["t", "--priority", "nan"], "priority"),
    (["t", "--boost", "inf"], "boost"),
    (["t", "--deadline", "yesterday"], "deadline"),
    (["t", "--deadline", "2026-01-01T00:00:00"], "deadline"),
    (["t", "--run-after", "-5"], "run_after"),
    (["t", "--run-after", "nan"], "run_after"),
    (["t", "--on-deadline", "explode"], "on_deadline"),
    (["t", "--timeout", "0"], "timeout"),
    (["t", "--timeout", "1e300"], "timeout"),
    (["t", "--timeout", "5 parsecs"], "timeout"),
    (["t", "--max-attempts", "0"], "max_attempts"),
    (["t", "--max-attempts", "2.5"], "max_attempts"),
    (["t", "--retry", "sometimes"], "retry"),
    (["t", "--requires", "a,,b"], "requires"),
    (["t", "--tag", " "], "tags"),
    (["t", "--key", ""], "key"),
    (["t", "--key", "x" * 201], "key"),
    (["t", "--assignee", ""], "assignee"),
    (["t", "--after", ""], "after"),
    (["t", "--max-cost", "-0.5"], "max_cost"),
    (["t", "--lock", ""], "locks"),
    (["t", "--lock", "budget:repo"], "locks"),
    (["t", "--expects", "{}"], "expects"),
    (["t", "--expects", "[]"], "expects"),
    (["t", "--expects", "{validation: none}"], "expects"),
    (["t", "--expects", "@/nowhere/at/all.json"], "expects"),
    (["t", "--expects", '{"validation": "vibes"}'], "expects"),
    (["t", "--expects", '{"validation": "regex", "pattern": "("}'], "expects"),
    (["t", "--expects", '{"validation": "regex", "pattern": "(a)\\\\1"}'], "expects"),
    (["t", "--expects", '{"validation": "json-schema", "schema": {"type": "strnig"}}'], "expects"),
    (["t", "--expects", '{"validation": "json-schema", "schema": {"$ref": "http://example.com/a"}}'], "expects"),
    (["t", "--expects", '{"validation": "judge"}'], "expects"),
    (["t", "--expects", '{"validation": ["human", "none"]}'], "expects"),
    (["t", "--expects", '{"validation": ["human", "command"], "argv": ["make"]}'], "expects"),
    (["t", "--expects", '{"validation": "test-pass", "argv": "make test"}'], "expects"),
    (["t", "title", "surplus"], "surplus"),
    (["t", "--colour", "red"], "colour"),
    (["t", "--payload"], "payload"),
    ([], "type"),
]


@pytest.mark.parametrize(("argv", "field"), BAD_ADDS, ids=lambda value: str(value)[:40])
def test_a_bad_add_names_the_field_and_adds_nothing(
    dibs: Run, snapshot: Callable[[], Any], argv: list[str], field: str
) -> None:
    before = snapshot()
    refused = dibs("add", *argv, "--json")
    assert (refused.code, refused.out) == (2, ""), refused.err
    assert set(refused.error) == {"code", "message", "field"}
    assert refused.error["field"] == field
    for_people = dibs("add", *argv)
    assert (for_people.code, for_people.out) == (2, "")
    assert for_people.err.startswith("dibs: ")
    assert snapshot() == before


def test_unknown_dependencies_are_not_found(dibs: Run, snapshot: Callable[[], Any]) -> None:
    before = snapshot()
    refused = dibs("add", "t", "--after", UNKNOWN, "--json")
    assert (refused.code, refused.error["field"]) == (4, "after")
    refused = dibs("add", "t", "--dag", "dag_00000000000000000000000000", "--json")
    assert (refused.code, refused.error["field"]) == (4, "dag")
    assert snapshot() == before


def test_naming_a_dependency_twice_is_refused(dibs: Run) -> None:
    id = dibs("add", "t", ok=True).line
    assert dibs("add", "t", "--after", id, "--after", id, "--json").error["field"] == "after"
    self_dependency = dibs("link", id, "--after", id, "--json")
    assert (self_dependency.code, self_dependency.error["code"]) == (5, "cycle_detected")


def test_a_payload_over_the_limit_is_refused(dibs: Run, snapshot: Callable[[], Any], tmp_path: Path) -> None:
    before = snapshot()
    file = tmp_path / "big.json"
    file.write_text('"' + "x" * 10_000_000 + '"')
    refused = dibs("add", "t", "--payload", f"@{file}", "--json")
    assert (refused.code, refused.error["field"]) == (2, "payload")
    assert snapshot() == before


def test_broken_bytes_from_people_are_refused(shell: Run) -> None:
    for argv, field in (
        (["t", "a\udcffb"], "title"),
        (["t\udcff"], "type"),
        (["t", "--payload", '"a\udcffb"'], "payload"),
        (["t", "--tag", "\udcff"], "tags"),
    ):
        refused = shell("add", *argv, "--json")
        assert (refused.code, refused.error["field"]) == (2, field)


@pytest.mark.parametrize(
    ("argv", "field"),
    [
        (["claim"], "agent"),
        (["claim", "--agent", ""], "agent"),
        (["claim", "--agent", "a", "--lease", "0.5"], "lease"),
        (["claim", "--agent", "a", "--lease", "25h"], "lease"),
        (["claim", "--agent", "a", "--lease", "forever"], "lease"),
        (["claim", "--agent", "a", "--wait", "-1"], "wait"),
        (["claim", "--agent", "a", "--can", "a,,b"], "capabilities"),
        (["claim", "--agent", "a", "--type", ""], "types"),
        (["renew", "ID"], "fence"),
        (["renew", "ID", "--fence", "one"], "fence"),
        (["renew", "ID", "--fence", "1", "--progress", "2"], "progress"),
        (["renew", "ID", "--fence", "1", "--lease", "1000d"], "lease"),
        (["renew", "ID", "--fence", "1", "--cost", "-1"], "cost"),
        (["complete", "ID", "--fence", "1", "--output", "{bad"], "output"),
        (["complete", "ID", "--fence", "1", "--decision", "{bad"], "decision"),
        (["complete", "ID", "--fence", "1", "--tokens-in", "-5"], "tokens_in"),
        (["fail", "ID", "--fence", "1"], "error"),
        (["fail", "ID", "--fence", "1", "--error", "e", "--reason", ""], "reason"),
        (["fail", "ID", "--fence", "1", "--error", "e", "--retry-after", "later"], "retry_after"),
        (["release", "ID", "--fence", "1", "--delay", "-5"], "delay"),
        (["checkpoint", "ID", "--fence", "1", "{bad"], "data"),
        (["cancel", ""], "id"),
        (["priority", "ID", "1000"], "priority"),
        (["priority", "ID"], "priority"),
        (["link", "ID"], "after"),
        (["ls", "--status", "happy"], "status"),
        (["ls", "--limit", "0"], "limit"),
        (["ls", "-type:code"], "type:code"),
        (["schedule", "add", "s", "--every", "1h", "--dag", "no-such-file.yaml"], "dag"),
        (["up", "--allow-host", "http://queue.example.com"], "allow_hosts"),
        (["ls", "--cursor", "garbage"], "cursor"),
        (["tail", "--no-follow", "--after", "-1"], "after"),
        (["wait", "ID", "--timeout", "later"], "timeout"),
        (["dag", "frobnicate"], "command"),
        (["frobnicate"], "command"),
        (["--frobnicate"], "frobnicate"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else value,
)
def test_a_bad_command_names_the_field_and_changes_nothing(
    dibs: Run, snapshot: Callable[[], Any], argv: list[str], field: str
) -> None:
    id = dibs("add", "t", ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    before = snapshot()
    refused = dibs(*(id if part == "ID" else part for part in argv), "--json")
    assert (refused.code, refused.out) == (2, ""), refused.err
    assert refused.error["field"] == field
    assert snapshot() == before


@pytest.mark.parametrize(
    "argv",
    [
        ["show", UNKNOWN],
        ["history", UNKNOWN],
        ["why", UNKNOWN],
        ["tree", UNKNOWN],
        ["tree", "dag_nothing"],
        ["dag", "show", "dag_nothing"],
        ["wait", UNKNOWN],
        ["cancel", UNKNOWN],
        ["retry", UNKNOWN],
        ["priority", UNKNOWN, "10"],
        ["link", UNKNOWN, "--after", UNKNOWN],
        ["start", UNKNOWN, "--fence", "1"],
        ["renew", UNKNOWN, "--fence", "1"],
        ["complete", UNKNOWN, "--fence", "1"],
        ["fail", UNKNOWN, "--fence", "1", "--error", "e"],
        ["release", UNKNOWN, "--fence", "1"],
        ["log", UNKNOWN, "--fence", "1", "line"],
        ["checkpoint", UNKNOWN, "--fence", "1", "{}"],
        ["dlq", "retry", UNKNOWN],
    ],
    ids=lambda argv: argv[0],
)
def test_what_does_not_exist_is_exit_4(dibs: Run, argv: list[str]) -> None:
    refused = dibs(*argv, "--json")
    assert (refused.code, refused.out) == (4, ""), refused.err
    assert refused.error["code"] == "not_found"


@pytest.mark.parametrize(
    "url", ["work.db", "mysql://x", "sqlite:", "postgresql://localhost:port/x", "redis://localhost/name", ":"]
)
def test_a_bad_url_is_refused(dibs: Run, url: str) -> None:
    refused = dibs("ls", "--json", "--url", url)
    assert (refused.code, refused.error["field"]) == (2, "url")


def test_stale_fences_are_conflicts(dibs: Run) -> None:
    id = dibs("add", "t", ok=True).line
    for argv in (
        ["start", id],
        ["renew", id],
        ["complete", id],
        ["fail", id, "--error", "e"],
        ["release", id],
        ["log", id, "line"],
        ["checkpoint", id, "1"],
    ):
        refused = dibs(*argv, "--fence", 3, "--json")
        assert (refused.code, refused.error["code"]) == (5, "lease_lost"), argv
    assert dibs("show", id, "--json", ok=True).json["status"] == "ready"


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["ls", "-type:code"], "dibs ls -- -type:code"),
        (["add", "t", "Two", "words"], "text with spaces goes in quotes"),
        (["add", "t", "--priority", "101"], "not 101."),
        (["add", "t", "--payload", ""], "--payload is empty"),
        (["add", "t", "--url", "http//127.0.0.1:3427"], "or http://… of a server"),
        (["rate", "set", "t", "10/fortnight"], "RATE must be like 10/min"),
        (["schedule", "add", "s", "--every", "1h", "--dag", "no-such-file.yaml"], "--dag: cannot read"),
        (["hook", "add", "h", "mailto:ada@example.com"], "say that this is the --kind email"),
        (["trigger", "add", "x", "--friction", "t", "--type", "t"], "--failure-rate (0.4) or --cost (USD)"),
        (["up", "--allow-host", "http://queue.example.com"], "without http://"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_a_common_slip_is_told_what_to_write(dibs: Run, argv: list[str], words: str) -> None:
    refused = dibs(*argv)
    assert (refused.code, refused.out) == (2, "")
    assert words in refused.err


def test_a_schedule_of_that_name_is_replaced_only_if_told(dibs: Run) -> None:
    dibs("schedule", "add", "s", "--every", "1h", "--type", "t", ok=True)
    refused = dibs("schedule", "add", "s", "--every", "2h", "--type", "t")
    assert (refused.code, "with --replace this one takes its place" in refused.err) == (5, True)
    dibs("schedule", "add", "s", "--every", "2h", "--type", "t", "--replace", ok=True)
