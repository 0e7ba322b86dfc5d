"""`QueueRuntime`: batches of what goes together, reasons not to take any, and who is told how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.adapters import Blocked, DequeuedBatch, QueueItem, QueueRuntime
from dibs.adapters.items import COALESCES, KINDS, coalesce_key, item_of, new_task
from dibs.errors import Conflict, Invalid, LeaseLost, Unavailable
from dibs.model.task import Task

if TYPE_CHECKING:
    from dibs.testing import FakeClock

BARRIERS = [kind for kind in KINDS if not COALESCES[kind]]


def item(kind: str = "message", **fields: Any) -> QueueItem:
    body = {"content": "hello"} if kind == "message" else {"text": "hello"}
    return QueueItem(**{"kind": kind, **body, **fields})


async def taken(runtime: QueueRuntime) -> DequeuedBatch:
    """The next batch; the test needs that there is one."""
    batch = await runtime.try_dequeue()
    assert batch is not None
    return batch


async def enqueued(runtime: QueueRuntime, clock: FakeClock, *items: QueueItem) -> list[str]:
    """Add these items and wait until they have gathered; their ids."""
    ids = [(await runtime.enqueue(each)).id or "" for each in items]
    clock.advance(0.05)
    return ids


# Adding


async def test_an_item_is_kept_with_all_that_it_says(queue: dibs.Queue, clock: FakeClock) -> None:
    runtime = QueueRuntime(queue)
    asked = item(
        content=[{"type": "text", "text": "hi"}],
        source="hook",
        agent_id="agent-1",
        conversation_id="conv-1",
        client_message_id="client-1",
        scope_key="s",
        is_coalescable=True,
        subagent_type="coder",
        prompt="p",
        model="opus",
        existing_agent_id="agent-2",
        existing_conversation_id="conv-2",
        max_turns=7,
        priority=3,
        max_attempts=5,
        backoff_multiplier=3.0,
        max_backoff_ms=60_000,
    )
    added = await runtime.enqueue(asked)
    assert added.id is not None
    assert added.enqueued_at == int(clock.now.timestamp() * 1000)
    clock.advance(0.05)
    [found] = (await taken(runtime)).items
    for name in QueueItem.__struct_fields__:
        if name not in ("id", "enqueued_at", "fence"):
            assert getattr(found, name) == getattr(asked, name), name
    task = await queue.get(added.id)
    assert (task.type, task.priority, task.max_attempts, task.max_turns) == ("message", 30, 5, 7)
    assert (task.models, task.created_by) == (("opus",), "hook:agent-1")


async def test_the_usual_item_has_the_usual_limits(queue: dibs.Queue) -> None:
    added = await QueueRuntime(queue).enqueue(item())
    task = await queue.get(added.id)
    assert (task.priority, task.max_attempts) == (50, 3)
    assert task.retry == dibs.Retry(delay=1.0, multiplier=2.0, cap=300.0, jitter=0.1)
    assert (added.source, added.priority, added.max_attempts, added.max_backoff_ms) == ("user", 5, 3, 300_000)


async def test_an_item_waits_until_its_time(queue: dibs.Queue, clock: FakeClock) -> None:
    runtime = QueueRuntime(queue, coalescing_window_ms=0)
    at = int(clock.now.timestamp() * 1000) + 1_500
    added = await runtime.enqueue(item(run_after=at))
    assert added.run_after == at
    assert await runtime.try_dequeue() is None
    clock.advance(1.5)
    assert (await taken(runtime)).items[0].run_after == at


# Batches


async def test_messages_of_one_conversation_are_one_batch(queue: dibs.Queue, clock: FakeClock) -> None:
    runtime = QueueRuntime(queue)
    one = {"agent_id": "a", "conversation_id": "1"}
    two = {"agent_id": "a", "conversation_id": "2"}
    ids = await enqueued(runtime, clock, *(item(content=n, **(one if n != 1 else two)) for n in range(4)))
    batch = await taken(runtime)
    assert [each.content for each in batch.items] == [0, 2, 3]
    assert [each.id for each in batch.items] == [ids[0], ids[2], ids[3]]
    assert (batch.merged_count, batch.queue_len_after) == (3, 1)
    last = await taken(runtime)
    assert ([each.content for each in last.items], last.merged_count, last.queue_len_after) == ([1], 1, 0)
    assert batch.batch_id != last.batch_id
    assert await runtime.try_dequeue() is None


async def test_a_scope_key_says_what_goes_together(queue: dibs.Queue, clock: FakeClock) -> None:
    runtime = QueueRuntime(queue)
    await enqueued(
        runtime, clock, item(scope_key="s", agent_id="a"), item(scope_key="s", agent_id="b"), item(agent_id="a")
    )
    assert (await taken(runtime)).merged_count == 2


@pytest.mark.parametrize("kind", BARRIERS)
async def test_what_is_no_message_comes_alone(queue: dibs.Queue, clock: FakeClock, kind: str) -> None:
    runtime = QueueRuntime(queue)
    await enqueued(runtime, clock, item(kind), item(kind))
    batch = await taken(runtime)
    assert (batch.merged_count, batch.queue_len_after, batch.items[0].text) == (1, 1, "hello")


async def test_an_item_may_say_otherwise(queue: dibs.Queue, clock: FakeClock) -> None:
    runtime = QueueRuntime(queue)
    alone, together = item(is_coalescable=False, priority=0), item("task_notification", is_coalescable=True)
    await enqueued(runtime, clock, alone, alone, together, together)
    assert [(await taken(runtime)).merged_count for _ in range(3)] == [1, 1, 2]


async def test_what_still_gathers_is_waited_for(url: str) -> None:
    async with dibs.connect(url) as queue:
        runtime = QueueRuntime(queue)
        await runtime.enqueue(item())
        assert (await taken(runtime)).merged_count == 1


async def test_a_runtime_for_some_kinds_leaves_the_others(queue: dibs.Queue, clock: FakeClock) -> None:
    runtime = QueueRuntime(queue, kinds=["approval_result"])
    await enqueued(runtime, clock, item(), item("approval_result"))
    await queue.add("research")
    batch = await taken(runtime)
    assert ([each.kind for each in batch.items], batch.queue_len_after) == (["approval_result"], 0)
    assert await runtime.try_dequeue() is None


async def test_the_name_that_the_interface_knows_is_there(queue: dibs.Queue, clock: FakeClock) -> None:
    runtime = QueueRuntime(queue)
    await enqueued(runtime, clock, item())
    assert await runtime.tryDequeue("streaming") is None
    batch = await runtime.tryDequeue(None)
    assert batch is not None
    assert batch.merged_count == 1


async def test_a_batch_that_could_not_be_read_is_left_to_others(
    queue: dibs.Queue, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = QueueRuntime(queue)
    ids = await enqueued(runtime, clock, item(), item())

    async def away() -> int:
        raise Unavailable("the store is away")

    monkeypatch.setattr(runtime, "queue_length", away)
    with pytest.raises(Unavailable):
        await runtime.try_dequeue()
    assert {(await queue.get(id)).status for id in ids} == {"ready"}


def test_no_two_scopes_share_a_key() -> None:
    scopes = [
        item(agent_id="a", conversation_id="b:c"),
        item(agent_id="a:b", conversation_id="c"),
        item(agent_id="a"),
        item(conversation_id="a"),
        item(),
        item(scope_key="a"),
        item(agent_id="x" * 200, conversation_id="y" * 200),
        item(agent_id="x" * 200, conversation_id="z" * 200),
    ]
    keys = [coalesce_key(each) for each in scopes]
    assert len(set(keys)) == len(scopes)
    assert all(key is not None and len(key) <= 200 for key in keys)


def test_a_task_that_others_added_is_an_item_of_some_sort() -> None:
    found = item_of(Task(id="task_1", type="message", payload="plain"))
    assert (found.kind, found.content, found.id, found.enqueued_at) == ("message", "plain", "task_1", None)


# Blocked


async def test_while_it_is_blocked_nothing_is_taken_and_each_reason_is_told_once(
    queue: dibs.Queue, clock: FakeClock
) -> None:
    told: list[Blocked] = []
    runtime = QueueRuntime(queue, on_blocked=told.append)
    assert await runtime.try_dequeue("streaming") is None
    assert told == []
    await enqueued(runtime, clock, item("approval_result"), item("approval_result"))
    for reason in ("streaming", "streaming", "pending_approvals", "pending_approvals"):
        assert await runtime.try_dequeue(reason) is None
    assert told == [Blocked(reason="streaming", queue_len=2), Blocked(reason="pending_approvals", queue_len=2)]
    await taken(runtime)
    await runtime.try_dequeue("pending_approvals")
    assert told[2:] == [Blocked(reason="pending_approvals", queue_len=1)]


async def test_what_arrives_while_it_is_blocked_is_told_again(queue: dibs.Queue, clock: FakeClock) -> None:
    told: list[Blocked] = []
    runtime, elsewhere = QueueRuntime(queue, on_blocked=told.append), QueueRuntime(queue)
    await enqueued(runtime, clock, item())
    await runtime.try_dequeue("streaming")
    await taken(elsewhere)
    await runtime.try_dequeue("streaming")
    await enqueued(runtime, clock, item())
    await runtime.try_dequeue("streaming")
    assert len(told) == 2


# Ending


async def test_a_batch_is_completed_and_told(queue: dibs.Queue, clock: FakeClock) -> None:
    told: list[tuple[str | None, Any]] = []

    async def done(ended: QueueItem, result: Any) -> None:
        told.append((ended.id, result))

    runtime = QueueRuntime(queue, on_task_completed=done)
    ids = await enqueued(runtime, clock, item(), item(), item())
    batch = await taken(runtime)
    await runtime.complete(batch, {"answer": 1})
    assert told == [(id, {"answer": 1}) for id in ids]
    assert [(await queue.get(id)).output for id in ids] == [{"answer": 1}] * 3
    with pytest.raises(LeaseLost):
        await runtime.complete(batch, {"answer": 2})


async def test_one_item_may_end_otherwise_than_the_rest(queue: dibs.Queue, clock: FakeClock) -> None:
    runtime = QueueRuntime(queue)
    ids = await enqueued(runtime, clock, item(), item(), item())
    batch = await taken(runtime)
    await runtime.fail(batch.items[1], "not this one", retryable=False)
    await runtime.complete(batch)
    assert [(await queue.get(id)).status for id in ids] == ["completed", "dead_lettered", "completed"]


async def test_a_failed_batch_is_tried_again_together_and_given_up_once(queue: dibs.Queue, clock: FakeClock) -> None:
    told: list[tuple[str | None, str]] = []
    runtime = QueueRuntime(queue, on_task_failed=lambda ended, error: told.append((ended.id, error)))
    ids = await enqueued(runtime, clock, item(), item())
    for attempt in range(3):
        batch = await taken(runtime)
        assert (batch.merged_count, batch.items[0].attempt_count, told) == (2, attempt, [])
        await runtime.fail(batch, "no")
        clock.advance(1.1 * 2**attempt)
    assert told == [(id, "no") for id in ids]
    assert await runtime.try_dequeue() is None


async def test_a_callback_that_raises_changes_nothing(
    queue: dibs.Queue, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    calls = []

    def broken(ended: QueueItem, result: Any) -> None:
        calls.append(ended.id)
        raise RuntimeError("the screen is gone")

    runtime = QueueRuntime(queue, on_task_completed=broken)
    ids = await enqueued(runtime, clock, item(), item())
    await runtime.complete(await taken(runtime))
    assert calls == ids
    assert {(await queue.get(id)).status for id in ids} == {"completed"}
    assert "the screen is gone" in caplog.text


async def test_who_lost_an_item_cannot_end_it_but_ends_the_rest(
    queue: dibs.Queue, other: dibs.Queue, clock: FakeClock
) -> None:
    told: list[str | None] = []
    runtime = QueueRuntime(queue, on_task_completed=lambda ended, _: told.append(ended.id))
    lost, kept = await enqueued(runtime, clock, item(), item())
    batch = await taken(runtime)
    await other.fail((lost, batch.items[0].fence or 0), "taken away", retry_after=0)
    with pytest.raises(Conflict):
        await runtime.complete(batch)
    assert told == [kept]
    assert (await queue.get(lost)).status == "ready"


async def test_a_runtime_that_dies_loses_its_batch_to_the_next(queue: dibs.Queue, clock: FakeClock) -> None:
    first, second = QueueRuntime(queue), QueueRuntime(queue)
    await enqueued(first, clock, item("overlay_action"))
    old = await taken(first)
    clock.advance(61)
    await second.complete(await taken(second))
    with pytest.raises(LeaseLost):
        await first.complete(old)


async def test_a_long_turn_with_heartbeats_is_never_taken_away(queue: dibs.Queue, clock: FakeClock) -> None:
    runtime = QueueRuntime(queue, lease_ms=30_000)
    await enqueued(runtime, clock, item(), item())
    batch = await taken(runtime)
    for _ in range(30):
        clock.advance(20)
        await queue.run_duties()
        assert await runtime.heartbeat() == []
    await queue.cancel(batch.items[0].id)
    assert await runtime.heartbeat() == [batch.items[0].id]
    await runtime.complete(batch)
    assert (await queue.get(batch.items[1].id)).status == "completed"


async def test_closing_gives_back_what_was_taken(queue: dibs.Queue, clock: FakeClock) -> None:
    runtime = QueueRuntime(queue)
    ids = await enqueued(runtime, clock, item(), item())
    await taken(runtime)
    await runtime.close()
    assert {((await queue.get(id)).status, (await queue.get(id)).attempts) for id in ids} == {("ready", 0)}


# Bad input


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("kind", {"kind": "email"}),
        ("kind", {"kind": ["message"]}),
        ("source", {"source": "nobody"}),
        ("content", {"content": None}),
        ("text", {"kind": "approval_result", "text": None}),
        ("text", {"kind": "overlay_action", "text": " "}),
        ("text", {"kind": "approval_result", "text": None, "prompt": "p"}),
        ("prompt", {"kind": "task_notification", "text": None, "prompt": 5}),
        ("agent_id", {"agent_id": ""}),
        ("conversation_id", {"conversation_id": 5}),
        ("client_message_id", {"client_message_id": "a\0"}),
        ("scope_key", {"scope_key": "x" * 201}),
        ("model", {"model": 1}),
        ("existing_agent_id", {"existing_agent_id": ""}),
        ("is_coalescable", {"is_coalescable": "no"}),
        ("max_turns", {"max_turns": 0}),
        ("priority", {"priority": 10}),
        ("max_attempts", {"max_attempts": 0}),
        ("backoff_multiplier", {"backoff_multiplier": 0.5}),
        ("max_backoff_ms", {"max_backoff_ms": -1}),
        ("run_after", {"run_after": "tomorrow"}),
        ("run_after", {"run_after": 5}),
        ("id", {"id": "task_1"}),
        ("enqueued_at", {"enqueued_at": 5}),
        ("payload", {"content": {1, 2}}),
    ],
)
async def test_an_item_that_makes_no_sense_is_refused(queue: dibs.Queue, field: str, fields: dict[str, Any]) -> None:
    body = {"kind": "message", "content": "hello"} | fields
    with pytest.raises(Invalid) as refused:
        await QueueRuntime(queue).enqueue(QueueItem(**body))
    assert refused.value.field == field
    assert (await queue.stats()).by_status == {}


def test_something_else_than_an_item_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        new_task({"kind": "message"})  # type: ignore[arg-type]
    assert refused.value.field == "item"


async def test_arguments_that_make_no_sense_are_refused(queue: dibs.Queue, clock: FakeClock) -> None:
    runtime = QueueRuntime(queue)
    await enqueued(runtime, clock, item())
    batch = await taken(runtime)
    wrong: list[tuple[str, Any]] = [
        ("blocked_reason", runtime.try_dequeue("")),
        ("taken", runtime.complete("item")),  # type: ignore[arg-type]
        ("taken", runtime.complete(item())),
        ("output", runtime.complete(batch, "x" * (16 << 20))),
        ("error", runtime.fail(batch, None)),  # type: ignore[arg-type]
        ("retryable", runtime.fail(batch, "e", retryable=1)),  # type: ignore[arg-type]
    ]
    for field, call in wrong:
        with pytest.raises(Invalid) as refused:
            await call
        assert refused.value.field == field
    # It is still held: nothing of this has ended it.
    await runtime.complete(batch)


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("worker_id", {"worker_id": ""}),
        ("kinds", {"kinds": ["email"]}),
        ("kinds", {"kinds": "message"}),
        ("kinds", {"kinds": []}),
        ("coalescing_window_ms", {"coalescing_window_ms": -1}),
        ("lease_ms", {"lease_ms": 999}),
    ],
)
async def test_a_runtime_that_makes_no_sense_is_refused(queue: dibs.Queue, field: str, options: Any) -> None:
    with pytest.raises(Invalid) as refused:
        QueueRuntime(queue, **options)
    assert refused.value.field == field
