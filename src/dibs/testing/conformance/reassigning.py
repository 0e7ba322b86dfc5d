"""Giving a task that nobody holds to somebody else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.errors import IllegalTransition, Invalid, NotFound
from dibs.testing.conformance.topic import Topic, events

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def names(queue: Queue, agent: str) -> list[object]:
    """The payloads of what an agent is handed out."""
    return [claim.task.payload for claim in await queue.claim(agent, limit=10)]


class Reassigning(Topic):
    async def test_a_task_goes_to_whom_it_is_given(self, queue: Queue, other: Queue) -> None:
        task = await queue.add("code", "a", assignee="ada")
        assert await names(other, "bob") == []
        given = await queue.reassign(task.id, "bob")
        assert (given.assignee, given.status) == ("bob", "ready")
        assert await names(queue, "ada") == []
        assert await names(other, "bob") == ["a"]
        assert await queue.store.check() == []

    async def test_it_is_for_anybody_again(self, queue: Queue, other: Queue) -> None:
        task = await queue.add("code", "a", assignee="ada")
        assert await names(other, "bob") == []
        assert (await queue.reassign(task, None)).assignee is None
        assert await names(other, "bob") == ["a"]

    async def test_it_keeps_its_rank(self, queue: Queue, clock: FakeClock) -> None:
        first = await queue.add("code", "old", assignee="ada", boost=1)
        clock.advance(3600)
        await queue.add("code", "new", assignee="bob", boost=1)
        await queue.add("code", "newest", assignee="bob", boost=1)
        await queue.reassign(first.id, "bob")
        assert await names(queue, "bob") == ["old", "new", "newest"]

    async def test_what_is_not_ready_yet_is_given_as_well(self, queue: Queue, clock: FakeClock) -> None:
        parent = await queue.add("first")
        pending = await queue.add("code", "pending", after=[parent])
        later = await queue.add("code", "later", run_after=60)
        for task in (pending, later):
            assert (await queue.reassign(task.id, "bob")).status == task.status
        clock.advance(61)
        [claim] = await queue.claim("ada", limit=10)
        assert claim.task.id == parent.id
        await queue.complete(claim)
        assert await names(queue, "ada") == []
        assert sorted(map(str, await names(queue, "bob"))) == ["later", "pending"]

    async def test_fallback_models_go_with_it(self, queue: Queue) -> None:
        task = await queue.add("code", "a", models=["big"], fallback_models=["small"], retry="immediate")
        await queue.reassign(task.id, "bob")
        for _ in range(2):
            [claim] = await queue.claim("bob", models=["big"])
            await queue.fail(claim, "no")
        assert await queue.claim("ada", models=["small"]) == []
        [claim] = await queue.claim("bob", models=["small"])
        assert claim.model == "small"

    async def test_who_waits_behind_a_lock_is_found_where_it_is_now(self, queue: Queue) -> None:
        await queue.add("code", "holder", locks=["repo"], assignee="ada", priority=1)
        waiting = await queue.add("code", "waiting", locks=["repo"], assignee="ada")
        [held] = await queue.claim("ada")
        assert await queue.claim("ada") == []
        assert (await queue.get(waiting.id)).parked_on is not None
        await queue.reassign(waiting.id, "bob")
        assert await names(queue, "bob") == []
        await queue.complete(held)
        assert await names(queue, "ada") == []
        assert await names(queue, "bob") == ["waiting"]
        assert await queue.store.check() == []

    async def test_it_is_told_once(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("code")
        clock.advance(1)
        given = await queue.reassign(task.id, "bob")
        clock.advance(1)
        assert (await queue.reassign(task.id, "bob")).updated_at == given.updated_at
        [event] = [event for event in await events(queue) if event.type == "task.reassigned"]
        assert (event.task_id, event.data) == (task.id, {"assignee": "bob"})

    async def test_what_somebody_works_on_stays_with_them(self, queue: Queue) -> None:
        task = await queue.add("code")
        [claim] = await queue.claim("ada")
        with pytest.raises(IllegalTransition, match="nobody holds it"):
            await queue.reassign(task.id, "bob")
        await queue.complete(claim)
        with pytest.raises(IllegalTransition, match="no longer matters"):
            await queue.reassign(task.id, "bob")
        assert (await queue.get(task.id)).assignee is None

    async def test_a_judge_is_never_the_author(self, queue: Queue) -> None:
        task = await queue.add("judge", assignee="!ada")
        with pytest.raises(IllegalTransition, match="anybody but ada"):
            await queue.reassign(task.id, "ada")

    async def test_a_wrong_assignee_is_refused(self, queue: Queue) -> None:
        task = await queue.add("code")
        for wrong in ("", " ", "x" * 201, "a\x00b", 5):
            with pytest.raises(Invalid) as caught:
                await queue.reassign(task.id, wrong)  # type: ignore[arg-type]
            assert caught.value.field == "assignee"
        assert await queue.get(task.id) == task

    async def test_a_task_that_is_not_there_cannot_be_given(self, queue: Queue) -> None:
        with pytest.raises(NotFound):
            await queue.reassign("task_nobody", "bob")
