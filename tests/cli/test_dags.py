"""Graphs from files: all or nothing, and nothing in them is ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Run

PAGE = """
title: Landing page
on_failure: continue
tasks:
  - {ref: facts, type: research, payload: {topic: competitors, since: 2024-01-01}, priority: 20}
  - {ref: design, type: design, retry: {strategy: fixed, delay: 5}}
  - ref: build
    type: code
    after: [facts, design]
    after_ended: []
    timeout: 10m
    tags: [web]
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "page.yaml"
    file.write_text(PAGE)
    return file


def test_submit_prints_the_id_of_the_dag(dibs: Run, page: Path) -> None:
    id = dibs("dag", "submit", page, ok=True).line
    dag = dibs("dag", "show", id, "--json", ok=True).json
    assert (dag["title"], dag["on_failure"]) == ("Landing page", "continue")
    by_ref = {task["ref"]: task for task in dag["tasks"]}
    assert by_ref["build"]["depends_on"] == [by_ref["facts"]["id"], by_ref["design"]["id"]]
    assert (by_ref["build"]["timeout"], by_ref["build"]["tags"]) == (600, ["web"])
    assert by_ref["facts"]["payload"] == {"topic": "competitors", "since": "2024-01-01"}
    assert (by_ref["design"]["retry"]["strategy"], by_ref["design"]["retry"]["delay"]) == ("fixed", 5)


def test_submit_reads_json_and_standard_input(dibs: Run, shell: Run, tmp_path: Path) -> None:
    file = tmp_path / "dag.json"
    file.write_text('{"title": "one", "tasks": [{"type": "a"}]}')
    assert dibs("dag", "submit", file, "--json", ok=True).json["title"] == "one"
    assert shell("dag", "submit", "-", "--json", stdin=file.read_bytes()).json["title"] == "one"
    assert shell("dag", "submit", "-", "--json", stdin=PAGE.encode()).json["title"] == "Landing page"
    assert dibs("dag", "submit", file, "--title", "two", "--json", ok=True).json["title"] == "two"


def test_the_same_key_answers_the_same_dag(dibs: Run, page: Path) -> None:
    id = dibs("dag", "submit", page, "--key", "k", ok=True).line
    assert dibs("dag", "submit", page, "--key", "k", ok=True).line == id


def test_dag_cancel_ends_every_task(dibs: Run, page: Path) -> None:
    id = dibs("dag", "submit", page, ok=True).line
    assert len(dibs("dag", "cancel", id, "--reason", "no", ok=True).out.splitlines()) == 3
    assert dibs("dag", "show", id, "--json", ok=True).json["status"] == "cancelled"
    assert dibs("wait", id, ok=True).line == "cancelled"
    assert dibs("dag", "cancel", "task_1").code == 2


@pytest.mark.parametrize(
    ("content", "field", "words"),
    [
        ("title: x\ntasks: [{type: a, ref: one, aftr: [b]}]", "aftr", ["'one'", "did you mean 'after'"]),
        ("title: x\ntasks: [{type: a}, {type: a, colour: red}]", "colour", ["task 2"]),
        ("title: x\ntasks: [{type: a, ref: one, retry: {dely: 5}}]", "dely", ["'one'", "'delay'"]),
        ("title: x\nnodes: []", "nodes", ["unknown field"]),
        ("title: x", "tasks", ["no tasks"]),
        ("title: x\ntasks: []", "tasks", []),
        ("title: x\ntasks: {type: a}", "tasks", ["list"]),
        ("title: x\ntasks: [a]", "tasks", ["task 1"]),
        ("tasks: [{type: a}]", "title", ["title"]),
        ("title: 7\ntasks: [{type: a}]", "title", []),
        ("title: x\ntasks: [{ref: one}]", "type", ["'one'"]),
        ("title: x\ntasks: [{type: [a], ref: one}]", "type", []),
        ("title: x\ntasks: [{type: a, ref: one, priority: high}]", "priority", []),
        ("title: x\ntasks: [{type: a, ref: one, after: one}]", "after", []),
        ("title: x\ntasks: [{type: a, ref: one, timeout: soon}]", "timeout", []),
        ("title: x\ntasks: [{type: a, payload: .nan}]", "payload", []),
        ("title: x\ntasks: [{type: a, max_cost: -1}]", "max_cost", ["must be a number"]),
        ("title: x\nbudget: cheap\ntasks: [{type: a}]", "budget", ["must be a number"]),
        ("title: x\non_failure: panic\ntasks: [{type: a}]", "on_failure", []),
        ("title: x\ntasks: [{type: a, type: b}]", "type", ["second time"]),
        ("title: x\ntasks: [{type: a}", "file", ["YAML"]),
        ("- type: a", "file", ["object"]),
        ("title: !!python/object/apply:os.getcwd []\ntasks: [{type: a}]", "file", []),
        ("[" * 3000, "file", []),
    ],
)
def test_a_bad_file_is_refused_naming_the_field(
    dibs: Run, snapshot: Callable[[], Any], tmp_path: Path, content: str, field: str, words: list[str]
) -> None:
    before = snapshot()
    file = tmp_path / "bad.yaml"
    file.write_text(content)
    refused = dibs("dag", "submit", file, "--json")
    assert (refused.code, refused.out) == (2, ""), refused.err
    assert refused.error["field"] == field
    for word in words:
        assert word in refused.error["message"]
    assert snapshot() == before


