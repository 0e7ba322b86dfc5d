"""dibs locks, dibs slots, and adding tasks that need locks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_locks_shows_who_holds_what(dibs: Run) -> None:
    assert dibs("locks", "--json", ok=True).json == []
    first = dibs("add", "code", "--lock", "repo:myapp", "--lock", "gpu", ok=True).line
    second = dibs("add", "code", "--lock", "repo:myapp", ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    assert dibs("claim", "--agent", "bob").code == 3
    gpu, repo = dibs("locks", "--json", ok=True).json
    assert (gpu["name"], gpu["waiting"], repo["name"], repo["waiting"]) == ("gpu", 0, "repo:myapp", 1)
    assert [holder["task_id"] for holder in repo["holders"]] == [first]
    shown = dibs("locks", ok=True).out
    assert first in shown
    assert "ada" in shown
    assert "held by" in dibs("why", second, ok=True).out
    assert dibs("show", second, "--json", ok=True).json["parked_on"] == "repo:myapp"


def test_slots_lets_more_in(dibs: Run) -> None:
    for _ in range(2):
        dibs("add", "train", "--lock", "gpu", ok=True)
    assert dibs("slots", "gpu", 2, "--json", ok=True).json["slots"] == 2
    dibs("claim", "--agent", "ada", ok=True)
    dibs("claim", "--agent", "bob", ok=True)


def test_a_lock_must_have_a_name_and_at_least_one_slot(dibs: Run) -> None:
    wrong = dibs("slots", "gpu", 0, "--json")
    assert (wrong.code, wrong.error["field"]) == (2, "slots")
    wrong = dibs("slots", "", 1, "--json")
    assert (wrong.code, wrong.error["field"]) == (2, "name")
    wrong = dibs("add", "code", "--lock", "", "--json")
    assert (wrong.code, wrong.error["field"]) == (2, "locks")


def test_slots_of_a_type_let_so_many_run(dibs: Run) -> None:
    made = dibs("slots", "--type", "render", 1, "--json", ok=True).json
    assert made == {"type": "render", "slots": 1, "held": 0}
    first = dibs("add", "render", ok=True).line
    second = dibs("add", "render", ok=True).line
    assert dibs("gates", "--json", ok=True).json == []
    dibs("claim", "--agent", "ada", ok=True)
    assert dibs("claim", "--agent", "bob").code == 3
    [gate] = dibs("gates", "--json", ok=True).json
    assert (gate["gate"], gate["kind"], gate["reason"]) == ("slots:render", "slots", "1 of 1 tasks of this type run")
    assert "1 of 1 tasks of this type run" in dibs("gates", ok=True).out
    assert "dibs slots --type render 2" in dibs("why", second, ok=True).out
    [lane] = dibs("lanes", "--json", ok=True).json
    assert (lane["slots"], lane["held"]) == (1, 1)
    assert dibs("lanes", ok=True).line.endswith("\t1 of 1")
    dibs("complete", first, "--fence", 1, ok=True)
    dibs("claim", "--agent", "bob", ok=True)
    assert dibs("slots", "--type", "render", "any", "--json", ok=True).json is None
    assert dibs("gates", "--json", ok=True).json == []


def test_slots_need_a_lock_or_a_type_and_a_number(dibs: Run) -> None:
    for arguments, field in (
        (("--type", "render", 0), "slots"),
        (("--type", "", 1), "type"),
        (("--type", "render", "some"), "slots"),
        (("gpu", 1, "--type", "render"), "type"),
        (("gpu", "any"), "slots"),
        ((1,), "name"),
        (("--type", "render"), "slots"),
    ):
        wrong = dibs("slots", *arguments, "--json")
        assert (wrong.code, wrong.error["field"]) == (2, field), arguments
    assert dibs("locks", "--json", ok=True).json == []
