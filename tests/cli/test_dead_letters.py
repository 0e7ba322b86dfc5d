"""Dead letters from the shell: seen in groups, decided about by name or by filter, and walked through on a terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Run


def bury(dibs: Run, type: str, error: str, *options: object) -> str:
    """A task that was given up for this error."""
    id = dibs("add", type, *options, ok=True).line
    dibs("claim", "--agent", "a", "--type", type, ok=True)
    dibs("fail", id, "--fence", 1, "--error", error, "--no-retry", "--cost", 0.5, ok=True)
    return id


def plain(text: str) -> str:
    """What a terminal shows, without its colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def task(dibs: Run, id: str) -> Any:
    return dibs("show", id, "--json", ok=True).json


def resolutions(dibs: Run, id: str) -> list[str]:
    return [review["resolution"] for review in task(dibs, id)["reviews"]]


def test_groups_say_how_many_failed_alike(dibs: Run) -> None:
    for number in range(3):
        last = bury(dibs, "fetch", f"row {number} is bad")
    bury(dibs, "parse", "no such file")
    groups = dibs("dlq", "ls", "--groups", "--json", ok=True).json
    assert [(group["type"], group["count"], group["cost_usd"]) for group in groups] == [
        ("fetch", 3, 1.5),
        ("parse", 1, 0.5),
    ]
    row = dibs("dlq", "ls", "--groups", "--type", "fetch", ok=True).line.split("\t")
    assert (row[0], row[1], row[2]) == ("3", "fetch", groups[0]["fingerprint"])
    assert row[5:] == ["", "3", "$1.5", "row 2 is bad"]
    assert groups[0]["task_ids"][0] == last


def test_a_poison_pill_is_flagged(dibs: Run, terminal: Run) -> None:
    id = dibs("add", "t", "--max-attempts", 5, "--retry", "immediate", ok=True).line
    for fence, agent in enumerate(("a", "b", "a"), 1):
        dibs("claim", "--agent", agent, ok=True)
        dibs("fail", id, "--fence", fence, "--error", "boom", ok=True)
    assert dibs("dlq", "ls", ok=True).line.split("\t")[7] == "yes"
    assert dibs("dlq", "ls", "--groups", ok=True).line.split("\t")[5] == "1"
    for argv in (["ls"], ["ls", "--groups"], ["show", id]):
        assert "poison" in terminal("dlq", *argv).out.lower()


def test_filters_and_pages(dibs: Run) -> None:
    one = bury(dibs, "t", "no", "--tag", "night", "--user", "grace")
    two = bury(dibs, "t", "the Needle")
    for argv, expected in (
        (["--tag", "night"], [one]),
        (["--user", "grace"], [one]),
        (["--text", "needle"], [two]),
        (["--since", "1h"], [two, one]),
        (["--until", "1h"], []),
        (["--since", "2020-01-01T00:00:00Z"], [two, one]),
    ):
        found = dibs("dlq", "ls", *argv, "--json", ok=True).json["items"]
        assert [item["id"] for item in found] == expected, argv
    first = dibs("dlq", "ls", "--limit", 1, "--json", ok=True).json
    assert [item["id"] for item in first["items"]] == [two]
    rest = dibs("dlq", "ls", "--limit", 1, "--cursor", first["cursor"], "--json", ok=True).json
    assert ([item["id"] for item in rest["items"]], rest["cursor"]) == ([one], None)


def test_bulk_in_a_pipe_says_how_many_and_needs_yes(dibs: Run, snapshot: Callable[[], Any]) -> None:
    ids = [bury(dibs, "t", f"row {number} is bad") for number in range(3)]
    before = snapshot()
    refused = dibs("dlq", "drop", "--type", "t", "--json")
    assert (refused.code, refused.error["field"]) == (2, "yes")
    assert "drop 3 dead letters" in refused.error["message"]
    assert dibs("dlq", "drop", "--type", "t", "--dry-run", ok=True).out.startswith("3 dead letters would be dropped\n")
    assert dibs("dlq", "drop", "--type", "t", "--dry-run", "--json", ok=True).json["count"] == 3
    assert snapshot() == before
    dropped = dibs("dlq", "drop", "--type", "t", "--yes", "--note", "gone", "--by", "grace", ok=True)
    assert dropped.out.splitlines() == ids
    for id in ids:
        found = task(dibs, id)
        assert (found["status"], found["reason"], found["cancel_reason"]) == ("cancelled", "dropped", "gone")
        assert (found["reviews"][0]["by"], found["reviews"][0]["resolution"]) == ("grace", "dropped")


