"""`TaskQueue`: each of its verbs, and that none of them loses a task or lets two workers end it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest

import dibs
from dibs.adapters import Task, TaskQueue, TaskStatus
from dibs.errors import IllegalTransition, Invalid, LeaseLost, NotFound

if TYPE_CHECKING:
    from dibs.testing import FakeClock

ADA = UUID(int=1)


def prompt(text: str = "find five competitors", **fields: Any) -> Task:
    return Task(**{"subagent_type": "researcher", "prompt": text, **fields})


async def taken(tasks: TaskQueue, worker: UUID | str = ADA) -> Task:
    """What the worker gets; the test needs that it gets something."""
    task = await tasks.dequeue(worker, timeout_ms=0)
    assert task is not None
    assert task.id is not None
    return task


async def enqueued(tasks: TaskQueue, **fields: Any) -> str:
    return await tasks.enqueue(prompt(**fields))


# Adding and taking


async def test_a_task_is_dequeued_with_all_that_was_asked_for(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    id = await tasks.enqueue(
        prompt(
            "look\nhere", system_prompt="be brief", model="opus", priority=40, max_retries=1, tags=["a"], user_id="u"
        )
    )
    task = await taken(tasks)
    assert (task.id, task.subagent_type, task.prompt, task.system_prompt) == (
        id,
        "researcher",
        "look\nhere",
        "be brief",
    )
    assert (task.model, task.priority, task.max_retries, task.user_id) == ("opus", 40, 1, "u")
    assert (tuple(task.tags), task.retry_count, task.agent_id) == (("a",), 0, str(ADA))
    assert task.status is TaskStatus.RUNNING
    assert task.started_at is not None


async def test_a_task_is_an_ordinary_one_that_any_worker_can_do(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks, text="build it\nnow", subagent_type="coder", max_retries=3)
    found = await queue.get(id)
    assert (found.type, found.payload, found.title) == ("coder", {"prompt": "build it\nnow"}, "build it")
    assert (found.priority, found.max_attempts) == (50, 4)
    [claim] = await queue.claim("plain", types=["coder"])
    await queue.complete(claim, {"built": True})
    assert await tasks.get_status(id) is TaskStatus.COMPLETED
    assert (await tasks.get(id)).result == {"built": True}


async def test_the_most_urgent_is_dequeued_first(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    for text, priority in (("later", 150), ("now", 1), ("usual", 100)):
        await enqueued(tasks, text=text, priority=priority)
    assert [(await taken(tasks)).prompt for _ in range(3)] == ["now", "usual", "later"]


async def test_an_empty_queue_gives_nothing(queue: dibs.Queue) -> None:
    assert await TaskQueue(queue).dequeue(ADA, timeout_ms=10) is None


async def test_a_queue_for_some_types_leaves_the_others(queue: dibs.Queue) -> None:
    await enqueued(TaskQueue(queue), subagent_type="coder")
    assert await TaskQueue(queue, types=["researcher"]).dequeue(ADA, timeout_ms=0) is None
    assert (await taken(TaskQueue(queue, types=["coder"]))).subagent_type == "coder"


async def test_a_task_comes_after_its_parent(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    parent = await enqueued(tasks, text="first")
    child = await enqueued(tasks, text="second", parent_task=parent)
    assert (await taken(tasks)).id == parent
    assert await tasks.dequeue(ADA, timeout_ms=0) is None
    await tasks.complete(parent, {})
    second = await taken(tasks)
    assert (second.id, second.parent_task) == (child, parent)


async def test_tasks_that_were_added_to_go_together_come_one_after_the_other(queue: dibs.Queue) -> None:
    for number in range(3):
        await queue.add("mail", {"prompt": f"mail {number}"}, coalesce_key="k", coalesce_window=0)
    tasks = TaskQueue(queue)
    three = [await taken(tasks) for _ in range(3)]
    assert [task.prompt for task in three] == ["mail 0", "mail 1", "mail 2"]
    for task in three:
        await tasks.complete(task.id or "", task.prompt)
    assert (await queue.stats()).by_status == {"completed": 3}


async def test_one_of_those_that_was_cancelled_meanwhile_is_not_handed_out(queue: dibs.Queue) -> None:
    added = [await queue.add("mail", {"prompt": str(n)}, coalesce_key="k", coalesce_window=0) for n in range(3)]
    tasks = TaskQueue(queue)
    await taken(tasks)
    await tasks.cancel(added[1].id)
    assert (await taken(tasks)).prompt == "2"
    assert await tasks.dequeue(ADA, timeout_ms=0) is None


async def test_one_of_those_that_was_lost_meanwhile_is_not_handed_out(queue: dibs.Queue, other: dibs.Queue) -> None:
    added = [await queue.add("mail", {"prompt": str(n)}, coalesce_key="k", coalesce_window=0) for n in range(4)]
    tasks = TaskQueue(queue)
    await taken(tasks)
    for unknown in (False, True):
        lost = await queue.get(added[1 + unknown].id)
        await other.fail((lost.id, lost.fence), "taken away", retry=False)
        if not unknown:
            # Of this one the worker hears before it would be handed out.
            assert await tasks.heartbeat(ADA) == [lost.id]
    assert (await taken(tasks)).prompt == "3"


@pytest.mark.parametrize(
    ("payload", "shown"), [("as it is", "as it is"), ({"topic": "tea"}, "A title"), (None, "A title")]
)
async def test_a_task_that_others_added_has_a_prompt_of_some_sort(queue: dibs.Queue, payload: Any, shown: str) -> None:
    await queue.add("research", payload, title="A title")
    task = await taken(TaskQueue(queue))
    assert (task.prompt, task.payload) == (shown, payload)


# Ending


async def test_a_completed_task_keeps_its_result(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    await taken(tasks)
    await tasks.complete(id, {"found": 5})
    task = await tasks.get(id)
    assert (task.status, task.result, task.retry_count) == (TaskStatus.COMPLETED, {"found": 5}, 0)
    assert task.completed_at is not None


async def test_a_failed_task_is_tried_again_and_then_failed_for_good(queue: dibs.Queue, clock: FakeClock) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    for wait_s in (1, 2, 4):
        await taken(tasks)
        await tasks.fail(id, f"no luck for {wait_s}", exit_code=7)
        assert await tasks.get_status(id) is TaskStatus.PENDING
        clock.advance(wait_s - 0.001)
        assert await tasks.dequeue(ADA, timeout_ms=0) is None
        clock.advance(0.001)
    assert (await taken(tasks)).retry_count == 3
    await tasks.fail(id, "never")
    task = await tasks.get(id)
    assert (task.status, task.error, task.retry_count) == (TaskStatus.FAILED, "never", 3)


async def test_a_failure_that_is_not_retryable_is_for_good(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    await taken(tasks)
    await tasks.fail(id, "the prompt makes no sense", retryable=False)
    assert await tasks.get_status(id) is TaskStatus.FAILED


async def test_code_that_does_not_parse_is_not_tried_again(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    await taken(tasks)
    await tasks.fail(id, "line 3", reason="syntax_error", exit_code=1)
    task = await tasks.get(id)
    assert (task.status, task.exit_code) == (TaskStatus.FAILED, 1)


async def test_who_did_not_dequeue_a_task_cannot_end_it(queue: dibs.Queue, other: dibs.Queue) -> None:
    ours, theirs = TaskQueue(queue), TaskQueue(other)
    id = await enqueued(ours)
    task = await taken(ours)
    for ending in (theirs.complete(id, {}), theirs.fail(id, "no")):
        with pytest.raises(LeaseLost) as refused:
            await ending
        assert refused.value.field == "task_id"
    assert await ours.get_status(id) is TaskStatus.RUNNING
    # With the fence it can: its own child, for instance.
    await theirs.complete(id, {"by": "child"}, fence=task.fence)
    assert await ours.get_status(id) is TaskStatus.COMPLETED


async def test_who_lost_a_task_cannot_end_it(queue: dibs.Queue, other: dibs.Queue, clock: FakeClock) -> None:
    ours, theirs = TaskQueue(queue), TaskQueue(other)
    id = await enqueued(ours)
    await taken(ours, "slow")
    clock.advance(61)
    await taken(theirs, "quick")
    with pytest.raises(LeaseLost):
        await ours.complete(id, {"late": True})
    await theirs.complete(id, {"late": False})
    assert (await ours.get(id)).result == {"late": False}


async def test_a_task_can_be_cancelled_at_any_time(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    waiting, running = await enqueued(tasks, priority=200), await enqueued(tasks, priority=1)
    assert (await taken(tasks)).id == running
    for id in (waiting, running):
        await tasks.cancel(id)
        await tasks.cancel(id)
        assert await tasks.get_status(id) is TaskStatus.CANCELLED


async def test_cancelling_what_is_completed_changes_nothing(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    await taken(tasks)
    await tasks.complete(id, {})
    await tasks.cancel(id)
    assert await tasks.get_status(id) is TaskStatus.COMPLETED


# Management


async def test_a_failed_task_can_be_retried_by_hand(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    await taken(tasks)
    await tasks.fail(id, "no", retryable=False)
    await tasks.retry(id)
    assert await tasks.get_status(id) is TaskStatus.PENDING
    assert (await taken(tasks)).retry_count == 0


async def test_a_completed_task_cannot_be_retried(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    await taken(tasks)
    await tasks.complete(id)
    with pytest.raises(IllegalTransition):
        await tasks.retry(id)


async def test_a_task_whose_worker_died_is_stalled_and_then_offered_again(queue: dibs.Queue, clock: FakeClock) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    await taken(tasks)
    clock.advance(61)
    assert await tasks.get_status(id) is TaskStatus.STALLED
    assert [task.id for task in await tasks.list_by_user("u", "stalled")] == []
    assert await tasks.requeue_stalled() == 1
    assert await tasks.get_status(id) is TaskStatus.PENDING
    assert await tasks.requeue_stalled() == 0
    assert (await taken(tasks, "another")).id == id


async def test_nobody_has_to_requeue_what_stalled(queue: dibs.Queue, clock: FakeClock) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    await taken(tasks)
    clock.advance(61)
    assert (await taken(tasks, "another")).id == id


async def test_a_shorter_age_takes_back_what_is_still_leased(queue: dibs.Queue, clock: FakeClock) -> None:
    tasks = TaskQueue(queue)
    silent, lively = await enqueued(tasks), await enqueued(tasks)
    await taken(tasks, "silent")
    await taken(tasks, "lively")
    clock.advance(20)
    await tasks.heartbeat("lively")
    assert await tasks.requeue_stalled(max_age_ms=20_000) == 1
    assert await tasks.get_status(silent) is TaskStatus.PENDING
    assert await tasks.get_status(lively) is TaskStatus.RUNNING
    assert (await queue.get(silent)).crashes == 1


async def test_long_work_with_heartbeats_is_never_taken_away(queue: dibs.Queue, clock: FakeClock) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    await taken(tasks)
    for _ in range(20):
        clock.advance(30)
        assert await tasks.heartbeat(ADA) == []
        assert await tasks.requeue_stalled() == 0
    await tasks.complete(id, {"took": "ten minutes"})
    assert await tasks.get_status(id) is TaskStatus.COMPLETED


async def test_who_asked_for_a_longer_lease_is_believed(queue: dibs.Queue, clock: FakeClock) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    await queue.claim("patient", lease="2h")
    clock.advance(3_600)
    assert await tasks.requeue_stalled(max_age_ms=1_000) == 0
    assert await tasks.get_status(id) is TaskStatus.RUNNING


async def test_requeueing_looks_only_at_the_types_of_the_queue(queue: dibs.Queue, clock: FakeClock) -> None:
    coders = TaskQueue(queue, types=["coder"])
    id = await enqueued(TaskQueue(queue))
    await taken(TaskQueue(queue))
    clock.advance(30)
    assert await coders.requeue_stalled(max_age_ms=10_000) == 0
    assert await coders.get_status(id) is TaskStatus.RUNNING


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("ends", [False, True])
async def test_who_is_heard_of_just_in_time_keeps_the_task(
    queue: dibs.Queue, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, ends: bool, late: bool
) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    await taken(tasks)
    clock.advance(30)
    verb = "fail" if late else "run_duties"
    asked = getattr(queue, verb)

    async def meanwhile(*args: Any, **options: Any) -> Any:
        monkeypatch.undo()
        await (tasks.complete(id, {"in": "time"}) if ends else tasks.heartbeat(ADA))
        return await asked(*args, **options)

    monkeypatch.setattr(queue, verb, meanwhile)
    # A heartbeat between the last look and the taking is too late; an ending is not.
    assert await tasks.requeue_stalled(max_age_ms=20_000) == (late and not ends)
    expected = TaskStatus.COMPLETED if ends else TaskStatus.PENDING if late else TaskStatus.RUNNING
    assert await tasks.get_status(id) is expected


async def test_what_stalls_again_and_again_has_failed(queue: dibs.Queue, clock: FakeClock) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    for back in (1, 1, 0):
        await taken(tasks)
        clock.advance(10)
        assert await tasks.requeue_stalled(max_age_ms=5_000) == back
    assert await tasks.get_status(id) is TaskStatus.FAILED


async def test_a_users_tasks_are_listed_by_status(queue: dibs.Queue, clock: FakeClock) -> None:
    tasks = TaskQueue(queue)
    ids = [await enqueued(tasks, text=f"p{n}", user_id="grace", priority=n, tags=["t"]) for n in range(4)]
    await enqueued(tasks, user_id="somebody else", priority=200)
    await taken(tasks)
    await tasks.complete(ids[0], {})
    await taken(tasks)
    await tasks.fail(ids[1], "no", retryable=False)
    await taken(tasks)
    assert [task.id for task in await tasks.list_by_user("grace")] == ids[::-1]
    by_status = {status: [task.id for task in await tasks.list_by_user("grace", status)] for status in TaskStatus}
    assert by_status == {
        "pending": [ids[3]],
        "running": [ids[2]],
        "completed": [ids[0]],
        "failed": [ids[1]],
        "cancelled": [],
        "stalled": [],
    }
    clock.advance(61)
    [stalled] = await tasks.list_by_user("grace", "STALLED")
    assert (stalled.id, stalled.status, stalled.prompt, stalled.tags) == (ids[2], TaskStatus.STALLED, "p2", ("t",))
    assert await tasks.list_by_user("grace", "running") == []


async def test_a_list_is_whole_however_long(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    await queue.add_many([dibs.NewTask("r", {"prompt": str(n)}, user="grace") for n in range(1_205)])
    assert len(await tasks.list_by_user("grace", "pending")) == 1_205


# Workers


async def test_a_worker_holds_no_more_than_its_capacity(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    await tasks.register_worker(ADA, capacity=2)
    for _ in range(3):
        await enqueued(tasks)
    first = await taken(tasks)
    await taken(tasks)
    assert await tasks.dequeue(ADA, timeout_ms=0) is None
    await tasks.complete(first.id or "")
    await taken(tasks)


async def test_a_heartbeat_says_what_to_stop(queue: dibs.Queue, other: dibs.Queue, clock: FakeClock) -> None:
    tasks = TaskQueue(queue)
    kept, cancelled, lost = [await enqueued(tasks, priority=n) for n in range(3)]
    for _ in range(3):
        await taken(tasks)
    await TaskQueue(other).cancel(cancelled)
    task = await queue.get(lost)
    await other.fail((lost, task.fence), "taken away", retry_after=0)
    assert await tasks.heartbeat(ADA) == [cancelled, lost]
    assert await tasks.heartbeat(ADA) == []
    await tasks.complete(kept, {})
    with pytest.raises(LeaseLost):
        await tasks.complete(cancelled, {})


async def test_a_heartbeat_of_an_idle_worker_is_heard(queue: dibs.Queue, clock: FakeClock) -> None:
    tasks = TaskQueue(queue)
    await tasks.heartbeat("idle")
    clock.advance(60)
    await tasks.heartbeat("idle")
    [agent] = await queue.agents()
    assert (agent.id, agent.status, agent.heard_at) == ("idle", "active", clock.now)


async def test_a_heartbeat_does_not_end_draining(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    await tasks.register_worker(ADA, 1)
    await queue.drain_agent(str(ADA))
    await tasks.heartbeat(ADA)
    [agent] = await queue.agents()
    assert agent.status == "draining"


async def test_a_worker_that_leaves_gives_back_what_it_holds(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    await tasks.register_worker(ADA, 5)
    id = await enqueued(tasks)
    await taken(tasks)
    await tasks.unregister_worker(ADA, "the night is over")
    found = await queue.get(id)
    assert (found.status, found.attempts) == ("ready", 0)
    [agent] = await queue.agents()
    assert (agent.status, agent.reason) == ("offline", "the night is over")
    with pytest.raises(LeaseLost):
        await tasks.complete(id)


async def test_a_worker_that_leaves_late_gives_back_nothing_that_others_have(
    queue: dibs.Queue, other: dibs.Queue, clock: FakeClock
) -> None:
    ours, theirs = TaskQueue(queue), TaskQueue(other)
    id = await enqueued(ours)
    await taken(ours, "slow")
    clock.advance(61)
    await taken(theirs, "quick")
    await ours.unregister_worker("slow", "too late")
    assert (await queue.get(id)).agent == "quick"
    await theirs.complete(id, {})


# Bad input


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt", ""),
        ("prompt", 5),
        ("subagent_type", None),
        ("subagent_type", "a\0b"),
        ("system_prompt", " "),
        ("model", 3),
        ("priority", -1),
        ("priority", "high"),
        ("priority", 1.5),
        ("max_retries", -1),
        ("max_retries", None),
        ("tags", "one"),
        ("tags", [""]),
        ("user_id", 7),
        ("parent_task", 12),
        ("id", "task_1"),
    ],
)
async def test_a_task_that_makes_no_sense_is_refused(queue: dibs.Queue, field: str, value: object) -> None:
    with pytest.raises(Invalid) as refused:
        await TaskQueue(queue).enqueue(prompt(**({"text": value} if field == "prompt" else {field: value})))  # type: ignore[arg-type]
    assert refused.value.field == field
    assert (await queue.stats()).by_status == {}


async def test_something_else_than_a_task_is_refused(queue: dibs.Queue) -> None:
    with pytest.raises(Invalid) as refused:
        await TaskQueue(queue).enqueue({"prompt": "p"})  # type: ignore[arg-type]
    assert refused.value.field == "task"


async def test_a_parent_that_nobody_knows_is_refused(queue: dibs.Queue) -> None:
    with pytest.raises(NotFound):
        await enqueued(TaskQueue(queue), parent_task=uuid4())
    assert (await queue.stats()).by_status == {}


async def test_arguments_that_make_no_sense_are_refused(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    id = await enqueued(tasks)
    await taken(tasks)
    wrong: list[tuple[str, Any]] = [
        ("worker_id", tasks.dequeue("")),
        ("timeout_ms", tasks.dequeue(ADA, timeout_ms=-1)),
        ("timeout_ms", tasks.dequeue(ADA, timeout_ms="5s")),  # type: ignore[arg-type]
        ("task_id", tasks.complete(5)),  # type: ignore[arg-type]
        ("fence", tasks.complete(id, fence=-1)),
        ("error", tasks.fail(id, None)),  # type: ignore[arg-type]
        ("retryable", tasks.fail(id, "e", retryable="yes")),  # type: ignore[arg-type]
        ("exit_code", tasks.fail(id, "e", exit_code="1")),  # type: ignore[arg-type]
        ("max_age_ms", tasks.requeue_stalled(-1)),
        ("user_id", tasks.list_by_user("")),
        ("status", tasks.list_by_user("u", "lost")),
        ("capacity", tasks.register_worker(ADA, 0)),
        ("agent_id", tasks.register_worker("", 1)),
        ("agent_id", tasks.heartbeat(None)),  # type: ignore[arg-type]
        ("reason", tasks.unregister_worker(ADA, "")),
    ]
    for field, call in wrong:
        with pytest.raises(Invalid) as refused:
            await call
        assert refused.value.field == field
    assert await tasks.get_status(id) is TaskStatus.RUNNING


async def test_a_task_that_nobody_knows_is_not_found(queue: dibs.Queue) -> None:
    tasks = TaskQueue(queue)
    for call in (tasks.get_status("task_x"), tasks.cancel(uuid4()), tasks.retry("task_x"), tasks.get("task_x")):
        with pytest.raises(NotFound):
            await call
    with pytest.raises(NotFound):
        await tasks.unregister_worker("nobody", "gone")


@pytest.mark.parametrize(("field", "options"), [("lease_ms", {"lease_ms": 10}), ("types", {"types": "coder"})])
async def test_a_queue_that_makes_no_sense_is_refused(queue: dibs.Queue, field: str, options: Any) -> None:
    with pytest.raises(Invalid) as refused:
        TaskQueue(queue, **options)
    assert refused.value.field == field
