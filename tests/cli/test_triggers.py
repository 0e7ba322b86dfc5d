"""How triggers are shown, told their secrets, and read from files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules import signatures
from dibs.sync import connect_sync

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def test_a_trigger_is_shown_in_words(dibs: Run) -> None:
    where = ("--where", "event.task.type=code")
    added = dibs("trigger", "add", "repair", "--event", "task.dead_lettered", *where, "--type", "fix", ok=True)
    assert added.line == "repair"
    assert "event.task.type" in dibs("trigger", "show", "repair", ok=True).out
    line = dibs("trigger", "ls", ok=True).line.split("\t")
    assert (line[:4], line[-1]) == (["repair", "event task.dead_lettered", "fix", "0"], "waiting")
    dibs("trigger", "pause", "repair", ok=True)
    assert dibs("trigger", "ls", ok=True).line.endswith("paused")


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


def test_what_would_be_made_is_printed_alone(dibs: Run) -> None:
    dibs(
        *("trigger", "add", "review", "--webhook", "github", "--where", "event.type=pull*"),
        *("--task", '{"type": "review", "title": "Review {{event.data.n}}"}'),
        ok=True,
    )
    tried = dibs("trigger", "test", "review", '{"type": "pull_request", "data": {"n": 7}}', ok=True)
    assert tried.json == {"type": "review", "title": "Review 7"}
    other = dibs("trigger", "test", "review", '{"type": "push"}')
    assert (other.code, other.out) == (3, "")


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


def test_a_file_says_all_of_it(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "refactor.yaml"
    file.write_text(
        "name: refactor\non: friction\ntype: auth\nfailure_rate: 0.4\nwindow: 6h\n"
        "task: {type: refactor, payload: '{{event.data}}'}\n"
    )
    assert dibs("trigger", "add", "--file", file, ok=True).line == "refactor"
    shown = dibs("trigger", "show", "refactor", ok=True).out
    assert "40% of auth fail in 21600s" in shown