def test_what_died_during_an_outage_is_redriven_by_one_command(dibs: Run) -> None:
    fingerprint = ""
    for _ in range(2):
        bury(dibs, "t", "connection refused")
    other = bury(dibs, "t", "it is broken")
    for group in dibs("dlq", "ls", "--groups", "--since", "1h", "--json", ok=True).json:
        if "refused" in group["error"]:
            fingerprint = group["fingerprint"]
    argv = ["--fingerprint", fingerprint, "--since", "1h", "--delay", "5m", "--yes", "--json"]
    assert [found["status"] for found in dibs("dlq", "retry", *argv, ok=True).json] == ["scheduled", "scheduled"]
    assert task(dibs, other)["status"] == "dead_lettered"


def test_keep_and_escalate_are_recorded_and_come_up_no_more(dibs: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "hedy")
    kept, handed, left = (bury(dibs, "t", "no") for _ in range(3))
    assert dibs("dlq", "keep", kept, ok=True).line == kept
    assert dibs("dlq", "escalate", handed, "--to", "team:payments", ok=True).line == handed
    assert task(dibs, kept)["reviews"][0]["by"] == "human:hedy"
    assert [row.split("\t")[8] for row in dibs("dlq", "ls", ok=True).out.splitlines()] == [
        "",
        "escalated to team:payments",
        "kept",
    ]
    assert dibs("dlq", "ls", "--unreviewed", ok=True).line.split("\t")[0] == left
    assert dibs("dlq", "retry", "--unreviewed", "--yes", ok=True).line == left
    dibs("dlq", "retry", kept, ok=True)
    assert resolutions(dibs, kept) == ["kept", "retried"]


def test_show_tells_the_whole_story(dibs: Run, terminal: Run) -> None:
    id = dibs("add", "t", "A title", "--retry", "immediate", "--max-attempts", 2, ok=True).line
    for fence in (1, 2):
        dibs("claim", "--agent", f"agent-{fence}", ok=True)
        dibs("fail", id, "--fence", fence, "--error", f"line one\nline {fence * 11} of it", "--cost", 0.25, ok=True)
    dibs("dlq", "keep", id, "--note", "known", "--by", "grace", ok=True)
    shown = dibs("dlq", "show", id, ok=True).out
    for part in ("A title", "agent-1", "line 11 of it", "line 22 of it", "$0.5", "kept by grace", "known"):
        assert part in shown
    found = dibs("dlq", "show", id, "--json", ok=True).json
    assert (found["alike"], len(found["attempts"]), found["task"]["cost_usd"]) == (1, 2, 0.5)
    assert found["attempts"][-1]["fingerprint"] == found["fingerprint"]
    assert "kept by grace" in dibs("show", id, ok=True).out
    assert "kept by grace" in plain(terminal("dlq", "show", id).out)


@pytest.mark.parametrize(
    ("field", "argv"),
    [
        ("ids", ["retry"]),
        ("ids", ["drop"]),
        ("ids", ["drop", "task_x", "--type", "t"]),
        ("to", ["escalate", "task_x"]),
        ("since", ["ls", "--since", "yesterday"]),
        ("limit", ["ls", "--limit", "0"]),
        ("before", ["ls", "--cursor", "task_x"]),
        ("cursor", ["ls", "--groups", "--cursor", "task_x"]),
        ("delay", ["retry", "--all", "--yes", "--delay", "-5"]),
        ("note", ["drop", "--all", "--yes", "--note", ""]),
        ("by", ["keep", "--all", "--yes", "--by", " "]),
        ("terminal", ["review"]),
    ],
)
def test_bad_input_names_the_field_and_changes_nothing(
    dibs: Run, snapshot: Callable[[], Any], field: str, argv: list[str]
) -> None:
    bury(dibs, "t", "no")
    before = snapshot()
    refused = dibs("dlq", *argv, "--json")
    assert (refused.code in (2, 4), refused.error["field"]) == (True, field)
    assert snapshot() == before


