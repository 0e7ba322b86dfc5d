"""How schedules are shown, and what files say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def test_a_schedule_is_shown_in_words(dibs: Run) -> None:
    cron = ("--cron", "30 2 * * MON-FRI", "--timezone", "Europe/Berlin")
    assert dibs("schedule", "add", "audit", *cron, "--type", "audit", ok=True).line == "audit"
    assert "30 2 * * MON-FRI Europe/Berlin" in dibs("schedule", "show", "audit", ok=True).out
    line = dibs("schedule", "ls", ok=True).line.split("\t")
    assert (line[:3], line[-1]) == (["audit", "30 2 * * MON-FRI Europe/Berlin", "audit"], "waiting")
    dibs("schedule", "pause", "audit", ok=True)
    assert dibs("schedule", "ls", ok=True).line.endswith("paused")


def test_times_to_come_are_shown_by_local_clocks(dibs: Run) -> None:
    dibs("schedule", "add", "audit", "--cron", "0 9 * * *", "--timezone", "Asia/Tokyo", "--type", "audit", ok=True)
    runs = dibs("schedule", "next", "audit", "--count", 2, "--json", ok=True).json
    assert all(run["local"].endswith("T09:00:00+09:00") for run in runs)
    lines = dibs("schedule", "next", "audit", "--count", 2, ok=True).out.splitlines()
    assert [line.split("\t")[0] for line in lines] == [run["local"] for run in runs]


def test_a_schedule_that_made_all_it_will_is_over(dibs: Run) -> None:
    dibs("schedule", "add", "once", "--at", 0, "--type", "tidy", ok=True)
    dibs("claim", "--agent", "ada", ok=True)
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


def test_a_file_with_what_nobody_knows_is_refused(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    for content, field in (("- 1\n", "file"), ("every: 60\ncolour: red\n", "colour")):
        file.write_text(content)
        wrong = dibs("schedule", "add", "a", "--file", file, "--json")
        assert (wrong.code, wrong.error["field"]) == (2, field)
