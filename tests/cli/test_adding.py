"""`dibs add` from the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def test_add_prints_the_id_and_nothing_else(dibs: Run) -> None:
    added = dibs("add", "research")
    assert added.code == 0
    assert added.line.startswith("task_")
    assert added.err == ""


def test_add_with_json_prints_the_task(dibs: Run) -> None:
    task = dibs(
        *("add", "research", "What is CORS?", "--json", "--payload", '{"topic": "CORS"}', "--priority", 20),
        *("--requires", "web,python", "--tag", "a", "--tag", "b", "--max-attempts", 5, "--timeout", "5m"),
        *("--user", "ada", "--model", "m1", "--model", "m2", "--retry", "fixed:5s"),
        ok=True,
    ).json
    assert task["title"] == "What is CORS?"
    assert task["payload"] == {"topic": "CORS"}
    assert task["priority"] == 20
    assert sorted(task["requires"]) == ["python", "web"]
    assert task["tags"] == ["a", "b"]
    assert (task["max_attempts"], task["timeout"], task["user"]) == (5, 300, "ada")
    assert task["models"] == ["m1", "m2"]
    assert task["retry"]["strategy"] == "fixed"
    assert task["status"] == "ready"


def test_payload_comes_from_a_file_or_standard_input(dibs: Run, shell: Run, tmp_path: Path) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"n": 1}')
    assert dibs("add", "t", "--json", "--payload", f"@{file}", ok=True).json["payload"] == {"n": 1}
    assert shell("add", "t", "--json", "--payload", "-", stdin=b"[1, 2]").json["payload"] == [1, 2]


def test_the_same_key_answers_the_same_task(dibs: Run) -> None:
    first = dibs("add", "t", "--key", "k", "--payload", "1", ok=True).line
    assert dibs("add", "t", "--key", "k", "--payload", "1", ok=True).line == first
    again = dibs("add", "t", "--key", "k", "--payload", "2", "--json")
    assert (again.code, again.error["code"]) == (5, "key_reused")


def test_after_makes_it_wait_and_run_after_schedules_it(dibs: Run) -> None:
    first = dibs("add", "t", ok=True).line
    second = dibs("add", "t", "--after", first, "--json", ok=True).json
    assert (second["status"], second["depends_on"]) == ("pending", [first])
    ended = dibs("add", "t", "--after-ended", first, "--json", ok=True).json
    assert ended["status"] == "pending"
    assert dibs("add", "t", "--run-after", "10m", "--json", ok=True).json["status"] == "scheduled"
    assert dibs("add", "t", "--run-after", "600", "--json", ok=True).json["status"] == "scheduled"
    assert dibs("add", "t", "--deadline", "2h", "--json", ok=True).json["deadline"]


def test_url_and_json_may_stand_before_the_command(dibs: Run, tmp_path: Path) -> None:
    other = f"sqlite:{tmp_path / 'other.db'}"
    task = dibs("--url", other, "--json", "add", "t", ok=True).json
    assert dibs("show", task["id"], f"--url={other}").code == 0
    assert dibs("show", task["id"]).code == 4


def test_a_title_may_stand_behind_options(dibs: Run) -> None:
    id = dibs("add", "work", "--tag", "x", "Write the copy", "--priority", 3, ok=True).line
    task = dibs("show", id, "--json", ok=True).json
    assert (task["title"], task["tags"], task["priority"]) == ("Write the copy", ["x"], 3)
