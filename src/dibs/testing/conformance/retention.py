"""Retention: what ended long ago is forgotten, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.errors import IllegalTransition, NotFound
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, events, finish, kill, status, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

WEEK = 7 * 86_400


class Retention(Topic):
    @pytest.mark.routing
    async def test_completed_and_cancelled_tasks_go_after_a_week(self, queue: Queue, clock: FakeClock) -> None:
        done, stopped = await queue.add("done"), await queue.add("stopped")
        claim = await take(queue, "done")
        await queue.checkpoint(claim, 1)
        await queue.complete(claim)
        await queue.cancel(stopped.id)
        clock.advance(WEEK - 10)
        assert await queue.prune() == 0
        clock.advance(20)
        assert await queue.prune() == 2
        for task in (done, stopped):
            with pytest.raises(NotFound):
                await queue.get(task.id)
        with pytest.raises(NotFound):
            await queue.history(done.id)
        with pytest.raises(NotFound):
            await queue.get_dag(done.dag_id)
        assert await queue.store.check() == []

    async def test_live_tasks_and_dead_letters_stay(self, queue: Queue, clock: FakeClock) -> None:
        live, dead = await queue.add("live", run_after="30d"), await queue.add("dead")
        await kill(queue, "dead")
        clock.advance(3 * WEEK)
        assert await queue.prune() == 0
        assert await status(queue, live) == Status.SCHEDULED
        assert await status(queue, dead) == Status.DEAD_LETTERED

    async def test_a_dag_goes_only_as_a_whole(self, queue: Queue, clock: FakeClock) -> None:
        dag = await queue.add_dag("Slow", [NewTask("a", ref="a"), NewTask("b", after=["a"])])
        await finish(queue, "a", "kept")
        clock.advance(2 * WEEK)
        assert await queue.prune() == 0
        assert (await take(queue, "b")).inputs == {"a": "kept"}
        await queue.complete((dag.tasks[1].id, 1))
        clock.advance(2 * WEEK)
        assert await queue.prune() == 2
        with pytest.raises(NotFound):
            await queue.get_dag(dag.id)

    async def test_what_was_spawned_goes_with_its_parent(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("parent")
        await queue.spawn(await take(queue, "parent"), [NewTask("child"), NewTask("child")], wait=True)
        for type in ("child", "child", "parent"):
            await finish(queue, type)
        clock.advance(2 * WEEK)
        assert await queue.prune() == 3
        assert (await queue.find()).items == []
        assert await queue.store.check() == []

    async def test_what_a_live_task_depends_on_stays(self, queue: Queue, clock: FakeClock) -> None:
        parent = await queue.add("parent")
        await finish(queue, "parent", "kept")
        other_dag = await queue.add_dag("Own", [NewTask("child", after=[parent.id])])
        clock.advance(2 * WEEK)
        assert await queue.prune() == 0
        claim = await take(queue, "child")
        assert claim.inputs == {parent.id: "kept"}
        await queue.complete(claim)
        clock.advance(2 * WEEK)
        assert await queue.prune() == 2
        with pytest.raises(NotFound):
            await queue.get_dag(other_dag.id)

    async def test_what_was_cancelled_stays_until_its_agent_has_stopped(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("job", locks=["repo"]), NewTask("job", locks=["repo"])])
        claim = await take(queue, lease=3600)
        await queue.cancel(claim.task)
        clock.advance(100)
        assert await queue.store.prune(10, 100) == 0
        [lock] = await queue.locks()
        assert [holder.task_id for holder in lock.holders] == [claim.task.id]
        with pytest.raises(IllegalTransition):
            await queue.complete(claim)
        assert await queue.store.prune(10, 100) == 1
        await take(queue)
        assert await queue.store.check() == []

    async def test_a_key_is_free_again_after_pruning(self, queue: Queue, clock: FakeClock) -> None:
        old = await queue.add("job", 1, key="k")
        await finish(queue, "job")
        clock.advance(WEEK + 1)
        await queue.prune()
        assert (await queue.add("job", 2, key="k")).id != old.id

    @pytest.mark.door
    async def test_old_events_go_and_leave_a_gap_that_is_told(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("old")
        await finish(queue, "old")
        lost = await queue.store.last_seq()
        clock.advance(WEEK + 1)
        await queue.add("new")
        await queue.prune()
        kept = await events(queue)
        assert (kept[0].type, kept[0].seq) == ("gap", lost)
        assert [event.seq for event in kept[1:]] == [lost + 1, lost + 2]
        assert await queue.read_events(after=lost) == kept[1:]
        assert await queue.store.last_seq() == lost + 2

    async def test_numbers_go_on_after_everything_was_pruned(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("old")
        await finish(queue, "old")
        lost = await queue.store.last_seq()
        clock.advance(WEEK + 1)
        await queue.prune()
        assert await queue.store.last_seq() == lost
        await queue.add("new")
        assert [event.seq for event in await queue.read_events(after=lost)] == [lost + 1, lost + 2]
