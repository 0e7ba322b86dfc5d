"""`dibs migrate`: its steps, what it prints, and what it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


@pytest.fixture
def there(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'there.db'}"


def test_the_steps_move_everything_and_back(dibs: Run, url: str, there: str) -> None:
    task = dibs("add", "code", "Write it", "--payload", '{"a": 1}', ok=True).line
    report = dibs("migrate", "--from", url, "--to", there, "--json", ok=True).json
    assert (report["did"], report["tasks"], report["source_is"], report["target_is"]) == (
        "copied",
        1,
        "open",
        "filling",
    )
    claim = dibs("claim", "--agent", "ada", "--json", ok=True).json
    compared = dibs("migrate", "--from", url, "--to", there, "--shadow", "--json", ok=True).json["compared"]
    assert (compared["tasks"], compared["different"]) == (1, [])
    assert dibs("migrate", "--from", url, "--to", there, "--cutover", "--json", ok=True).json["did"] == "cut over"
    assert dibs("migrate", "--from", url, "--to", there, "--cutover", "--json", ok=True).json["did"] == "moved already"
    # Every command goes to where everything is.
    dibs("complete", task, "--fence", claim["fence"], "--output", '"done"', ok=True)
    assert dibs("show", task, "--json", "--url", there, ok=True).json["output"] == "done"
    assert dibs("migrate", "--from", url, "--to", there, "--rollback", "--json", ok=True).json["did"] == "rolled back"
    assert dibs("show", task, "--json", "--url", there, ok=True).json["output"] == "done"
    dibs("migrate", "--from", url, "--to", there, "--cutover", ok=True)
    assert dibs("migrate", "--from", url, "--to", there, "--finish", "--json", ok=True).json["did"] == "finished"
    refused = dibs("migrate", "--from", url, "--to", there, "--rollback", "--json")
    assert (refused.code, refused.error["code"]) == (5, "nothing_to_roll_back")


def test_the_default_store_is_what_is_moved(dibs: Run, there: str) -> None:
    dibs("add", "code", ok=True)
    shown = dibs("migrate", "--to", there, ok=True).out
    assert [line.split("\t")[1] for line in shown.splitlines() if " store" in line] == ["open", "filling"]
    assert "work.db" in shown


def test_follow_goes_on_until_it_is_interrupted(dibs: Run, url: str, there: str) -> None:
    dibs("add", "code", ok=True)
    command = [sys.executable, "-m", "dibs", "migrate", "--from", url, "--to", there, "--follow", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        task = ""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            shown = dibs("ls", "--json", "--url", there) if task else None
            if shown is not None and task in shown.out:
                break
            if not task and dibs("ls", "--json", "--url", there).out.count("task_"):
                task = dibs("add", "more", ok=True).line
            time.sleep(0.05)  # another process is at work
        assert task
        assert task in dibs("ls", "--json", "--url", there, ok=True).out
    finally:
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(out)["did"] == "followed"


@pytest.mark.parametrize(
    ("argv", "code", "field"),
    [
        (["--from", "{url}"], 2, "to"),
        (["--from", "{url}", "--to", "{url}"], 2, "to"),
        (["--from", "{url}", "--to", "nowhere:x"], 2, "to"),
        (["--from", "{url}", "--to", "http://host"], 2, "to"),
        (["--from", "nowhere:x", "--to", "{there}"], 2, "from"),
        (["--from", "sqlite:not/there.db", "--to", "{there}"], 2, "from"),
        (["--from", "memory:", "--to", "{there}"], 2, "from"),
        (["--from", "{url}", "--to", "memory:x"], 2, "to"),
        (["--from", "{url}", "--to", "{there}", "--follow", "--cutover"], 2, "cutover"),
        (["--from", "{url}", "--url", "{url}", "--to", "{there}"], 2, "url"),
        (["--from", "{url}", "--to", "{there}", "--rollback"], 5, None),
        (["--from", "{url}", "--to", "{there}", "--finish"], 5, None),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(
    dibs: Run, url: str, there: str, argv: list[str], code: int, field: str | None, snapshot: Any
) -> None:
    dibs("add", "code", ok=True)
    before = snapshot()
    refused = dibs("migrate", *(each.format(url=url, there=there) for each in argv), "--json")
    assert (refused.code, refused.error["field"]) == (code, field)
    assert snapshot() == before


def test_a_store_that_is_not_empty_is_not_filled(dibs: Run, url: str, there: str) -> None:
    dibs("add", "code", ok=True)
    dibs("add", "mine", "--url", there, ok=True)
    refused = dibs("migrate", "--from", url, "--to", there, "--json")
    assert (refused.code, refused.error["code"], refused.error["field"]) == (5, "not_empty", "to")
    assert [task["type"] for task in dibs("ls", "--json", "--url", there).json["items"]] == ["mine"]


def test_a_store_that_is_being_filled_says_so(dibs: Run, url: str, there: str) -> None:
    dibs("add", "code", ok=True)
    dibs("migrate", "--from", url, "--to", there, ok=True)
    refused = dibs("add", "code", "--url", there, "--json")
    assert (refused.code, refused.error["code"]) == (6, "filling")


def test_a_person_sees_how_far_it_is(dibs: Run, terminal: Run, url: str, there: str, tmp_path: Path) -> None:
    tasks = [{"type": "code", "ref": f"t{n}"} for n in range(1500)]
    (tmp_path / "dag.json").write_text(json.dumps({"title": "many", "tasks": tasks}))
    dibs("dag", "submit", tmp_path / "dag.json", ok=True)
    shown = terminal("migrate", "--from", url, "--to", there)
    assert shown.code == 0
    assert "1,500" in shown.out or "1500/1500" in shown.out
    assert "copied" in shown.out


def test_artifacts_are_taken_along(dibs: Run, url: str, there: str, tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    task = dibs("add", "code", ok=True).line
    fence = dibs("claim", "--agent", "ada", "--json", ok=True).json["fence"]
    (tmp_path / "notes.txt").write_text("what was found")
    dibs("artifact", "put", task, "notes.txt", tmp_path / "notes.txt", "--fence", fence, ok=True)
    report = dibs("migrate", "--from", url, "--to", there, "--cutover", "--json", ok=True).json
    assert (report["bytes_copied"], report["missing_bytes"]) == (14, [])
    for path in (tmp_path / "work.artifacts").rglob("*"):
        if path.is_file():
            path.unlink()
    assert dibs("artifact", "get", f"task:{task}:artifact:notes.txt", "--url", url, ok=True).out == "what was found"