def test_an_unknown_task_does_not_keep_the_others_from_it(dibs: Run) -> None:
    id = bury(dibs, "t", "no")
    done = dibs("dlq", "drop", "task_unknown", id)
    assert (done.code, done.out.splitlines()) == (4, [id])


class Screen:
    """A command on a pty; what is typed waits for what was asked."""

    def __init__(self, *argv: str, env: dict[str, str] | None = None, cwd: Path | None = None) -> None:
        self._screen, inside = pty.openpty()
        self._process = subprocess.Popen(
            [*COMMAND, *argv],
            stdin=inside,
            stdout=inside,
            stderr=inside,
            env={**os.environ, **(env or {}), "COLUMNS": "120", "LINES": "40"},
            cwd=cwd,
            start_new_session=True,
        )
        os.close(inside)
        self._bytes = b""
        self._read = 0

    @property
    def shown(self) -> str:
        """All that was shown so far. It comes in pieces that may end within a sign or a colour."""
        return plain(self._bytes.decode(errors="replace"))

    def until(self, text: str) -> None:
        """Wait until this was shown, after all that was waited for before."""
        end = time.monotonic() + 60
        while text not in self.shown[self._read :]:
            assert time.monotonic() < end, f"{text!r} never came: {self.shown!r}"
            if not select.select([self._screen], [], [], 0.1)[0]:
                continue
            try:
                seen = os.read(self._screen, 65536)
            except OSError:
                seen = b""
            assert seen, f"it ended without {text!r}: {self.shown!r}"
            self._bytes += seen
        self._read = self.shown.index(text, self._read) + len(text)

    def answer(self, question: str, keys: str) -> None:
        self.until(question)
        os.write(self._screen, keys.encode() + b"\n")

    def leave(self) -> int:
        """Read on to the end; its exit code."""
        try:
            while seen := os.read(self._screen, 65536):
                self._bytes += seen
        except OSError:
            pass
        return self._process.wait(60)

    def __enter__(self) -> Screen:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._screen)


def test_a_terminal_is_asked_before_a_bulk_decision(dibs: Run) -> None:
    ids = [bury(dibs, "t", "no") for _ in range(2)]
    with Screen("dlq", "retry", "--all") as screen:
        screen.answer("Retry 2 dead letters? [y/N]", "n")
        assert screen.leave() == 3
    assert task(dibs, ids[0])["status"] == "dead_lettered"
    with Screen("dlq", "retry", "--all") as screen:
        screen.answer("Retry 2 dead letters? [y/N]", "y")
        assert screen.leave() == 0
    assert {task(dibs, id)["status"] for id in ids} == {"ready"}


def test_review_walks_the_groups_and_records_each_decision(dibs: Run, tmp_path: Path) -> None:
    many = [bury(dibs, "many", f"row {number} is bad") for number in range(4)]
    later, dropped, handed, kept = (bury(dibs, type, "no") for type in ("a", "b", "c", "d"))
    with Screen("dlq", "review", "--by", "grace", "--export", cwd=tmp_path) as screen:
        screen.until("4 × many")
        screen.until("row 3 is bad")
        screen.answer("what now?", "r")
        screen.until("4 retried")
        # Of equal groups the one that grew last comes first.
        screen.until("1 × d")
        screen.answer("what now?", "k")
        screen.answer("a note?", "known")
        screen.until("1 × c")
        screen.answer("what now?", "e")
        screen.answer("to whom?", "team:payments")
        screen.answer("what shall they decide?", "Is it paid?")
        screen.answer("a note?", "")
        screen.until("1 × b")
        screen.answer("what now?", "d")
        screen.answer("a note?", "`gone` *now*")
        screen.until("1 × a")
        screen.answer("what now?", "l")
        screen.answer("in how long?", "10m")
        screen.until("8 decided about")
        assert screen.leave() == 0
    assert {task(dibs, id)["status"] for id in many} == {"ready"}
    assert [task(dibs, id)["status"] for id in (later, dropped, handed, kept)] == [
        "scheduled",
        "cancelled",
        "dead_lettered",
        "dead_lettered",
    ]
    assert [resolutions(dibs, id) for id in (later, dropped, handed, kept)] == [
        ["retried"],
        ["dropped"],
        ["escalated"],
        ["kept"],
    ]
    assert task(dibs, handed)["reviews"][0]["to"] == "team:payments"
    [asked] = dibs("inbox", "--json", ok=True).json
    assert (asked["id"], asked["question"]) == (task(dibs, handed)["reviews"][0]["question"], "Is it paid?")
    [file] = tmp_path.glob("dlq-review-20??-??-??.md")
    report = file.read_text(encoding="utf-8")
    for part in (
        "# Dead letters, reviewed 20",
        "## 1. 4 × many: retried",
        "decision: **kept**, by grace, 20",
        "escalated to team:payments",
        "question: Is it paid?",
        r"note: \`gone\` \*now\*",
        "decision: **retried**, in 10m, by grace",
        "- cost: $2\n",
        "      row 3 is bad",
        many[0],
    ):
        assert part in report, part


