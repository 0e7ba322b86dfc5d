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


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (("breaker", "close", "nope"), 0),
        (("breaker", "reset", "nope"), 0),
        (("slots", "--type", "nope", "any"), 0),
        # Also 0 would do; a script may want to know that nothing was opened.
        (("resume", "--type", "nope"), 3),
        (("resume", "--everything"), 3),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else str(value),
)
def test_a_state_that_holds_already_is_no_error(dibs: Run, line: tuple[str, ...], code: int) -> None:
    dibs("add", "t", ok=True)
    assert dibs(*line).code == code
    assert dibs(*line, "--json").err == ""


def test_who_is_unknown_can_be_neither_drained_nor_unregistered(dibs: Run) -> None:
    dibs("add", "t", ok=True)
    for verb in ("drain", "unregister"):
        refused = dibs("agents", verb, "nope", "--json")
        assert (refused.code, refused.error["field"]) == (4, "agent")
