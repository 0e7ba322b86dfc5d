"""How `dibs budget ls`, `why`, `show` and `renew` tell of limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_a_budget_is_shown_in_money(dibs: Run) -> None:
    assert dibs("budget", "set", "type:code", 1, "--default-reserve", "0.6", ok=True).out == ""
    first = dibs("add", "code", ok=True).line
    second = dibs("add", "code", ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    dibs("claim", "--agent", "bob")
    line = dibs("budget", "ls", ok=True).line
    assert line.split("\t") == ["type:code", "$1.00", "$0.40", "$0.00", "$0.60", "$0.60", "1"]
    assert "dibs budget raise type:code 0.2" in dibs("why", second, ok=True).out
    dibs("complete", first, "--fence", 1, ok=True)
    assert "≥ $0.60, 1 unpriced" in dibs("budget", "ls", ok=True).out


def test_a_budget_per_day(dibs: Run) -> None:
    dibs("budget", "set", "type:code", 5, "--per", "day", "--tz", "Europe/Berlin", ok=True)
    assert dibs("budget", "ls", ok=True).line.split("\t")[:2] == ["type:code", "$5.00 a day"]
    for _ in range(2):
        task = dibs("add", "code", "--max-cost", "4", ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    dibs("claim", "--agent", "bob")
    assert "00:00 Europe/Berlin" in dibs("why", task, ok=True).out


def test_other_units_are_named_as_such(dibs: Run) -> None:
    dibs("budget", "set", "global", 1234, "--unit", "tokens", ok=True)
    assert "1,234 tokens" in dibs("budget", "ls", ok=True).out


def test_a_renewal_says_when_a_task_is_over_its_limit(dibs: Run) -> None:
    task = dibs("add", "code", "--max-cost", "0.5", "--max-tokens", 10, "--max-turns", 3, ok=True).line
    assert "$0.50, 10 tokens, 3 turns" in dibs("show", task, ok=True).out
    dibs("claim", "--agent", "ada", ok=True)
    assert dibs("renew", task, "--fence", 1, "--cost", "0.5", ok=True).out == ""
    assert dibs("renew", task, "--fence", 1, "--cost", "0.6", ok=True).line == "exceeded max_cost"
