"""Idempotency: adding the same work again, by key, by content, many times at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dibs.errors import KeyReused
from dibs.model.status import Status
from dibs.model.task import CONTENT, NewTask
from dibs.testing.conformance.topic import Topic, finish, kill

if TYPE_CHECKING:
    from dibs.queue import Queue


class Idempotency(Topic):
    async def test_the_same_key_and_body_returns_the_existing_task(self, queue: Queue) -> None:
        first = await queue.add("job", {"a": 1, "b": 2}, key="k")
        again = await queue.add("job", {"b": 2, "a": 1}, key="k")
        assert again.id == first.id
        await finish(queue, "job", "out")
        done = await queue.add("job", {"a": 1, "b": 2}, key="k")
        assert (done.id, done.status, done.output) == (first.id, Status.COMPLETED, "out")

    @pytest.mark.door
    async def test_the_same_key_with_another_body_is_refused(self, queue: Queue) -> None:
        first = await queue.add("job", 1, key="k")
        for type, payload in (("job", 2), ("other", 1)):
            with pytest.raises(KeyReused):
                await queue.add(type, payload, key="k")
        assert [task.id for task in (await queue.find()).items] == [first.id]

    async def test_a_key_is_free_again_when_its_task_was_cancelled_or_died(self, queue: Queue) -> None:
        first = await queue.add("job", 1, key="k")
        await queue.cancel(first.id)
        second = await queue.add("job", 2, key="k")
        await kill(queue, "job")
        third = await queue.add("job", 3, key="k")
        assert len({first.id, second.id, third.id}) == 3

    async def test_a_reused_key_means_nothing_of_the_call_is_added(self, queue: Queue) -> None:
        first = await queue.add("job", 1, key="k")
        with pytest.raises(KeyReused):
            await queue.add_many([NewTask("other"), NewTask("job", 2, key="k")])
        assert [task.id for task in (await queue.find()).items] == [first.id]

    async def test_one_key_twice_in_one_call_is_one_task(self, queue: Queue) -> None:
        one, two = await queue.add_many([NewTask("job", 1, key="k"), NewTask("job", 1, key="k")])
        assert one.id == two.id
        assert len((await queue.find()).items) == 1

    async def test_an_existing_task_may_be_depended_on_in_the_same_call(self, queue: Queue) -> None:
        first = await queue.add("job", 1, key="k")
        again, child = await queue.add_many([NewTask("job", 1, key="k", ref="a"), NewTask("child", after=["a"])])
        assert again.id == first.id
        assert (child.status, child.depends_on) == (Status.PENDING, (first.id,))

    async def test_two_drafts_that_are_one_task_are_one_parent(self, queue: Queue) -> None:
        one, _, child, other = await queue.add_many(
            [
                NewTask("job", 1, key="k", ref="a"),
                NewTask("job", 1, key="k", ref="b"),
                NewTask("child", after=["b", "a"]),
                NewTask("child", after=["b"]),
            ]
        )
        assert child.depends_on == child.blocked_by == other.depends_on == (one.id,)
        assert child.dag_id == other.dag_id == one.dag_id
        assert (await queue.get(child.id)).status is Status.PENDING

    async def test_a_key_made_of_the_content(self, queue: Queue) -> None:
        first = await queue.add("job", {"a": 1, "b": [2]}, key=CONTENT)
        assert (await queue.add("job", {"b": [2], "a": 1}, key=CONTENT)).id == first.id
        assert first.key is not None
        assert len(first.key) == 64
        assert (await queue.add("job", {"a": 1}, key=CONTENT)).id != first.id
        assert (await queue.add("other", {"a": 1, "b": [2]}, key=CONTENT)).id != first.id

    async def test_tasks_without_a_key_are_never_the_same(self, queue: Queue) -> None:
        assert (await queue.add("job", 1)).id != (await queue.add("job", 1)).id

    @pytest.mark.door
    @pytest.mark.routing
    async def test_fifty_adds_at_once_with_one_key_make_one_task(self, queue: Queue, other: Queue) -> None:
        answers = await asyncio.gather(*[(queue, other)[n % 2].add("job", {"n": 1}, key="k") for n in range(50)])
        assert len({task.id for task in answers}) == 1
        assert len((await queue.find()).items) == 1
