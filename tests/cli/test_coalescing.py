"""Tasks that go together, from the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Run


def test_one_claim_takes_the_group_and_its_members_are_completed_one_by_one(dibs: Run) -> None:
    ids = [dibs("add", "note", "--coalesce", "room", "--window", "0", ok=True).line for _ in range(3)]
    claim = dibs("claim", "--agent", "ada", ok=True).json
    assert [claim["task"]["id"], *(member["task"]["id"] for member in claim["group"])] == ids
    for member in [claim, *claim["group"]]:
        dibs("complete", member["task"]["id"], "--fence", member["fence"], ok=True)
    assert dibs("claim", "--agent", "ada").code == 3
    assert len(dibs("ls", "--status", "completed", "--json", ok=True).json["items"]) == 3


def claimed(dibs: Run, path: Path, count: int = 3, *options: str) -> list[str]:
    """A group that ada holds; what the claim printed is in the file."""
    ids = [dibs("add", "note", "--coalesce", "room", "--window", "0", *options, ok=True).line for _ in range(count)]
    path.write_text(dibs("claim", "--agent", "ada", ok=True).out)
    return ids


@pytest.mark.parametrize(
    ("verb", "status"),
    [
        (("complete", "--output", '"sent"'), "completed"),
        (("fail", "--error", "no network"), "retrying"),
        (("fail", "--error", "no network", "--no-retry"), "dead_lettered"),
        (("release", "--delay", "5m"), "retrying"),
        (("release",), "ready"),
    ],
    ids=" ".join,
)
def test_a_group_ends_together(dibs: Run, tmp_path: Path, verb: tuple[str, ...], status: str) -> None:
    ids = claimed(dibs, tmp_path / "claim.json")
    ended = dibs(*verb, "--group", f"@{tmp_path / 'claim.json'}", ok=True)
    assert [line.split("\t") for line in ended.out.splitlines()] == [[id, status] for id in ids]
    again = dibs(*verb, "--group", f"@{tmp_path / 'claim.json'}", "--json", ok=True).json
    assert [(each["task_id"], each["status"]) for each in again] == [(id, status) for id in ids]
    assert {dibs("show", id, "--json", ok=True).json["status"] for id in ids} == {status}


def test_what_a_group_used_is_counted_once(dibs: Run, tmp_path: Path) -> None:
    ids = claimed(dibs, tmp_path / "claim.json")
    used = ("--cost", "0.5", "--tokens-in", "10", "--tokens-cached", "4")
    dibs("complete", "--group", f"@{tmp_path / 'claim.json'}", *used, ok=True)
    tasks = [dibs("show", id, "--json", ok=True).json for id in ids]
    assert [(task["cost_usd"], task["tokens_in"]) for task in tasks] == [(0.5, 10), (0, 0), (0, 0)]


def test_a_group_may_come_from_standard_input(dibs: Run, shell: Run, tmp_path: Path) -> None:
    claimed(dibs, tmp_path / "claim.json", 2)
    ended = shell("complete", "--group", "-", stdin=(tmp_path / "claim.json").read_bytes())
    assert (ended.code, len(ended.out.splitlines())) == (0, 2)


def test_who_cannot_end_like_the_others_is_told_and_they_end(dibs: Run, tmp_path: Path) -> None:
    ids = claimed(dibs, tmp_path / "claim.json")
    dibs("cancel", ids[1], ok=True)
    ended = dibs("complete", "--group", f"@{tmp_path / 'claim.json'}")
    assert ended.code == 5
    assert ended.out.splitlines() == [f"{ids[0]}\tcompleted", f"{ids[1]}\tillegal_transition", f"{ids[2]}\tcompleted"]
    assert ended.err.startswith(f"dibs: 1 of 3 tasks did not end like this: Task {ids[1]} was cancelled")
    told = dibs("complete", "--group", f"@{tmp_path / 'claim.json'}", "--json")
    assert (told.code, told.json[1]["code"], told.error["code"]) == (5, "illegal_transition", "illegal_transition")


def test_an_output_that_is_not_what_they_expect_is_exit_2(dibs: Run, tmp_path: Path) -> None:
    ids = claimed(dibs, tmp_path / "claim.json", 2, "--expects", '{"validation": "regex", "pattern": "[0-9]+"}')
    ended = dibs("complete", "--group", f"@{tmp_path / 'claim.json'}", "--output", '"words"', "--json")
    assert (ended.code, ended.error["code"], ended.error["field"]) == (2, "invalid_output", "output")
    assert [each["outcome"] for each in ended.json] == ["rejected", "rejected"]
    assert f"dibs history {ids[0]}" in ended.error["message"]


@pytest.mark.parametrize(
    ("options", "field", "said"),
    [
        (("--group", "[]"), "group", "--group must be what `dibs claim` printed"),
        (("--group", "{}"), "group", "--group must be what `dibs claim` printed"),
        (("--group", '{"task": {"id": "t"}, "fence": 1, "group": [3]}'), "group", "--group must be what `dibs claim`"),
        (("--group", "{broken"), "group", "--group is not JSON"),
        (("--group", "@/nowhere.json"), "group", "--group: cannot read '/nowhere.json'"),
        (("--group", '{"task": {"id": "t"}, "fence": "one"}'), "fence", "--fence must be"),
        (("--group", "{}", "ID"), "group", "--group says which tasks: leave out ID and --fence."),
        (("--group", "{}", "--fence", "1"), "group", "--group says which tasks: leave out ID and --fence."),
        (("ID",), "fence", "--fence is missing"),
        (("--fence", "1"), "id", "ID is missing"),
        ((), "id", "ID and --fence are missing"),
    ],
    ids=str,
)
def test_a_group_that_was_not_claimed_is_refused(
    dibs: Run, tmp_path: Path, options: tuple[str, ...], field: str, said: str
) -> None:
    [id] = claimed(dibs, tmp_path / "claim.json", 1)
    for verb in (("complete",), ("fail", "--error", "no"), ("release",)):
        refused = dibs(*verb, *(id if part == "ID" else part for part in options), "--json")
        assert (refused.code, refused.out, refused.error["field"]) == (2, "", field), refused.err
        assert refused.error["message"].startswith(said)
    assert dibs("show", id, "--json", ok=True).json["status"] == "running"


def test_a_task_that_gathers_says_so(dibs: Run) -> None:
    task = dibs("add", "note", "--coalesce", "room", "--window", "30m", "--json", ok=True).json
    assert (task["status"], task["coalesce_key"]) == ("scheduled", "room")
    why = dibs("why", task["id"], "--json", ok=True).json
    assert [blocker["kind"] for blocker in why["blockers"]] == ["coalesce"]
    assert "others of its group (room)" in dibs("why", task["id"], ok=True).out
    assert "room" in dibs("show", task["id"], ok=True).out


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("coalesce_key", ("--coalesce", "")),
        ("coalesce_window", ("--window", "5s")),
        ("coalesce_window", ("--coalesce", "room", "--window", "soon")),
        ("coalesce_window", ("--coalesce", "room", "--window", "2h")),
    ],
)
def test_a_group_that_makes_no_sense_is_refused(dibs: Run, field: str, options: tuple[str, ...]) -> None:
    wrong = dibs("add", "note", *options, "--json")
    assert (wrong.code, wrong.error["field"]) == (2, field)
    assert dibs("ls", "--json", ok=True).json["items"] == []
