"""Tasks that go together, from the shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_one_claim_takes_the_group_and_its_members_are_completed_one_by_one(dibs: Run) -> None:
    ids = [dibs("add", "note", "--coalesce", "room", "--window", "0", ok=True).line for _ in range(3)]
    claim = dibs("claim", "--agent", "ada", ok=True).json
    assert [claim["task"]["id"], *(member["task"]["id"] for member in claim["group"])] == ids
    for member in [claim, *claim["group"]]:
        dibs("complete", member["task"]["id"], "--fence", member["fence"], ok=True)
    assert dibs("claim", "--agent", "ada").code == 3
    assert len(dibs("ls", "--status", "completed", "--json", ok=True).json["items"]) == 3


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
