"""What of Loki's files is brought in, what is left out, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from dibs.errors import CycleDetected, Invalid
from dibs.loki.format import read_tasks
from dibs.loki.planning import Plan, plan
from tests.loki.files import task


def planned(*, dead_letters: bool = False, **queues: Any) -> Plan:
    files = {name.replace("_", "-"): tasks for name, tasks in queues.items()}
    read = {queue: read_tasks({"tasks": tasks}, queue, f"{queue}.json") for queue, tasks in files.items()}
    return plan(read, dead_letters=dead_letters)


def added(result: Plan) -> dict[str, list[str]]:
    """What is added, and what each of them waits for."""
    return {wanted.task.id: wanted.after for wanted in result.adding}


def test_pending_and_in_progress_tasks_are_added_what_had_begun_first() -> None:
    result = planned(pending=[task("a"), task("b")], in_progress=[task("c")])
    assert list(added(result)) == ["c", "a", "b"]


def test_parents_come_before_their_children() -> None:
    result = planned(pending=[task("a", dependencies=["b"]), task("b", dependencies=["c"]), task("c")])
    assert added(result) == {"c": [], "b": ["c"], "a": ["b"]}
    assert list(added(result)) == ["c", "b", "a"]


def test_a_completed_dependency_is_satisfied() -> None:
    result = planned(pending=[task("a", dependencies=["done", "b"]), task("b")], completed=[task("done")])
    assert added(result) == {"b": [], "a": ["b"]}
    assert result.left_out == {"completed": 1, "dead-letter": 0, "cancelled": 0}


def test_what_was_claimed_once_waits_for_nothing() -> None:
    # Loki claims nothing before its dependencies are completed, and may have tidied up since.
    result = planned(in_progress=[task("a", dependencies=["long gone"])])
    assert added(result) == {"a": []}


def test_an_unknown_dependency_is_refused_naming_the_task() -> None:
    with pytest.raises(Invalid, match=r"pending\.json: task 'a' depends on 'nobody'") as refused:
        planned(pending=[task("b"), task("a", dependencies=["nobody"])])
    assert refused.value.field == "dependencies"


@pytest.mark.parametrize("ring", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_a_cycle_is_refused_naming_it(ring: list[str]) -> None:
    tasks = [task(id, dependencies=[ring[place - 1]]) for place, id in enumerate(ring)]
    with pytest.raises(CycleDetected, match="a") as refused:
        planned(pending=tasks)
    assert refused.value.field == "dependencies"


@pytest.mark.parametrize("queue", ["dead_letter", "cancelled"])
def test_who_waits_for_what_is_left_out_is_left_out_too(queue: str) -> None:
    pending = [task("c", dependencies=["b"]), task("b", dependencies=["gone"]), task("other")]
    files: dict[str, Any] = {"pending": pending, queue: [task("gone")]}
    result = planned(**files)
    assert list(added(result)) == ["other"]
    assert result.stuck == ["c", "b"]
    assert result.left_out[queue.replace("_", "-")] == 1


def test_dead_letters_come_afresh_if_asked_for() -> None:
    pending = [task("b", dependencies=["dead"])]
    result = planned(pending=pending, dead_letter=[task("dead", retries=3)], dead_letters=True)
    assert added(result) == {"b": ["dead"], "dead": []}
    assert [wanted.afresh for wanted in result.adding] == [True, False]
    assert (result.left_out, result.stuck) == ({"completed": 0, "dead-letter": 0, "cancelled": 0}, [])


def test_who_needs_only_an_end_does_not_mind_a_bad_one() -> None:
    watcher = task("w", dependencies=["dead", "b"], dibs={"after_ended": ["dead", "b"]})
    result = planned(pending=[watcher, task("b")], dead_letter=[task("dead")])
    [_, wanted] = result.adding
    assert (wanted.task.id, wanted.after, wanted.after_ended) == ("w", [], ["b"])


def test_who_needs_the_end_of_a_task_that_never_runs_never_runs() -> None:
    watcher = task("w", dependencies=["b"], dibs={"after_ended": ["b"]})
    result = planned(pending=[watcher, task("b", dependencies=["dead"])], dead_letter=[task("dead")])
    assert (result.adding, sorted(result.stuck)) == ([], ["b", "w"])


def test_a_list_of_ends_that_is_none_is_refused() -> None:
    with pytest.raises(Invalid, match="after_ended") as refused:
        planned(pending=[task("a", dibs={"after_ended": "b"})])
    assert refused.value.field == "dibs"


@pytest.mark.parametrize(
    ("queues", "counts"),
    [
        (("pending", "in_progress"), True),
        (("pending", "completed"), False),
        (("in_progress", "completed"), False),
        (("in_progress", "dead_letter"), False),
        (("pending", "cancelled"), False),
        (("dead_letter", "cancelled"), False),
    ],
)
def test_of_a_task_in_two_files_the_one_further_along_counts(queues: tuple[str, str], counts: bool) -> None:
    files: dict[str, Any] = {queue: [task("a", lastError=queue)] for queue in queues}
    result = planned(**files)
    assert [wanted.task.queue for wanted in result.adding] == (["in-progress"] if counts else [])
    assert result.in_two_files == ["a"]
    assert sum(result.left_out.values()) == (0 if counts else 1)


def test_empty_files_are_an_empty_plan() -> None:
    assert planned() == Plan(left_out={"completed": 0, "dead-letter": 0, "cancelled": 0})
