"""The journal: durable steps, checkpoints and log lines of a running task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.errors import Conflict, LeaseLost
from dibs.stores.values import Entry
from dibs.testing.conformance.topic import Topic, elapse, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


def step(name: str, value: bytes, digest: str = "d") -> Entry:
    return Entry(kind="step", name=name, digest=digest, value=value)


class Journal(Topic):
    async def test_the_last_checkpoint_reaches_the_next_attempt(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        assert claim.checkpoint is None
        await queue.checkpoint(claim, {"page": 1})
        await queue.checkpoint(claim, {"page": 2})
        await queue.release(claim)
        assert (await take(queue)).checkpoint == {"page": 2}
        assert [entry.kind for entry in await queue.journal(claim.task.id)] == ["checkpoint"]

    @pytest.mark.door
    @pytest.mark.routing
    async def test_a_step_is_written_once(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        assert await queue.record(claim, [step("search", b'"first"')]) == [step("search", b'"first"')]
        assert await queue.record(claim, [step("search", b'"second"')]) == [step("search", b'"first"')]
        assert await queue.journal(claim.task.id) == [step("search", b'"first"')]

    async def test_a_step_of_the_same_name_with_another_body_is_refused(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.record(claim, [step("search", b"1", "one")])
        with pytest.raises(Conflict) as caught:
            await queue.record(claim, [step("other", b"3"), step("search", b"2", "two")])
        assert caught.value.code == "journal_mismatch"
        assert await queue.journal(claim.task.id) == [step("search", b"1", "one")]

    async def test_steps_outlive_their_attempt(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=10)
        await queue.record(claim, [step("a", b"1"), step("b", b"[2]")])
        await elapse(queue, clock, 12)
        again = await take(queue)
        assert again.fence == 2
        assert await queue.journal(again.task.id) == [step("a", b"1"), step("b", b"[2]")]
        with pytest.raises(LeaseLost):
            await queue.record(claim, [step("c", b"3")])

    @pytest.mark.door
    async def test_log_lines_keep_their_order_and_the_last_thousand(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.log(claim, "first")
        lines = [Entry(kind="log", value=b"%d" % number) for number in range(1000)]
        await queue.record(claim, lines[:600])
        await queue.record(claim, lines[600:])
        kept = [entry.value for entry in await queue.journal(claim.task.id)]
        assert kept == [line.value for line in lines]

    async def test_entries_come_back_in_the_order_first_written(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.record(claim, [step("a", b"1")])
        await queue.checkpoint(claim, 1)
        await queue.log(claim, "line")
        await queue.record(claim, [step("b", b"2")])
        await queue.checkpoint(claim, 2)
        assert [(entry.kind, entry.value) for entry in await queue.journal(claim.task.id)] == [
            ("step", b"1"),
            ("checkpoint", b"2"),
            ("log", b'"line"'),
            ("step", b"2"),
        ]

    async def test_retry_without_steps_forgets_steps_and_spawns(self, queue: Queue) -> None:
        task = await queue.add("job")
        claim = await take(queue)
        await queue.record(claim, [step("a", b"1")])
        await queue.fail(claim, "no", retry=False)
        await queue.retry(task.id)
        assert await queue.journal(task.id) == [step("a", b"1")]
        await queue.fail(await take(queue), "no", retry=False)
        await queue.retry(task.id, keep_steps=False)
        assert [entry for entry in await queue.journal(task.id) if entry.kind == "step"] == []
        assert await queue.record(await take(queue), [step("a", b"2", "other")]) == [step("a", b"2", "other")]

    async def test_the_journals_of_tasks_are_apart(self, queue: Queue) -> None:
        await queue.add("one")
        await queue.add("two")
        one, two = await take(queue, "one"), await take(queue, "two")
        await queue.record(one, [step("a", b"1")])
        assert await queue.record(two, [step("a", b"2")]) == [step("a", b"2")]
