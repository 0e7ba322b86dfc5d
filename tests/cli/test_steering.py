"""Cancel, retry, priority, link, dead letters; and looking after the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def dead_letter(dibs: Run, type: str = "t") -> str:
    """A task that has run out of attempts."""
    id = dibs("add", type, ok=True).line
    dibs("claim", "--agent", "a", "--type", type, ok=True)
    dibs("fail", id, "--fence", 1, "--error", "boom", "--no-retry", ok=True)
    return id


def test_cancel_prints_all_that_it_ended(dibs: Run) -> None:
    first = dibs("add", "t", ok=True).line
    second = dibs("add", "t", "--after", first, ok=True).line
    assert dibs("cancel", first, "--reason", "not needed", ok=True).out.splitlines() == [first, second]
    assert dibs("cancel", first, "--json", ok=True).json == []
    assert dibs("show", first, "--json", ok=True).json["cancel_reason"] == "not needed"


def test_retry_gives_a_dead_letter_a_new_life(dibs: Run) -> None:
    id = dead_letter(dibs)
    task = dibs("retry", id, "--payload", '{"n": 2}', "--json", ok=True).json
    assert (task["status"], task["attempts"], task["payload"]) == ("ready", 0, {"n": 2})
    again = dibs("retry", id, "--json")
    assert (again.code, again.error["code"]) == (5, "illegal_transition")


def test_retry_with_a_delay_is_scheduled(dibs: Run) -> None:
    assert dibs("retry", dead_letter(dibs), "--delay", "5m", ok=True).line == "scheduled"


def test_priority_changes_who_comes_first(dibs: Run) -> None:
    dibs("add", "t", ok=True)
    second = dibs("add", "t", ok=True).line
    assert dibs("priority", second, 10, "--json", ok=True).json["priority"] == 10
    assert dibs("claim", "--agent", "a", ok=True).json["task"]["id"] == second


def test_link_makes_a_task_wait_and_refuses_cycles(dibs: Run) -> None:
    first, second = dibs("add", "t", ok=True).line, dibs("add", "t", ok=True).line
    assert dibs("link", second, "--after", first, "--json", ok=True).json["status"] == "pending"
    cycle = dibs("link", first, "--after", second, "--json")
    assert (cycle.code, cycle.error["code"]) == (5, "cycle_detected")


def test_dlq_lists_and_retries(dibs: Run) -> None:
    one, two, three = dead_letter(dibs), dead_letter(dibs), dead_letter(dibs, "u")
    assert [row.split("\t")[0] for row in dibs("dlq", "ls", ok=True).out.splitlines()] == [three, two, one]
    assert dibs("dlq", "ls", "--type", "u", ok=True).line.split("\t")[6:] == ["boom", "", ""]
    assert len(dibs("dlq", "ls", "--json", ok=True).json["items"]) == 3
    assert dibs("dlq", "retry", one, ok=True).out.splitlines() == [one]
    assert dibs("dlq", "retry", one).code == 5
    assert dibs("dlq", "retry", "--all", "--type", "t", "--yes", ok=True).out.splitlines() == [two]
    assert dibs("dlq", "retry", "--all", "--yes", "--json", ok=True).json[0]["id"] == three
    assert dibs("dlq", "retry", "--all", ok=True).out == ""
    assert dibs("dlq", "retry").code == 2
    assert dibs("dlq", "retry", one, "--all").code == 2


def test_doctor_finds_a_sound_store_sound(dibs: Run, url: str) -> None:
    dead_letter(dibs)
    report = dibs("doctor", "--json", ok=True).json
    assert (report["sound"], report["findings"], report["url"]) == (True, [], url)
    assert "dlq ls" in report["warnings"][0]
    assert report["agents"][0]["id"] == "a"
    assert "the store is sound" in dibs("doctor", ok=True).out


def test_doctor_says_what_is_wrong_with_a_file_that_is_not_ours(dibs: Run, url: str) -> None:
    with open(url.removeprefix("sqlite:"), "w") as file:
        file.write("this is not a database, and long enough for SQLite to notice that it is none" * 20)
    report = dibs("doctor", "--json")
    assert (report.code, report.json["sound"]) == (6, False)
    assert dibs("doctor").code == 6
    added = dibs("add", "t", "--json")
    assert (added.code, added.error["code"]) == (6, "unavailable")


def test_upgrade_and_doctor_say_the_version_of_the_file(dibs: Run, url: str) -> None:
    dibs("add", "work", ok=True)
    version = apsw.Connection(url.removeprefix("sqlite:")).pragma("user_version")
    assert version >= 1
    assert dibs("upgrade", "--json", ok=True).json == {"url": url, "version": version}
    assert dibs("upgrade", ok=True).line == f"{url} is up to date: schema version {version}"
    assert dibs("doctor", "--json", ok=True).json["version"] == version
    assert f"schema\tversion {version}" in dibs("doctor", ok=True).out


def test_prune_says_how_many(dibs: Run) -> None:
    assert dibs("prune", "--json", ok=True).json == {"pruned": 0}
    assert dibs("prune", ok=True).line == "0 tasks deleted"


def test_doctor_warns_of_too_many_lanes(dibs: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.cli.commands.tend.MANY_LANES", 2)
    for type in ("a", "b", "c"):
        dibs("add", type, ok=True)
    report = dibs("doctor", "--json", ok=True).json
    assert (report["sound"], report["lanes"]) == (True, 3)
    assert "3 lanes" in report["warnings"][0]


def test_doctor_tells_what_the_store_finds_wrong(dibs: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(_: object) -> list[str]:
        return ["An edge leads nowhere."]

    dibs("add", "work", ok=True)
    monkeypatch.setattr("dibs.stores.sqlite.SqliteStore.check", check)
    report = dibs("doctor", "--json")
    assert (report.code, report.json["sound"], report.json["findings"]) == (6, False, ["An edge leads nowhere."])
    shown = dibs("doctor")
    assert (shown.code, "✗ An edge leads nowhere." in shown.out) == (6, True)
    assert "the store is sound" not in shown.out


def test_doctor_says_what_to_do_where_there_is_no_store(dibs: Run, tmp_path: Path) -> None:
    where = f"sqlite:{tmp_path / 'missing' / 'x.db'}"
    report = dibs("doctor", "--url", where, "--json")
    assert (report.code, report.json["sound"]) == (6, False)
    shown = dibs("doctor", "--url", where)
    assert shown.code == 6
    assert "no store" in shown.out
    assert "`dibs add` makes it, or name another with --url" in shown.out
    assert not (tmp_path / "missing").exists()


def test_a_task_is_given_to_somebody_else(dibs: Run) -> None:
    task = dibs("add", "code", "--assignee", "ada", ok=True).line
    assert dibs("claim", "--agent", "bob").code == 3
    given = dibs("--json", "reassign", task, "bob", ok=True).json
    assert (given["id"], given["assignee"]) == (task, "bob")
    assert dibs("reassign", task, "--anybody", ok=True).out == ""
    assert dibs("claim", "--agent", "carol").code == 0
    assert dibs("reassign", task, "bob").code == 5
    assert dibs("reassign", "task_nobody", "bob").code == 4


@pytest.mark.parametrize("wrong", [[], ["bob", "--anybody"], [""]])
def test_it_must_be_said_whom_a_task_is_for(dibs: Run, wrong: list[str]) -> None:
    task = dibs("add", "code", "--assignee", "ada", ok=True).line
    told = dibs("--json", "reassign", task, *wrong)
    assert (told.code, told.error["field"]) == (2, "assignee")
    assert dibs("--json", "show", task, ok=True).json["assignee"] == "ada"
