"""dibs rate ls, set and rm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_a_rate_is_set_shown_and_removed(dibs: Run) -> None:
    assert dibs("rate", "ls", "--json", ok=True).json == []
    made = dibs("rate", "set", "call", "2/hour", "--burst", 1, "--json", ok=True).json
    assert (made["type"], made["amount"], made["per_s"], made["burst"], made["left"]) == ("call", 2, 3600.0, 1, 1)
    for _ in range(2):
        task = dibs("add", "call", ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    assert dibs("claim", "--agent", "bob").code == 3
    line = dibs("rate", "ls", ok=True).line
    assert line.split("\t")[:4] == ["call", "2/hour", "1", "0"]
    [gate] = dibs("gates", "--json", ok=True).json
    assert (gate["gate"], gate["kind"]) == ("rate:call", "rate")
    assert "its rate is 2/hour" in dibs("why", task, ok=True).out
    assert dibs("rate", "rm", "call", "--json", ok=True).json["amount"] == 2
    assert dibs("rate", "ls", "--json", ok=True).json == []
    dibs("claim", "--agent", "bob", ok=True)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (("set", "call", "fast"), "rate"),
        (("set", "call", "0/min"), "rate"),
        (("set", "call", "1/min", "--burst", 0), "burst"),
        (("set", "", "1/min"), "type"),
        (("set", "call"), "rate"),
        (("rm", ""), "type"),
    ],
)
def test_what_is_no_rate_is_refused(dibs: Run, arguments: tuple[object, ...], field: str) -> None:
    dibs("add", "call", ok=True)
    wrong = dibs("rate", *arguments, "--json")
    assert (wrong.code, wrong.error["field"]) == (2, field)
    assert dibs("rate", "ls", "--json", ok=True).json == []
