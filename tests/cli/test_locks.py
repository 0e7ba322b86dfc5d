"""How `dibs locks`, `gates`, `lanes` and `why` show what is held."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_locks_shows_who_holds_what(dibs: Run) -> None:
    first = dibs("add", "code", "--lock", "repo:myapp", ok=True).line
    second = dibs("add", "code", "--lock", "repo:myapp", ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    dibs("claim", "--agent", "bob")
    assert dibs("locks", ok=True).line.split("\t")[:5] == ["repo:myapp", "1/1", "1", first, "ada"]
    assert "held by" in dibs("why", second, ok=True).out


def test_slots_of_a_type_are_shown(dibs: Run) -> None:
    assert dibs("slots", "--type", "render", 1, ok=True).out == ""
    dibs("add", "render", ok=True)
    second = dibs("add", "render", ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    assert "1 of 1 tasks of this type run" in dibs("gates", ok=True).out
    assert "dibs slots --type render 2" in dibs("why", second, ok=True).out
    assert dibs("lanes", ok=True).line.endswith("\t1 of 1")
