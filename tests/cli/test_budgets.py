"""dibs budget ls, set, raise and rm, and tasks with limits of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_a_budget_is_made_shown_raised_and_removed(dibs: Run) -> None:
    assert dibs("budget", "ls", "--json", ok=True).json == []
    made = dibs("budget", "set", "type:code", 1, "--default-reserve", "0.6", "--json", ok=True).json
    assert (made["scope"], made["unit"], made["limit"], made["default_reserve"]) == ("type:code", "usd", 1.0, 0.6)
    first = dibs("add", "code", ok=True).line
    second = dibs("add", "code", ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    assert dibs("claim", "--agent", "bob").code == 3
    [shown] = dibs("budget", "ls", "--json", ok=True).json
    assert (shown["reserved"], shown["left"], shown["waiting"]) == (0.6, 0.4, 1)
    line = dibs("budget", "ls", ok=True).line
    assert line.split("\t") == ["type:code", "$1.00", "$0.40", "$0.00", "$0.60", "$0.60", "1"]
    assert "dibs budget raise type:code 0.2" in dibs("why", second, ok=True).out
    assert dibs("show", second, "--json", ok=True).json["parked_on"] == "budget:type:code:usd"
    assert dibs("budget", "raise", "type:code", "0.5", "--json", ok=True).json["limit"] == 1.5
    dibs("claim", "--agent", "bob", ok=True)
    dibs("complete", first, "--fence", 1, ok=True)
    assert "≥ $0.60, 1 unpriced" in dibs("budget", "ls", ok=True).out
    assert dibs("budget", "rm", "type:code", "--json", ok=True).json["unpriced"] == 1
    assert dibs("budget", "ls", "--json", ok=True).json == []


def test_an_agent_has_a_budget_of_its_own(dibs: Run) -> None:
    dibs("agents", "register", "ada", "--budget", "0.5", ok=True)
    [shown] = dibs("budget", "ls", "--json", ok=True).json
    assert (shown["scope"], shown["limit"]) == ("agent:ada", 0.5)
    task = dibs("add", "code", "--max-cost", "1", ok=True).line
    assert dibs("claim", "--agent", "ada").code == 3
    assert "dibs budget raise agent:ada 0.5" in dibs("why", task, ok=True).out
    dibs("budget", "set", "agent:ada", 1, ok=True)
    dibs("claim", "--agent", "ada", ok=True)


def test_a_budget_per_day(dibs: Run) -> None:
    made = dibs("budget", "set", "type:code", 5, "--per", "day", "--tz", "Europe/Berlin", "--json", ok=True).json
    assert (made["window"], made["timezone"]) == ("day", "Europe/Berlin")
    assert made["ends_at"] is not None
    assert dibs("budget", "ls", ok=True).line.split("\t")[:2] == ["type:code", "$5.00 a day"]
    task = dibs("add", "code", "--max-cost", "4", ok=True).line
    second = dibs("add", "code", "--max-cost", "4", ok=True).line
    assert dibs("claim", "--agent", "ada", "--json", ok=True).json["task"]["id"] == task
    assert dibs("claim", "--agent", "bob").code == 3
    assert "00:00 Europe/Berlin" in dibs("why", second, ok=True).out
    assert dibs("budget", "set", "type:code", 5, "--json", ok=True).json["window"] is None


def test_other_units_are_named_as_such(dibs: Run) -> None:
    dibs("budget", "set", "global", 1200, "--unit", "tokens", ok=True)
    dibs("budget", "raise", "global", 34, "--unit", "tokens", ok=True)
    assert "1,234 tokens" in dibs("budget", "ls", ok=True).out
    dibs("budget", "rm", "global", "--unit", "tokens", ok=True)


def test_a_renewal_says_when_a_task_is_over_its_limit(dibs: Run) -> None:
    task = dibs("add", "code", "--max-cost", "0.5", "--max-tokens", 10, "--max-turns", 3, ok=True).line
    assert "$0.50, 10 tokens, 3 turns" in dibs("show", task, ok=True).out
    dibs("claim", "--agent", "ada", ok=True)
    assert dibs("renew", task, "--fence", 1, "--cost", "0.5", ok=True).out == ""
    over = dibs("renew", task, "--fence", 1, "--cost", "0.6", ok=True)
    assert over.line == "exceeded max_cost"
    assert dibs("renew", task, "--fence", 1, "--json", ok=True).json["limits"] == {"exceeded": "max_cost"}
    ended = dibs("complete", task, "--fence", 1, "--output", "7", "--json", ok=True).json
    assert (ended["status"], ended["reason"], ended["output"]) == ("dead_lettered", "budget_exceeded", 7)


def test_what_is_over_a_budget_is_released_and_waits_for_more(dibs: Run) -> None:
    dibs("budget", "set", "type:code", "0.5", ok=True)
    task = dibs("add", "code", ok=True).line
    dibs("claim", "--agent", "ada", ok=True)
    assert dibs("renew", task, "--fence", 1, "--cost", "0.6", ok=True).line == "exceeded budget:type:code:usd"
    dibs("release", task, "--fence", 1, ok=True)
    assert dibs("claim", "--agent", "ada").code == 3
    shown = dibs("show", task, "--json", ok=True).json
    assert (shown["status"], shown["reason"], shown["parked_on"]) == (
        "ready",
        "budget_exceeded",
        "budget:type:code:usd",
    )
    assert "dibs budget raise type:code 0.7" in dibs("why", task, ok=True).out
    dibs("budget", "raise", "type:code", "0.7", ok=True)
    assert dibs("claim", "--agent", "ada", "--json", ok=True).json["task"]["id"] == task


@pytest.mark.parametrize(
    ("arguments", "code", "field"),
    [
        (("set", "planet", 1), 2, "scope"),
        (("set", "type:", 1), 2, "scope"),
        (("set", "agent:", 1), 2, "scope"),
        (("set", "global", -1), 2, "limit"),
        (("set", "global", 1, "--per", "week"), 2, "window"),
        (("set", "global", 1, "--tz", "UTC"), 2, "timezone"),
        (("set", "global", 1, "--per", "day", "--tz", "Mars"), 2, "timezone"),
        (("set", "global", 1, "--unit", "euro"), 2, "unit"),
        (("set", "global", 1, "--default-reserve", -1), 2, "default_reserve"),
        (("raise", "global", -1), 2, "amount"),
        (("raise", "global", 1), 4, "scope"),
        (("rm", "global"), 4, "scope"),
    ],
)
def test_what_makes_no_sense_is_refused(dibs: Run, arguments: tuple[object, ...], code: int, field: str) -> None:
    dibs("add", "code", ok=True)
    wrong = dibs("budget", *arguments, "--json")
    assert (wrong.code, wrong.error["field"]) == (code, field)
    assert dibs("budget", "ls", "--json", ok=True).json == []
