"""Tasks found in words: listed, and changed alike."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Run


def add(dibs: Run, type: str, *options: str) -> str:
    return dibs("add", type, *options, ok=True).line


def test_ls_takes_a_query(dibs: Run) -> None:
    one = add(dibs, "code", "Mend the gate", "--tag", "repo:x")
    two = add(dibs, "test", "--priority", "10")
    assert [task["id"] for task in dibs("ls", "type:code", "gate", "--json", ok=True).json["items"]] == [one]
    assert [task["id"] for task in dibs("ls", "priority<20", "--json", ok=True).json["items"]] == [two]
    assert [task["id"] for task in dibs("ls", "tag:repo:x -type:test", "--json", ok=True).json["items"]] == [one]


def test_a_query_that_cannot_be_read_is_refused_with_its_place(dibs: Run) -> None:
    refused = dibs("ls", "colour:red", "--json")
    assert refused.code == 2
    told = json.loads(refused.err)
    assert told["field"] == "query"
    assert "at character 1: there is no key 'colour'" in told["message"]


def test_nothing_is_cancelled_without_yes(dibs: Run) -> None:
    ids = {add(dibs, "code") for _ in range(3)}
    other = add(dibs, "test")
    seen = dibs("cancel", "--query", "type:code", ok=True)
    assert "3 tasks found; nothing was changed: add --yes" in seen.err
    assert dibs("cancel", "--query", "type:code", "--json", ok=True).json["count"] == 3
    assert dibs("show", other, "--json", ok=True).json["status"] == "ready"
    done = dibs("cancel", "--query", "type:code", "--yes", "--reason", "enough", ok=True)
    assert set(done.out.split()) == ids
    assert dibs("show", other, "--json", ok=True).json["status"] == "ready"


def test_what_is_found_is_retried(dibs: Run) -> None:
    task = add(dibs, "code")
    dibs("cancel", task, ok=True)
    alive = add(dibs, "code")
    done = dibs("retry", "--query", "type:code", "--yes", "--json", ok=True).json
    assert done["done"] == [task]
    assert [refused["task_id"] for refused in done["refused"]] == [alive]
    none = dibs("retry", "--query", "type:code", "--yes")
    assert none.code == 5
    assert alive in none.err


def test_what_is_found_becomes_more_urgent_and_is_tagged(dibs: Run) -> None:
    task = add(dibs, "code", "--tag", "old")
    assert dibs("priority", "--query", "type:code", "5", "--yes", ok=True).out.split() == [task]
    assert dibs("tag", "--query", "tag:old", "--add", "new", "--remove", "old", "--yes", ok=True).out.split() == [task]
    shown = dibs("show", task, "--json", ok=True).json
    assert (shown["priority"], shown["tags"]) == (5, ["new"])


def test_one_task_is_tagged(dibs: Run) -> None:
    task = add(dibs, "code", "--tag", "b")
    assert dibs("tag", task, "--add", "a", "--add", "c", ok=True).out.split() == ["a", "b", "c"]
    assert dibs("tag", task, "--remove", "a", "--json", ok=True).json["tags"] == ["b", "c"]
    refused = dibs("tag", task, "--json")
    assert (refused.code, json.loads(refused.err)["field"]) == (2, "add")


def test_either_an_id_or_a_query(dibs: Run) -> None:
    task = add(dibs, "code")
    for argv in (
        ["cancel"],
        ["cancel", task, "--query", "type:code"],
        ["retry"],
        ["tag", "--add", "a"],
        ["priority", "5"],
        ["retry", "--query", "x", "--payload", "1"],
    ):
        assert dibs(*argv).code == 2
    assert dibs("show", task, "--json", ok=True).json["status"] == "ready"
