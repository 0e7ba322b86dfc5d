"""What references mean, and what a claim gets in their place."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import Invalid
from dibs.model.artifact import Artifact
from dibs.model.status import Status
from dibs.model.task import Task
from dibs.rules import refs
from dibs.rules.handover import MAX_INPUT_BYTES

DIGEST = "sha256:" + "0" * 64


def task(id: str, output: Any = None, status: Status = Status.COMPLETED, **more: Any) -> Task:
    return Task(id=id, type="a", output=output, status=status, **more)


def artifact(name: str, size: int) -> Artifact:
    return Artifact(name=name, digest=DIGEST, size=size)


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("task:task_1:output", refs.Ref(refs.OUTPUT, "task_1")),
        ("task:my:own:output", refs.Ref(refs.OUTPUT, "my:own")),
        ("task:task_1:artifact:report", refs.Ref(refs.ARTIFACT, "task_1", "report")),
        ("task:task_1:artifact:output", refs.Ref(refs.ARTIFACT, "task_1", "output")),
        ("artifact:a/b: c", refs.Ref(refs.ARTIFACT, None, "a/b: c")),
        (DIGEST, refs.Ref(refs.BYTES, None, DIGEST)),
    ],
)
def test_a_reference_is_read(text: str, ref: refs.Ref) -> None:
    assert refs.parse(text) == ref


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "task:",
        "task::output",
        "task:x",
        "task::artifact:a",
        "task:x:artifact:",
        "artifact:",
        "sha256:0",
        7,
        None,
    ],
)
def test_what_is_no_reference_is_refused(text: Any) -> None:
    with pytest.raises(Invalid) as caught:
        refs.parse(text, "ref")
    assert caught.value.field == "ref"


def test_a_list_of_references_is_fine() -> None:
    refs.check(["task:x:output", "artifact:a"])
    refs.check([])


@pytest.mark.parametrize("value", ["artifact:a", {"artifact:a": 1}, [DIGEST], ["x"], ["artifact:a"] * 101, None])
def test_anything_else_in_a_context_is_refused(value: Any) -> None:
    with pytest.raises(Invalid) as caught:
        refs.check(value)
    assert caught.value.field == "context"


def test_what_must_be_known_to_resolve_references() -> None:
    wanted = refs.wanted({"refs": ["task:x:output", "artifact:a", "task:x:artifact:b", "artifact:a"]})
    assert wanted == ["task:x:output", "artifact:a", "task:x:artifact:b"]
    assert refs.tasks_in(wanted) == ["x"]
    assert refs.names_in(wanted) == ["a"]
    assert refs.wanted(None) == refs.wanted({}) == refs.wanted({"refs": None}) == []


def test_outputs_and_artifacts_take_the_place_of_their_references() -> None:
    tasks = {"x": task("x", {"n": 1}, artifacts=(artifact("b", 1), artifact("c", 2))), "y": task("y")}
    in_dag = [artifact("a", 3), artifact("a", 4)]
    wanted = ["task:x:output", "task:y:output", "task:x:artifact:b", "artifact:a"]
    found, _ = refs.resolved(wanted, tasks, in_dag)
    assert list(found) == wanted
    assert (found["task:x:output"], found["task:y:output"]) == ({"n": 1}, None)
    assert (found["task:x:artifact:b"]["size"], found["artifact:a"]["size"]) == (1, 4)


def test_what_is_missing_is_told_in_its_place() -> None:
    tasks = {"x": None, "y": task("y", status=Status.RUNNING)}
    found, room = refs.resolved(["task:x:output", "task:y:output", "task:y:artifact:a", "artifact:a"], tasks, [])
    assert found == {
        "task:x:output": {"ref": "task:x:output", "missing": "There is no task x."},
        "task:y:output": {"ref": "task:y:output", "missing": "Task y is running."},
        "task:y:artifact:a": {"ref": "task:y:artifact:a", "missing": "There is no artifact 'a' yet."},
        "artifact:a": {"ref": "artifact:a", "missing": "There is no artifact 'a' yet."},
    }
    assert room == refs.MAX_TOTAL_BYTES


def test_a_large_output_stays_a_reference() -> None:
    tasks = {"x": task("x", "x" * (MAX_INPUT_BYTES - 2)), "y": task("y", "y" * (MAX_INPUT_BYTES - 1))}
    found, room = refs.resolved(["task:x:output", "task:y:output"], tasks, [])
    assert len(found["task:x:output"]) == MAX_INPUT_BYTES - 2
    assert found["task:y:output"] == {"ref": "task:y:output"}
    assert room == refs.MAX_TOTAL_BYTES - MAX_INPUT_BYTES


def test_many_outputs_that_are_large_together_stay_references_from_there_on() -> None:
    tasks = {name: task(name, "12345678") for name in "xyz"}
    found, room = refs.resolved(["task:x:output", "task:y:output", "task:z:output"], tasks, [], room=25)
    assert found == {
        "task:x:output": "12345678",
        "task:y:output": "12345678",
        "task:z:output": {"ref": "task:z:output"},
    }
    assert room == 5
