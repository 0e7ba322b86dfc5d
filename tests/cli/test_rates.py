"""How `dibs rate ls` and `dibs why` show a rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_a_rate_is_shown_in_words(dibs: Run) -> None:
    assert dibs("rate", "set", "call", "2/hour", "--burst", 1, ok=True).out == ""
    for _ in range(2):
        task = dibs("add", "call", ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    assert dibs("rate", "ls", ok=True).line.split("\t")[:4] == ["call", "2/hour", "1", "0"]
    assert "its rate is 2/hour" in dibs("why", task, ok=True).out
    assert dibs("rate", "rm", "call", ok=True).out == ""
    assert dibs("rate", "ls", ok=True).out == ""
