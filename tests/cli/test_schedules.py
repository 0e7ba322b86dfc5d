"""dibs schedule add, ls, show, pause, resume, rm and next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def test_a_schedule_is_added_shown_paused_and_removed(dibs: Run) -> None:
    assert dibs("schedule", "ls", "--json", ok=True).json == []
    cron = ("--cron", "30 2 * * MON-FRI", "--timezone", "Europe/Berlin")
    made = dibs("schedule", "add", "audit", *cron, "--type", "audit", "--payload", '{"deep": true}', ok=True)
    assert made.line == "audit"
    shown = dibs("schedule", "show", "audit", "--json", ok=True).json
    assert (shown["cron"], shown["timezone"], shown["made"]) == ("30 2 * * MON-FRI", "Europe/Berlin", 0)
    assert shown["task"] == {"type": "audit", "payload": {"deep": True}}
    assert "30 2 * * MON-FRI Europe/Berlin" in dibs("schedule", "show", "audit", ok=True).out
    line = dibs("schedule", "ls", ok=True).line.split("\t")
    assert (line[:3], line[-1]) == (["audit", "30 2 * * MON-FRI Europe/Berlin", "audit"], "waiting")
    assert dibs("schedule", "pause", "audit", "--json", ok=True).json["paused"]
    assert dibs("schedule", "ls", ok=True).line.endswith("paused")
    assert not dibs("schedule", "resume", "audit", "--json", ok=True).json["paused"]
    assert dibs("schedule", "rm", "audit", "--json", ok=True).json["name"] == "audit"
    gone = dibs("schedule", "show", "audit", "--json")
    assert (gone.code, gone.error["field"]) == (4, "name")


def test_times_to_come_are_shown_by_local_clocks(dibs: Run) -> None:
    dibs("schedule", "add", "audit", "--cron", "0 9 * * *", "--timezone", "Asia/Tokyo", "--type", "audit", ok=True)
    runs = dibs("schedule", "next", "audit", "--count", 3, "--json", ok=True).json
    assert len(runs) == 3
    assert all(run["local"].endswith("T09:00:00+09:00") for run in runs)
    lines = dibs("schedule", "next", "audit", "--count", 2, ok=True).out.splitlines()
    assert [line.split("\t")[0] for line in lines] == [run["local"] for run in runs[:2]]


def test_what_is_due_is_there_for_whoever_claims_next(dibs: Run) -> None:
    dibs("schedule", "add", "once", "--at", 0, "--task", '{"type": "tidy", "priority": 5}', ok=True)
    claim = dibs("claim", "--agent", "ada", "--json", ok=True).json
    assert (claim["task"]["type"], claim["task"]["priority"]) == ("tidy", 5)
    assert claim["task"]["created_by"] == "cron:once"
    assert dibs("schedule", "ls", ok=True).line.endswith("over")


def test_a_file_says_all_of_it(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "digest.yaml"
    file.write_text(
        "name: digest\nevery: 6h\noverlap: skip\ndag:\n  title: Digest\n  tasks:\n"
        "    - {ref: a, type: gather}\n    - {type: write, after: [a]}\n"
    )
    assert dibs("schedule", "add", "--file", file, ok=True).line == "digest"
    assert dibs("schedule", "add", "--file", file, "--json", ok=True).json["overlap"] == "skip"
    shown = dibs("schedule", "show", "digest", ok=True).out
    assert "every 21600s" in shown
    assert '"gather"' in shown
    other = dibs("schedule", "add", "--file", file, "--every", "1h", "--json")
    assert (other.code, other.error["code"]) == (5, "exists")
    assert (
        dibs("schedule", "add", "--file", file, "--every", "1h", "--replace", "--json", ok=True).json["every"] == 3600
    )
    assert dibs("schedule", "ls", ok=True).line.split("\t")[2] == "dag of 2"
    dag = tmp_path / "dag.yaml"
    dag.write_text("title: G\ntasks: [{type: a}]\n")
    assert dibs("schedule", "add", "g", "--every", 60, "--dag", dag, "--json", ok=True).json["dag"]["title"] == "G"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("a", "--type", "x"), "cron"),
        (("a", "--every", "1m"), "task"),
        (("a", "--every", "1m", "--cron", "* * * * *", "--type", "x"), "every"),
        (("a", "--cron", "nonsense", "--type", "x"), "cron"),
        (("a", "--cron", "* * * * *", "--timezone", "Nowhere", "--type", "x"), "timezone"),
        (("a", "--every", "soon", "--type", "x"), "every"),
        (("a", "--every", "1m", "--type", "x", "--missed", "perhaps"), "missed"),
        (("a", "--every", "1m", "--type", "x", "--overlap", "perhaps"), "overlap"),
        (("a", "--every", "1m", "--type", "x", "--payload", "{"), "payload"),
        (("a", "--every", "1m", "--task", "[]", "--title", "x"), "task"),
        (("a", "--every", "1m", "--task", '{"type": "x", "key": "k"}'), "key"),
        (("--every", "1m", "--type", "x"), "name"),
        (("a b", "--every", "1m", "--type", "x"), "name"),
    ],
)
def test_what_is_no_schedule_is_refused(dibs: Run, arguments: tuple[object, ...], field: str) -> None:
    wrong = dibs("schedule", "add", *arguments, "--json")
    assert (wrong.code, wrong.error["field"]) == (2, field)
    assert dibs("schedule", "ls", "--json", ok=True).json == []


def test_a_file_with_what_nobody_knows_is_refused(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    for content, field in (("- 1\n", "file"), ("every: 60\ncolour: red\n", "colour")):
        file.write_text(content)
        wrong = dibs("schedule", "add", "a", "--file", file, "--json")
        assert (wrong.code, wrong.error["field"]) == (2, field)
