"""Large values from the shell, and what `dibs doctor` says of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run

LARGE = "x" * 100_000


@pytest.fixture(autouse=True)
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DIBS_ARTIFACTS", raising=False)
    Path("large.json").write_text(json.dumps({"text": LARGE}))


@pytest.mark.parametrize("place", [None, "file:kept"])
def test_large_values_look_the_same_and_lists_name_them(
    dibs: Run, place: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place:
        monkeypatch.setenv("DIBS_ARTIFACTS", place)
    id = dibs("add", "job", "--payload", "@large.json", ok=True).line
    claim = dibs("claim", "--agent", "ada", ok=True).json
    assert claim["task"]["payload"] == {"text": LARGE}
    dibs("complete", id, "--fence", "1", "--output", "@large.json", ok=True)
    shown = dibs("show", id, "--json", ok=True).json
    assert (shown["payload"], shown["output"], shown["artifacts"]) == ({"text": LARGE}, {"text": LARGE}, [])
    [listed] = dibs("ls", "--json", ok=True).json["items"]
    assert listed["payload"] == {"ref": f"task:{id}:payload"}
    assert listed["output"] == {"ref": f"task:{id}:output"}
    assert Path("kept").exists() == bool(place)
    dibs("export", "out", ok=True)
    [written] = json.loads(Path("out/queue/completed.json").read_text())["tasks"]
    assert written["result"]["output"] == {"text": LARGE}


def test_what_cannot_be_read_is_unavailable_and_says_what_to_do(dibs: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIBS_ARTIFACTS", "file:kept")
    id = dibs("add", "job", "--payload", "@large.json", ok=True).line
    monkeypatch.delenv("DIBS_ARTIFACTS")
    told = dibs("claim", "--agent", "ada", "--json")
    assert (told.code, told.out, told.error["field"]) == (6, "", "artifacts")
    assert "DIBS_ARTIFACTS" in told.error["message"]
    assert dibs("show", id).code == 6
    assert dibs("ls", "--status", "retrying", ok=True).out.startswith(id)


def test_doctor_says_where_large_values_go_and_looks_there(dibs: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    dibs("add", "job", ok=True)
    assert dibs("doctor", "--json", ok=True).json["large_values"] == "in the store"
    assert "large values\tin the store" in dibs("doctor", ok=True).out
    monkeypatch.setenv("DIBS_ARTIFACTS", "file:kept")
    assert dibs("doctor", "--json", ok=True).json["large_values"] == f"file:{Path.cwd()}/kept"
    monkeypatch.setenv("DIBS_ARTIFACTS", "file:/dev/null/nothing")
    told = dibs("doctor", "--json")
    assert (told.code, told.json["sound"], told.json["large_values"]) == (6, False, None)
    assert "cannot be reached" in told.json["findings"][0]
    monkeypatch.setenv("DIBS_ARTIFACTS", "ftp://nowhere")
    assert dibs("doctor", "--json").code == 6
