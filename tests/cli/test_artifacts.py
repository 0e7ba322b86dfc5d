"""dibs artifact: put, get, ls and sweep."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Run

CONTENT = os.urandom(100_000)
DIGEST = f"sha256:{sha256(CONTENT).hexdigest()}"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DIBS_ARTIFACTS", f"file:{tmp_path}/kept")


def held(dibs: Run) -> tuple[str, str]:
    """A task that ada holds, and its dag."""
    dibs("add", "research", ok=True)
    task = dibs("claim", "--agent", "ada", ok=True).json["task"]
    return task["id"], task["dag_id"]


def test_a_file_is_put_listed_and_got_back(dibs: Run, tmp_path: Path) -> None:
    Path("report.md").write_bytes(CONTENT)
    task, dag = held(dibs)
    put = dibs("artifact", "put", task, "--fence", 1, "report", "report.md", "--media-type", "text/markdown", ok=True)
    assert put.line == DIGEST
    for target in (task, dag):
        [listed] = dibs("artifact", "ls", target, "--json", ok=True).json
        assert (listed["name"], listed["digest"], listed["size"]) == ("report", DIGEST, len(CONTENT))
        assert (listed["media_type"], listed["task_id"]) == ("text/markdown", task)
        shown = dibs("artifact", "ls", target, ok=True).out.rstrip("\n").split("\t")
        assert shown[:5] == ["report", str(len(CONTENT)), "text/markdown", DIGEST, task]
    for number, ref in enumerate(([DIGEST], [f"task:{task}:artifact:report"], ["artifact:report", "--dag", dag])):
        got = dibs("artifact", "get", *ref, "-o", f"out{number}", "--json", ok=True).json
        assert got == {"file": f"out{number}", "digest": DIGEST, "size": len(CONTENT)}
        assert Path(f"out{number}").read_bytes() == CONTENT
    assert f"report ({len(CONTENT):,} bytes)" in dibs("show", task, ok=True).out
    assert dibs("show", task, "--json", ok=True).json["artifacts"] == [listed]
    assert not list(tmp_path.glob("*.part"))


def test_bytes_come_from_standard_input_and_go_to_standard_output(dibs: Run, shell: Run) -> None:
    task, _ = held(dibs)
    put = shell("artifact", "put", task, "--fence", 1, "notes", "-", "--json", stdin=b"first\nsecond\n")
    assert put.json["size"] == 13
    assert shell("artifact", "get", put.json["digest"]).out == "first\nsecond\n"


@pytest.mark.parametrize(
    ("argv", "code", "field"),
    [
        (["put", "TASK", "--fence", 2, "a", "here"], 5, "fence"),
        (["put", "task_nobody", "--fence", 1, "a", "here"], 4, "task_id"),
        (["put", "TASK", "a", "here"], 2, "fence"),
        (["put", "TASK", "--fence", 1, "a"], 2, "file"),
        (["put", "TASK", "--fence", 1, "", "here"], 2, "name"),
        (["put", "TASK", "--fence", 1, "a", "nothing"], 2, "data"),
        (["put", "TASK", "--fence", 1, "a", "."], 2, "data"),
        (["put", "TASK", "--fence", 1, "a", "here", "--media-type", "text"], 2, "media_type"),
        (["get", "nonsense", "-o", "out"], 2, "ref"),
        (["get", "artifact:a", "-o", "out"], 2, "dag"),
        (["get", "task:TASK:artifact:a", "-o", "out"], 4, "ref"),
        (["get", DIGEST, "-o", "out"], 4, "ref"),
        (["get", DIGEST], 2, "output"),
        (["get"], 2, "ref"),
        (["ls", "task_nobody"], 4, "task_id"),
        (["ls", "dag_nobody"], 4, "dag_id"),
        (["sweep", "--older-than", "1m"], 2, "older_than"),
    ],
)
def test_what_is_wrong_is_named_and_changes_nothing(
    dibs: Run, snapshot: Callable[[], Any], argv: list[Any], code: int, field: str
) -> None:
    Path("here").write_bytes(b"x")
    task, _ = held(dibs)
    before = snapshot()
    wrong = dibs("artifact", *[str(word).replace("TASK", task) for word in argv], "--json")
    assert (wrong.code, wrong.error["field"]) == (code, field)
    assert snapshot() == before
    assert not Path("out").exists()


def test_a_file_that_cannot_be_written_is_named(dibs: Run) -> None:
    Path("here").write_bytes(b"x")
    task, _ = held(dibs)
    digest = dibs("artifact", "put", task, "--fence", 1, "a", "here", ok=True).line
    wrong = dibs("artifact", "get", digest, "-o", "no/such/folder", "--json")
    assert (wrong.code, wrong.error["field"]) == (2, "output")


def test_damaged_bytes_make_no_file(dibs: Run, tmp_path: Path) -> None:
    Path("here").write_bytes(b"x")
    task, _ = held(dibs)
    digest = dibs("artifact", "put", task, "--fence", 1, "a", "here", ok=True).line
    [blob] = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    blob.write_bytes(b"y")
    assert dibs("artifact", "get", digest, "-o", "out", "--json").code == 6
    assert not list(tmp_path.glob("out*"))


def test_a_sweep_says_what_it_deleted(dibs: Run) -> None:
    assert dibs("artifact", "sweep", ok=True).out == "0 deleted, 0 bytes\n"
    assert dibs("artifact", "sweep", "--older-than", "2h", "--json", ok=True).json == {
        "deleted": 0,
        "bytes": 0,
        "kept": 0,
    }


def test_a_task_may_be_added_with_references(dibs: Run) -> None:
    task, _ = held(dibs)
    dibs("complete", task, "--fence", 1, "--output", "[42]", ok=True)
    dibs("add", "code", "--context", f'{{"refs": ["task:{task}:output"]}}', ok=True)
    assert dibs("claim", "--agent", "ada", ok=True).json["context"] == {"refs": {f"task:{task}:output": [42]}}
