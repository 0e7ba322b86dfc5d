"""Agents from the shell: who there is, and what waits for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def test_agents_are_listed_with_what_they_hold(dibs: Run) -> None:
    task = dibs("add", "job", ok=True).line
    dibs("claim", "--agent", "scout", "--can", "web,git", ok=True)
    dibs("agents", "register", "coder-1", "--type", "coder", "--max-concurrent", 2, ok=True)
    coder, scout = [row.split("\t") for row in dibs("agents", ok=True).out.splitlines()]
    assert coder[:5] == ["coder-1", "active", "coder", "0/2", "0%"]
    assert (scout[:5], scout[-1]) == (["scout", "active", "", "1", ""], "git, web")
    listed = dibs("agents", "--json", ok=True).json
    assert [(agent["id"], agent["status"], agent["tasks"]) for agent in listed] == [
        ("coder-1", "active", []),
        ("scout", "active", [task]),
    ]
    assert dibs("agents", "ls", "--json", ok=True).json == listed


def test_registering_sets_a_limit(dibs: Run) -> None:
    dibs("add", "job", ok=True)
    dibs("add", "job", "--assignee", "coder", "--requires", "git", ok=True)
    told = dibs("agents", "register", "me", "--type", "coder", "--can", "git", "--model", "m", "--max-concurrent", 1)
    assert told.line == "active"
    dibs("claim", "--agent", "me", ok=True)
    assert dibs("claim", "--agent", "me").code == 3
    changed = dibs("agents", "register", "me", "--type", "coder", "--can", "git", "--json", ok=True).json
    assert (changed["type"], changed["max_concurrent"], len(changed["tasks"])) == ("coder", None, 1)
    assert dibs("claim", "--agent", "me", ok=True).json["task"]["assignee"] == "coder"


def test_a_drained_agent_gets_nothing_and_an_unregistered_one_is_not_listed(dibs: Run) -> None:
    dibs("add", "job", ok=True)
    dibs("add", "job", ok=True)
    dibs("claim", "--agent", "me", ok=True)
    assert dibs("agents", "drain", "me", ok=True).line == "draining (1 task held)"
    assert dibs("claim", "--agent", "me").code == 3
    gone = dibs("agents", "unregister", "me", "--reason", "done", "--json", ok=True).json
    assert (gone["status"], gone["reason"]) == ("offline", "done")
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
    assert [lane["agents"] for lane in dibs("lanes", "--json", ok=True).json] == [["me"], []]
    assert "start an agent with capability gpu" in dibs("why", task, ok=True).out


def test_on_a_terminal_an_empty_list_says_what_to_do(terminal: Run, dibs: Run) -> None:
    dibs("add", "job", ok=True)
    assert "dibs worker MODULE:APP" in terminal("agents").out
    assert "nobody can" in terminal("lanes").out
    dibs("claim", "--agent", "me", ok=True)
    assert "Nothing is ready." in terminal("lanes").out
    assert "● active" in terminal("agents").out


@pytest.mark.parametrize(
    ("argv", "code", "field"),
    [
        (["agents", "register"], 2, "agent"),
        (["agents", "register", ""], 2, "agent"),
        (["agents", "register", "me", "--max-concurrent", "0"], 2, "max_concurrent"),
        (["agents", "register", "me", "--max-concurrent", "many"], 2, "max_concurrent"),
        (["agents", "register", "me", "--budget", "-1"], 2, "budget"),
        (["agents", "drain", "nobody"], 4, "agent"),
        (["agents", "unregister", "nobody"], 4, "agent"),
        (["agents", "sack", "me"], 2, "command"),
    ],
    ids=str,
)
def test_mistakes_name_the_field_and_change_nothing(dibs: Run, argv: list[str], code: int, field: str) -> None:
    refused = dibs(*argv, "--json")
    assert (refused.code, refused.error["field"]) == (code, field)
    assert dibs("agents", "ls", "--all", "--json", ok=True).json == []