def test_an_unknown_dependency_in_a_file_is_not_found(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "unknown.yaml"
    file.write_text("title: x\ntasks: [{type: a}, {type: a, after: [nobody]}]")
    refused = dibs("dag", "submit", file, "--json")
    assert (refused.code, refused.error["field"]) == (4, "after")
    assert dibs("ls", "--json", ok=True).json["items"] == []


def test_a_cycle_in_a_file_is_named(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "cycle.yaml"
    file.write_text("title: x\ntasks: [{type: a, ref: one, after: [two]}, {type: a, ref: two, after: [one]}]")
    refused = dibs("dag", "submit", file, "--json")
    assert (refused.code, refused.error["code"]) == (5, "cycle_detected")
    assert dibs("ls", "--json", ok=True).json["items"] == []


def test_broken_json_and_missing_files_are_refused(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text("{title: x}")
    for path in (file, tmp_path / "nowhere.yaml", tmp_path):
        refused = dibs("dag", "submit", path, "--json")
        assert (refused.code, refused.error["field"]) == (2, "file")


def test_unknown_fields_of_spawned_tasks_are_refused(dibs: Run, shell: Run) -> None:
    id = dibs("add", "t", ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    refused = shell("spawn", id, "--fence", 1, "-", "--json", stdin=b'[{"type": "c", "ref": "x", "prio": 1}]')
    assert (refused.code, refused.error["field"]) == (2, "prio")
    assert "'x'" in refused.error["message"]
    assert len(dibs("ls", ok=True).out.splitlines()) == 1


def bomb(levels: int, inside: str) -> str:
    """YAML of a few lines in which each level stands for ten of the one before."""
    lines = [f"a0: &a0 {inside}"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, levels + 1)]
    return "\n".join(lines)


def merge_bomb(levels: int) -> str:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 10)}]}}" for level in range(1, levels + 1)]
    return "\n".join(lines)


def indented(text: str) -> str:
    return "".join(f"      {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "payload",
    [bomb(9, "[lol]"), bomb(3, f"'{'lol' * 100_000}'"), merge_bomb(9), "a: &a [*a]"],
    ids=["values", "text", "merges", "inside itself"],
)
def test_aliases_that_stand_for_too_much_are_refused(dibs: Run, tmp_path: Path, payload: str) -> None:
    claim = dibs("add", "t", ok=True).line
    dibs("claim", "--agent", "a", ok=True)
    dag, tasks = tmp_path / "dag.yaml", tmp_path / "tasks.yaml"
    dag.write_text(f"title: x\ntasks:\n  - type: a\n    payload:\n{indented(payload)}")
    tasks.write_text(f"- type: a\n  payload:\n{indented(payload)}")
    for argv in (("dag", "submit", dag), ("spawn", claim, "--fence", 1, tasks)):
        refused = dibs(*argv, "--json")
        assert (refused.code, refused.error["field"]) == (2, "tasks")
    assert len(dibs("ls", "--json", ok=True).json["items"]) == 1


def test_aliases_and_merges_are_written_out(dibs: Run, tmp_path: Path) -> None:
    file = tmp_path / "dag.yaml"
    file.write_text(
        "title: x\n"
        "tasks:\n"
        "  - {type: a, payload: {deep: &own {<<: &shared {x: 1, y: 1}, x: 2}, also: *shared}}\n"
        "  - {type: b, payload: {<<: *own}}\n"
    )
    dibs("dag", "submit", file, ok=True)
    payloads = {task["type"]: task["payload"] for task in dibs("ls", "--json", ok=True).json["items"]}
    assert payloads["a"] == {"deep": {"x": 2, "y": 1}, "also": {"x": 1, "y": 1}}
    assert payloads["b"] == {"x": 2, "y": 1}
