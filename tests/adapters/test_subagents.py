"""Subagents in the background: the work, its output file, what an interface shows, and the word to the parent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.adapters import (
    DequeuedBatch,
    Notification,
    QueueRuntime,
    SubagentResult,
    SubagentTask,
    TaskEnqueueResult,
    enqueue_subagent_task,
    get_subagent,
    list_subagents,
    subagent_app,
)
from dibs.errors import Invalid, NotFound

if TYPE_CHECKING:
    from dibs.testing import FakeClock


async def enqueued(queue: dibs.Queue, folder: Path, **options: Any) -> TaskEnqueueResult:
    asked: dict[str, Any] = {"subagent_type": "coder", "prompt": "build it", "description": "Build the page"}
    return await enqueue_subagent_task(queue, **(asked | {"output_folder": folder} | options))


async def work(queue: dibs.Queue, spawn: Any, **options: Any) -> None:
    """A worker runs what there is."""
    async with dibs.Worker(subagent_app(spawn, ["coder"], **options), queue, agent="worker") as worker:
        await worker.drain()


async def heard(queue: dibs.Queue) -> DequeuedBatch | None:
    """What the parent takes up next."""
    return await QueueRuntime(queue, worker_id="parent").try_dequeue()


async def notified(queue: dibs.Queue) -> Notification:
    batch = await heard(queue)
    assert batch is not None
    [item] = batch.items
    assert item.notification is not None
    assert (item.kind, item.source, item.text) == ("task_notification", "system", item.notification.text)
    return item.notification


async def succeed(task: SubagentTask) -> SubagentResult:
    return SubagentResult(report=f"did: {task.prompt}", total_tokens=1_200, turns=3, cost=0.02)


# Giving the work


async def test_the_caller_gets_three_names_at_once(queue: dibs.Queue, tmp_path: Path) -> None:
    given = await enqueued(queue, tmp_path / "out")
    assert given.task_id.startswith("task_")
    assert given.subagent_id.startswith("subagent_")
    assert Path(given.output_file).parent == tmp_path / "out"
    assert Path(given.output_file).read_text() == ""
    task = await queue.get(given.task_id)
    assert (task.type, task.title, task.priority, task.max_attempts) == ("coder", "Build the page", 50, 3)
    assert task.payload["prompt"] == "build it"
    assert task.payload["kind"] == "task_notification"
    assert task.coalesce_key is None


async def test_the_subagent_is_started_with_what_was_asked_for(queue: dibs.Queue, tmp_path: Path) -> None:
    started: list[SubagentTask] = []

    async def spawn(task: SubagentTask) -> SubagentResult:
        started.append(task)
        return SubagentResult()

    given = await enqueued(
        queue,
        tmp_path,
        model="opus",
        tool_call_id="call-1",
        existing_agent_id="agent-1",
        existing_conversation_id="conv-1",
        max_turns=4,
        priority=2,
        max_attempts=1,
    )
    await work(queue, spawn)
    assert started == [
        SubagentTask(
            task_id=given.task_id,
            subagent_id=given.subagent_id,
            subagent_type="coder",
            prompt="build it",
            description="Build the page",
            output_file=given.output_file,
            model="opus",
            tool_call_id="call-1",
            existing_agent_id="agent-1",
            existing_conversation_id="conv-1",
            max_turns=4,
        )
    ]
    task = await queue.get(given.task_id)
    assert (task.models, task.max_turns, task.priority, task.max_attempts) == (("opus",), 4, 20, 1)


# The end, and the word to the parent


async def test_the_parent_hears_of_success_once(queue: dibs.Queue, tmp_path: Path) -> None:
    given = await enqueued(queue, tmp_path, agent_id="parent", conversation_id="conv")
    assert await heard(queue) is None
    await work(queue, succeed)
    batch = await heard(queue)
    assert batch is not None
    [item] = batch.items
    assert (item.agent_id, item.conversation_id) == ("parent", "conv")
    assert item.notification == Notification(
        task_id=given.task_id,
        status="completed",
        summary="Agent “Build the page” completed",
        result="did: build it",
        output_file=given.output_file,
    )
    for part in (given.task_id, "completed", "Build the page", "did: build it", given.output_file):
        assert part in (item.text or "")
    assert await heard(queue) is None


async def test_the_output_file_has_the_report(queue: dibs.Queue, tmp_path: Path) -> None:
    given = await enqueued(queue, tmp_path)
    await work(queue, succeed)
    text = Path(given.output_file).read_text()
    assert "Build the page" in text
    assert "completed" in text
    assert "did: build it" in text
    assert [path.name for path in tmp_path.glob("*.txt")] == [Path(given.output_file).name]
    assert list(tmp_path.glob("*.tmp")) == []
    assert (await queue.get(given.task_id)).output == {"report": "did: build it", "total_tokens": 1_200}


async def test_a_subagent_that_did_not_succeed_has_failed_for_good(queue: dibs.Queue, tmp_path: Path) -> None:
    async def spawn(task: SubagentTask) -> SubagentResult:
        return SubagentResult(success=False, error="the tests are red")

    given = await enqueued(queue, tmp_path)
    await work(queue, spawn)
    word = await notified(queue)
    assert (word.status, word.result) == ("failed", "the tests are red")
    assert word.summary == "Agent “Build the page” failed"
    assert "the tests are red" in Path(given.output_file).read_text()
    assert (await queue.get(given.task_id)).attempts == 1


async def test_one_that_raises_is_tried_again_and_the_parent_hears_only_of_the_end(url: str, tmp_path: Path) -> None:
    tries = []

    async def spawn(task: SubagentTask) -> SubagentResult:
        tries.append(task.task_id)
        if len(tries) == 1:
            raise RuntimeError("the first one fails")
        return SubagentResult(report={"pages": 1})

    async with dibs.connect(url) as queue:
        given = await enqueued(queue, tmp_path)
        await work(queue, spawn)
        assert tries == [given.task_id] * 2
        word = await notified(queue)
        assert (word.status, word.result) == ("completed", {"pages": 1})
        assert '{"pages":1}' in word.text
        assert await heard(queue) is None


async def test_the_parent_hears_of_a_task_that_was_given_up(queue: dibs.Queue, tmp_path: Path) -> None:
    async def spawn(task: SubagentTask) -> SubagentResult:
        raise RuntimeError("out of luck")

    given = await enqueued(queue, tmp_path, max_attempts=1)
    await work(queue, spawn)
    word = await notified(queue)
    assert word.status == "failed"
    assert "out of luck" in word.result
    assert "out of luck" in Path(given.output_file).read_text()


async def test_the_parent_hears_of_a_worker_that_died(queue: dibs.Queue, clock: FakeClock, tmp_path: Path) -> None:
    given = await enqueued(queue, tmp_path, max_attempts=1)
    await queue.claim("doomed", types=["coder"])
    clock.advance(61)
    assert (await notified(queue)).status == "failed"
    assert (await get_subagent(queue, given.subagent_id)).status == "failed"


async def test_the_parent_hears_of_a_task_that_was_cancelled(queue: dibs.Queue, tmp_path: Path) -> None:
    given = await enqueued(queue, tmp_path)
    await queue.cancel(given.task_id, "not needed any more")
    word = await notified(queue)
    assert (word.status, word.result) == ("cancelled", "not needed any more")
    assert word.summary == "Agent “Build the page” was cancelled"


async def test_one_that_was_retried_before_the_parent_looked_is_not_over(queue: dibs.Queue, tmp_path: Path) -> None:
    given = await enqueued(queue, tmp_path)
    await queue.cancel(given.task_id)
    await queue.retry(given.task_id)
    word = await notified(queue)
    assert (word.status, word.summary) == ("pending", "Agent “Build the page” is to be tried again")


async def test_a_silent_one_tells_nobody(queue: dibs.Queue, tmp_path: Path) -> None:
    given = await enqueued(queue, tmp_path, silent=True)
    await work(queue, succeed)
    assert await heard(queue) is None
    assert (await get_subagent(queue, given.subagent_id)).silent is True
    assert (await queue.stats()).by_status == {"completed": 1}


async def test_any_worker_can_do_the_work(queue: dibs.Queue, tmp_path: Path) -> None:
    given = await enqueued(queue, tmp_path)
    [claim] = await queue.claim("shell", types=["coder"])
    await queue.complete(claim, "plain text")
    word = await notified(queue)
    assert (word.task_id, word.status, word.result) == (given.task_id, "completed", "plain text")


async def test_a_notification_can_be_settled_like_any_item(queue: dibs.Queue, tmp_path: Path) -> None:
    await enqueued(queue, tmp_path)
    await work(queue, succeed)
    runtime = QueueRuntime(queue)
    batch = await runtime.try_dequeue()
    assert batch is not None
    await runtime.complete(batch)
    assert (await queue.stats()).by_status == {"completed": 2}


# What an interface shows


async def test_the_state_follows_the_task(queue: dibs.Queue, tmp_path: Path) -> None:
    given = await enqueued(queue, tmp_path, tool_call_id="call-1")
    state = await get_subagent(queue, given.subagent_id)
    assert (state.id, state.type, state.description) == (given.subagent_id, "coder", "Build the page")
    assert (state.status, state.task_id, state.tool_call_id) == ("pending", given.task_id, "call-1")
    assert (state.output_file, state.total_tokens, state.silent) == (given.output_file, None, False)
    [claim] = await queue.claim("worker", types=["coder"])
    await queue.renew(claim, progress=0.5, note="half of it")
    state = await get_subagent(queue, given.subagent_id)
    assert (state.status, state.progress, state.note) == ("running", 0.5, "half of it")
    await queue.complete(claim, {"report": "done"}, tokens_in=900, tokens_out=100)
    state = await get_subagent(queue, given.subagent_id)
    assert (state.status, state.total_tokens, state.error) == ("completed", 1_000, None)
    assert state.completed_at is not None


async def test_subagents_are_listed_newest_first(queue: dibs.Queue, tmp_path: Path) -> None:
    given = [await enqueued(queue, tmp_path, description=f"number {n}", silent=True) for n in range(3)]
    await queue.add("coder", {"prompt": "somebody else's"})
    await queue.cancel(given[1].task_id)
    assert [state.description for state in await list_subagents(queue)] == ["number 2", "number 1", "number 0"]
    assert [state.description for state in await list_subagents(queue, limit=2)] == ["number 2", "number 1"]
    [cancelled] = await list_subagents(queue, status="cancelled")
    assert cancelled.id == given[1].subagent_id
    assert len(await list_subagents(queue, status="pending")) == 2


async def test_what_is_no_subagent_is_not_found(queue: dibs.Queue, tmp_path: Path) -> None:
    given = await enqueued(queue, tmp_path)
    plain = await queue.add("coder")
    for id in ("subagent_x", given.task_id, "subagent_" + plain.id.removeprefix("task_")):
        with pytest.raises(NotFound) as refused:
            await get_subagent(queue, id)
        assert refused.value.field == "subagent_id"


# Workers


async def test_a_worker_on_another_machine_writes_to_its_own_folder(queue: dibs.Queue, tmp_path: Path) -> None:
    given = await enqueued(queue, tmp_path / "here")
    await work(queue, succeed, output_folder=tmp_path / "there")
    assert Path(given.output_file).read_text() == ""
    assert "did: build it" in (tmp_path / "there" / Path(given.output_file).name).read_text()


async def test_a_file_that_cannot_be_written_does_not_spoil_the_work(
    queue: dibs.Queue, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = await enqueued(queue, tmp_path / "out")
    (tmp_path / "file").write_text("not a folder")
    await work(queue, succeed, output_folder=tmp_path / "file" / "below")
    assert (await queue.get(given.task_id)).status == "completed"
    assert "could not be written" in caplog.text


async def test_a_task_without_a_prompt_is_invalid_input(queue: dibs.Queue, tmp_path: Path) -> None:
    added = await queue.add("coder", {"goal": "none"})
    await work(queue, succeed, output_folder=tmp_path)
    task = await queue.get(added.id)
    assert (task.status, task.reason) == ("dead_lettered", "invalid_input")


async def test_a_spawn_that_answers_nonsense_has_failed(queue: dibs.Queue, tmp_path: Path) -> None:
    async def spawn(task: SubagentTask) -> str:
        return "done!"

    given = await enqueued(queue, tmp_path)
    await work(queue, spawn)
    assert "SubagentResult" in ((await queue.get(given.task_id)).error or "")


# Bad input


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("subagent_type", {"subagent_type": ""}),
        ("prompt", {"prompt": " "}),
        ("prompt", {"prompt": None}),
        ("description", {"description": ""}),
        ("description", {"description": "x" * 1_001}),
        ("model", {"model": 5}),
        ("tool_call_id", {"tool_call_id": ""}),
        ("existing_agent_id", {"existing_agent_id": 5}),
        ("existing_conversation_id", {"existing_conversation_id": ""}),
        ("max_turns", {"max_turns": 0}),
        ("priority", {"priority": 10}),
        ("max_attempts", {"max_attempts": 0}),
        ("silent", {"silent": "yes"}),
        ("agent_id", {"agent_id": ""}),
        ("conversation_id", {"conversation_id": 1}),
        ("output_folder", {"output_folder": ""}),
        ("output_folder", {"output_folder": None}),
        ("output_folder", {"output_folder": "/dev/null/below"}),
    ],
)
async def test_work_that_makes_no_sense_is_refused(
    queue: dibs.Queue, tmp_path: Path, field: str, options: dict[str, Any]
) -> None:
    with pytest.raises(Invalid) as refused:
        await enqueued(queue, tmp_path / "out", **options)
    assert refused.value.field == field
    assert (await queue.stats()).by_status == {}
    assert not (tmp_path / "out").exists()


async def test_lists_and_workers_that_make_no_sense_are_refused(queue: dibs.Queue) -> None:
    for field, options in (("status", {"status": "lost"}), ("limit", {"limit": 0})):
        with pytest.raises(Invalid) as refused:
            await list_subagents(queue, **options)
        assert refused.value.field == field
    for field, types, folder in (("types", [], None), ("types", "coder", None), ("output_folder", ["coder"], 5)):
        with pytest.raises(Invalid) as refused:
            subagent_app(succeed, types, output_folder=folder)  # type: ignore[arg-type]
        assert refused.value.field == field
