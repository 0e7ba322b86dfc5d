"""dibs trigger add, ls, show, pause, resume, rm and test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.rules import signatures
from dibs.sync import connect_sync

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def test_a_trigger_is_added_shown_paused_and_removed(dibs: Run) -> None:
    assert dibs("trigger", "ls", "--json", ok=True).json == []
    added = dibs(
        *("trigger", "add", "repair", "--event", "task.dead_lettered", "--where", "event.task.type=code"),
        *("--where", "event.data.n=7", "--type", "fix", "--payload", '{"of": "{{event.task.id}}"}'),
        ok=True,
    )
    assert added.line == "repair"
    shown = dibs("trigger", "show", "repair", "--json", ok=True).json
    assert (shown["on"], shown["events"]) == ("event", ["task.dead_lettered"])
    assert shown["where"] == {"event.task.type": "code", "event.data.n": 7}
    assert "event.task.type" in dibs("trigger", "show", "repair", ok=True).out
    line = dibs("trigger", "ls", ok=True).line.split("\t")
    assert (line[:4], line[-1]) == (["repair", "event task.dead_lettered", "fix", "0"], "waiting")
    assert dibs("trigger", "pause", "repair", "--json", ok=True).json["paused"]
    assert dibs("trigger", "ls", ok=True).line.endswith("paused")
    assert not dibs("trigger", "resume", "repair", "--json", ok=True).json["paused"]
    assert dibs("trigger", "rm", "repair", "--json", ok=True).json["name"] == "repair"
    gone = dibs("trigger", "show", "repair", "--json")
    assert (gone.code, gone.error["field"]) == (4, "name")


def test_what_happens_makes_a_task_for_whoever_claims_next(dibs: Run) -> None:
    dibs(
        "trigger",
        "add",
        "docs",
        "--event",
        "task.completed",
        "--where",
        "event.task.type=code",
        "--type",
        "docs",
        ok=True,
    )
    dibs("add", "code", ok=True)
    claim = dibs("claim", "--agent", "ada", "--json", ok=True).json
    dibs("complete", claim["task"]["id"], "--fence", claim["fence"], ok=True)
    followed = dibs("claim", "--agent", "ada", "--wait", "60s", "--json", ok=True).json
    assert (followed["task"]["type"], followed["task"]["created_by"]) == ("docs", "trigger:docs")


def test_an_event_can_be_tried(dibs: Run) -> None:
    dibs(
        *("trigger", "add", "review", "--webhook", "github", "--where", "event.type=pull*"),
        *("--task", '{"type": "review", "title": "Review {{event.data.n}}"}'),
        ok=True,
    )
    tried = dibs("trigger", "test", "review", '{"type": "pull_request", "data": {"n": 7}}', ok=True)
    assert tried.json == {"type": "review", "title": "Review 7"}
    other = dibs("trigger", "test", "review", '{"type": "push"}')
    assert (other.code, other.out) == (3, "")
    assert not dibs("trigger", "test", "review", '{"type": "push"}', "--json").json["fits"]
    assert dibs("ls", "--json", ok=True).json["items"] == []


def test_a_secret_is_told_once(dibs: Run, url: str, tmp_path: Path) -> None:
    drawn = dibs("trigger", "add", "in", "--webhook", "standard", "--type", "fix", ok=True)
    secret = drawn.err.strip().rpartition(" ")[2]
    assert drawn.out == "in\n"
    assert secret not in dibs("trigger", "show", "in", "--json", ok=True).out
    with connect_sync(url) as queue:
        headers = signatures.sign("standard", secret, b"{}", id="m", stamp=queue.queue.store.now() // 1_000_000)
        assert queue.receive("in", headers, b"{}").id is not None
    file = tmp_path / "secret"
    file.write_text("a secret of my own\n")
    given = dibs("trigger", "add", "mine", "--webhook", "github", "--secret", f"@{file}", "--type", "fix", ok=True)
    assert given.err == ""
    again = dibs("trigger", "add", "two", "--webhook", "github", "--secret", "x" * 16, "--type", "f", "--json", ok=True)
    assert again.json["secrets"] == ["x" * 16]


def test_a_file_says_all_of_it(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "refactor.yaml"
    file.write_text(
        "name: refactor\non: friction\ntype: auth\nfailure_rate: 0.4\nwindow: 6h\n"
        "task: {type: refactor, payload: '{{event.data}}'}\n"
    )
    assert dibs("trigger", "add", "--file", file, ok=True).line == "refactor"
    shown = dibs("trigger", "show", "refactor", ok=True).out
    assert "40% of auth fail in 21600s" in shown
    options = ("--friction", "auth", "--cost", 5, "--cool-down", "2h", "--least", 3)
    made = dibs("trigger", "add", "dear", *options, "--type", "cheaper", "--json", ok=True).json
    assert (made["type"], made["cost"], made["cool_down"], made["least"]) == ("auth", 5.0, 7200.0, 3)
    watch = dibs("trigger", "add", "docs", "--path", "/srv/**/*.md", "--type", "index", "--json", ok=True).json
    assert (watch["on"], watch["paths"]) == ("files", ["/srv/**/*.md"])
    assert len(dibs("trigger", "ls", ok=True).out.splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("a", "--type", "x"), "on"),
        (("--event", "task.completed", "--type", "x"), "name"),
        (("a", "--event", "agent.lost", "--type", "x"), "events"),
        (("a", "--event", "task.completed"), "task"),
        (("a", "--event", "task.completed", "--type", "{{event.x}}"), "type"),
        (("a", "--event", "task.completed", "--type", "x", "--where", "event.x"), "where"),
        (("a", "--event", "task.completed", "--type", "x", "--where", "x=1"), "where"),
        (("a", "--event", "task.completed", "--type", "x", "--rate", "often"), "rate"),
        (("a", "--webhook", "telegram", "--type", "x"), "scheme"),
        (("a", "--webhook", "github", "--secret", "short", "--type", "x"), "secret"),
        (("a", "--webhook", "github", "--event", "task.completed", "--type", "x"), "scheme"),
        (("a", "--friction", "auth", "--type", "x"), "failure_rate"),
        (("a", "--path", "docs/*.md", "--type", "x"), "paths"),
        (("a", "--on", "whim", "--type", "x"), "on"),
    ],
)
def test_what_is_no_trigger_is_refused(dibs: Run, arguments: tuple[object, ...], field: str) -> None:
    wrong = dibs("trigger", "add", *arguments, "--json")
    assert (wrong.code, wrong.error["field"]) == (2, field)
    assert dibs("trigger", "ls", "--json", ok=True).json == []
