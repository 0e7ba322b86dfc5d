"""`TaskTool`: kept for a worker, or run at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.adapters import Task, TaskQueue, TaskStatus, TaskTool
from dibs.errors import Invalid

if TYPE_CHECKING:
    import dibs


async def run(task: Task) -> dict[str, str]:
    return {"did": task.prompt, "as": task.subagent_type, "with": task.model or "any"}


async def fail(task: Task) -> None:
    raise RuntimeError("the subagent fell over")


async def test_persisting_answers_at_once_with_a_task_id(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    answer = await TaskTool(tasks).run("p", "coder", persist=True, priority=10, tags=["t"], user_id="u", max_retries=0)
    assert (answer.status, answer.result) == (TaskStatus.PENDING, None)
    assert answer.task_id is not None
    found = await queue.get(answer.task_id)
    assert (found.type, found.priority, found.tags, found.user, found.max_attempts) == ("coder", 5, ("t",), "u", 1)
    task = await tasks.dequeue("worker", timeout_ms=0)
    assert task is not None
    await tasks.complete(answer.task_id, {"done": True})
    assert (await tasks.get(answer.task_id)).result == {"done": True}


async def test_without_persisting_it_runs_now_and_nothing_is_queued(queue: dibs.Queue) -> None:
    answer = await TaskTool(TaskQueue(queue), run).run("p", "coder", model="opus")
    assert (answer.status, answer.task_id) == (TaskStatus.COMPLETED, None)
    assert answer.result == {"did": "p", "as": "coder", "with": "opus"}
    assert (await queue.stats()).by_status == {}


async def test_a_subagent_that_raises_has_failed(queue: dibs.Queue) -> None:
    answer = await TaskTool(TaskQueue(queue), fail).run("p", "coder")
    assert (answer.status, answer.error) == (TaskStatus.FAILED, "the subagent fell over")


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("prompt", {"prompt": ""}),
        ("subagent_type", {"subagent_type": ""}),
        ("persist", {"persist": "yes"}),
        ("priority", {"priority": -5}),
        ("tags", {"tags": "t"}),
        ("parent_task", {"parent_task": "task_x"}),
    ],
)
@pytest.mark.parametrize("persist", [True, False])
async def test_a_call_that_makes_no_sense_is_refused_either_way(
    queue: dibs.Queue, field: str, options: dict[str, Any], persist: bool
) -> None:
    if field == "parent_task" and persist:
        options = {"parent_task": 5}
    asked: dict[str, Any] = {"prompt": "p", "subagent_type": "coder", "persist": persist, **options}
    with pytest.raises(Invalid) as refused:
        await TaskTool(TaskQueue(queue), run).run(**asked)
    assert refused.value.field == field
    assert (await queue.stats()).by_status == {}


async def test_running_now_needs_somebody_who_runs(queue: dibs.Queue) -> None:
    with pytest.raises(Invalid) as refused:
        await TaskTool(TaskQueue(queue)).run("p", "coder")
    assert refused.value.field == "persist"
