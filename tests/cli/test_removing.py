"""Taking away what is not there. One rule for all: `rm` and `clear` name a thing, and it is not found (exit 4);
commands that bring about a state (close, reset, resume, drain …) find that it holds already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.cli.catalogue import NESTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Run

NOTHING = {
    "budget rm": ("type:nope",),
    "escalation clear": ("--type", "nope"),
    "hook rm": ("nope",),
    "rate rm": ("nope",),
    "report rm": ("nope",),
    "schedule rm": ("nope",),
    "trigger rm": ("nope",),
}
TAKES_AWAY = [
    f"{family} {name}" for family, members in NESTED.items() for name, _ in members if name in ("rm", "clear")
]


@pytest.mark.parametrize("command", TAKES_AWAY)
def test_what_is_not_there_is_not_found(dibs: Run, snapshot: Callable[[], Any], command: str) -> None:
    dibs("add", "t", ok=True)
    before = snapshot()
    line = [*command.split(), *NOTHING[command]]
    refused = dibs(*line, "--json")
    assert (refused.code, refused.out, refused.error["code"]) == (4, "", "not_found")
    told = dibs(*line)
    assert (told.code, told.out) == (4, "")
    family = command.partition(" ")[0]
    assert told.err.startswith(f"dibs: There is no {family} ")
    assert told.err.endswith(f"`dibs {family} ls` shows the ones there are.\n")
    assert snapshot() == before
