"""Agents and lanes as the shell lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_agents_are_listed_with_what_they_hold(dibs: Run) -> None:
    dibs("add", "job", ok=True)
    dibs("claim", "--agent", "scout", "--can", "web,git", ok=True)
    told = dibs("agents", "register", "coder-1", "--type", "coder", "--max-concurrent", 2, ok=True)
    assert told.line == "active"
    coder, scout = [row.split("\t") for row in dibs("agents", ok=True).out.splitlines()]
    assert coder[:5] == ["coder-1", "active", "coder", "0/2", "0%"]
    assert (scout[:5], scout[-1]) == (["scout", "active", "", "1", ""], "git, web")


def test_an_unregistered_agent_is_listed_only_with_all(dibs: Run) -> None:
    dibs("add", "job", ok=True)
    dibs("claim", "--agent", "me", ok=True)
    assert dibs("agents", "drain", "me", ok=True).line == "draining (1 task held)"
    dibs("agents", "unregister", "me", ok=True)
    assert dibs("agents", ok=True).out == ""
    assert dibs("agents", "ls", "--all", ok=True).line.startswith("me\toffline")


def test_lanes_say_what_nobody_can_do(dibs: Run) -> None:
    dibs("add", "job", ok=True)
    task = dibs("add", "render", "--requires", "gpu", ok=True).line
    dibs("agents", "register", "me", ok=True)
    rows = [row.split("\t") for row in dibs("lanes", ok=True).out.splitlines()]
    assert [(row[0], row[1], row[3], row[6]) for row in rows] == [
        ("job", "1", "", "me"),
        ("render", "1", "gpu", "nobody can"),
    ]
    assert "start an agent with capability gpu" in dibs("why", task, ok=True).out


def test_on_a_terminal_an_empty_list_says_what_to_do(terminal: Run, dibs: Run) -> None:
    dibs("add", "job", ok=True)
    assert "dibs worker MODULE:APP" in terminal("agents").out
    assert "nobody can" in terminal("lanes").out
    dibs("claim", "--agent", "me", ok=True)
    assert "Nothing is ready." in terminal("lanes").out
    assert "● active" in terminal("agents").out


def test_what_is_no_command_of_agents_is_refused(dibs: Run) -> None:
    refused = dibs("agents", "sack", "me", "--json")
    assert (refused.code, refused.error["field"]) == (2, "command")