def test_review_goes_on_where_it_was_left(dibs: Run, tmp_path: Path) -> None:
    first = bury(dibs, "a", "one kind")
    second = bury(dibs, "b", "another")
    report = tmp_path / "report.md"
    with Screen("dlq", "review", "--export", str(report)) as screen:
        screen.until("1 × b")
        screen.answer("what now?", "d")
        screen.answer("a note?", "")
        screen.until("1 × a")
        screen.answer("what now?", "?")
        screen.until("[q]uit")
        screen.answer("what now?", "q")
        screen.until("1 decided about, 1 left to decide")
        assert screen.leave() == 0
    assert (task(dibs, first)["status"], task(dibs, second)["status"]) == ("dead_lettered", "cancelled")
    with Screen("dlq", "review", "--export", str(report)) as screen:
        screen.until("1 × a")
        screen.answer("what now?", "s")
        screen.until("0 decided about, 1 left to decide")
        assert screen.leave() == 0
    assert "× b" not in screen.shown
    with Screen("dlq", "review", "--export", str(report)) as screen:
        screen.answer("what now?", "k")
        screen.answer("a note?", "")
        assert screen.leave() == 0
    written = report.read_text(encoding="utf-8")
    assert (written.count("# Dead letters"), written.count("× b: dropped"), written.count("× a: kept")) == (1, 1, 1)
    with Screen("dlq", "review") as screen:
        screen.until("0 decided about, 0 left to decide")
        assert screen.leave() == 0


def test_review_modifies_a_payload_in_the_editor_and_retries(dibs: Run, tmp_path: Path) -> None:
    ids = [bury(dibs, "t", "no", "--payload", '{"n": 1}') for _ in range(2)]
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import sys, pathlib\npath = pathlib.Path(sys.argv[1])\npath.write_text(path.read_text().replace('1', '2'))\n"
    )
    with Screen("dlq", "review", env={"EDITOR": f"{sys.executable} {editor}", "VISUAL": ""}) as screen:
        screen.until("2 × t")
        screen.answer("what now?", "m")
        screen.until("1 retried_modified")
        screen.until("1 × t")
        screen.answer("what now?", "q")
        assert screen.leave() == 0
    changed, other = task(dibs, ids[1]), task(dibs, ids[0])
    assert (changed["status"], changed["payload"]) == ("ready", {"n": 2})
    assert resolutions(dibs, ids[1]) == ["retried_modified"]
    assert (other["status"], other["payload"]) == ("dead_lettered", {"n": 1})


@pytest.mark.parametrize(
    ("editor", "complaint"),
    [("false", "false ended with 1"), ("no-such-editor", "cannot be run"), ("true", "nothing was changed")],
)
def test_review_asks_again_when_the_editor_gives_up(dibs: Run, editor: str, complaint: str) -> None:
    id = bury(dibs, "t", "no", "--payload", "1")
    with Screen("dlq", "review", env={"EDITOR": editor, "VISUAL": ""}) as screen:
        screen.answer("what now?", "m")
        screen.until(complaint)
        screen.answer("what now?", "l")
        screen.answer("in how long?", "soon")
        screen.until("delay must be")
        screen.answer("what now?", "q")
        assert screen.leave() == 0
    assert (task(dibs, id)["status"], task(dibs, id)["reviews"]) == ("dead_lettered", [])


def test_review_refuses_a_report_that_cannot_be_written_before_it_asks(dibs: Run, tmp_path: Path) -> None:
    bury(dibs, "t", "no")
    with Screen("dlq", "review", "--export", str(tmp_path)) as screen:
        assert screen.leave() == 2
    assert "cannot be written" in screen.shown
    assert "what now" not in screen.shown
