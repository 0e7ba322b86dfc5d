"""Cancelling: at once, with what hangs on it, and so that whoever works on it hears of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.errors import IllegalTransition, LeaseLost, NotFound
from dibs.model.status import DagStatus, Outcome, Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, finish, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Cancelling(Topic):
    async def test_a_waiting_task_is_cancelled_at_once(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job")
        assert await queue.cancel(task.id, reason="not needed") == [task.id]
        task = await queue.get(task.id)
        assert (task.status, task.reason, task.cancel_reason) == (Status.CANCELLED, "cancelled", "not needed")
        assert (task.cancelled_at, task.attempts) == (clock.now, 0)
        assert await nothing(queue)
        assert (await story(queue, task.id))[-1] == "cancelled"

    async def test_every_status_that_is_not_final_can_be_cancelled(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        pending = await queue.add("pending", after=[parent])
        scheduled = await queue.add("scheduled", run_after="1h")
        await queue.add("retrying")
        retrying = (await queue.fail(await take(queue, "retrying"), "no")).task_id
        await queue.add("claimed")
        claimed = (await take(queue, "claimed", start=False)).task.id
        for task_id in (pending.id, scheduled.id, retrying, claimed, parent.id):
            assert await queue.cancel(task_id) == [task_id]
            assert await status(queue, task_id) == Status.CANCELLED

    async def test_cancelling_what_is_final_does_nothing(self, queue: Queue) -> None:
        task = await queue.add("job")
        await finish(queue, "job")
        seq = await queue.store.last_seq()
        assert await queue.cancel(task.id) == []
        assert await status(queue, task) == Status.COMPLETED
        gone = await queue.add("gone")
        await queue.cancel(gone.id)
        assert await queue.cancel(gone.id) == []
        assert await queue.store.last_seq() == seq + 3

    async def test_an_unknown_target_is_not_found(self, queue: Queue) -> None:
        for target in ("task_00000000000000000000000000", "dag_00000000000000000000000000"):
            with pytest.raises(NotFound):
                await queue.cancel(target)

    async def test_the_agent_hears_of_it_with_its_next_renewal(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.cancel(claim.task.id, reason="enough")
        news = await queue.renew(claim)
        assert news.cancel
        assert await status(queue, claim.task) == Status.CANCELLED

    async def test_the_agent_cannot_settle_a_cancelled_task_but_its_usage_is_kept_once(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.cancel(claim.task.id)
        assert await queue.history(claim.task.id) == []
        for _ in range(2):
            with pytest.raises(IllegalTransition):
                await queue.complete(claim, "done", cost=0.2)
        with pytest.raises(IllegalTransition):
            await queue.fail(claim, "stopped", cost=0.2)
        task = await queue.get(claim.task.id)
        assert (task.status, task.output, task.attempts) == (Status.CANCELLED, None, 0)
        (attempt,) = await queue.history(task.id)
        assert (attempt.outcome, attempt.number, attempt.cost_usd) == (Outcome.CANCELLED, 0, 0.2)

    async def test_the_attempt_of_a_silent_agent_is_written_when_its_lease_ends(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add("job")
        claim = await take(queue, lease=10)
        await queue.cancel(claim.task.id)
        await elapse(queue, clock, 8)
        assert await queue.history(claim.task.id) == []
        await elapse(queue, clock, 4)
        (attempt,) = await queue.history(claim.task.id)
        assert (attempt.outcome, attempt.number) == (Outcome.CANCELLED, 0)
        assert await status(queue, claim.task) == Status.CANCELLED

    async def test_a_completion_that_came_first_wins(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.complete(claim, "done")
        assert await queue.cancel(claim.task.id) == []
        assert (await queue.get(claim.task.id)).output == "done"

    async def test_dependents_are_cancelled_too(self, queue: Queue) -> None:
        a = await queue.add("a")
        b = await queue.add("b", after=[a])
        c = await queue.add("c", after=[b])
        assert set(await queue.cancel(a.id)) == {a.id, b.id, c.id}
        task = await queue.get(c.id)
        assert (task.status, task.reason, task.cause) == (Status.CANCELLED, "dependency_failed", a.id)
        assert (await queue.get_dag(a.dag_id)).status == DagStatus.CANCELLED

    async def test_children_are_cancelled_too(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        (child,) = await queue.spawn(claim, [NewTask("child")])
        running = await take(queue, "child")
        assert set(await queue.cancel(claim.task.id)) == {claim.task.id, child.id}
        assert (await queue.get(child.id)).reason == "parent_cancelled"
        assert (await queue.renew(running)).cancel

    async def test_what_a_cancelled_parent_spawns_is_refused(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        await queue.cancel(claim.task.id)
        with pytest.raises(LeaseLost):
            await queue.spawn(claim, [NewTask("child")])
        assert (await queue.find(type="child")).items == []

    async def test_cancelling_a_dag_cancels_all_that_is_not_final(self, queue: Queue) -> None:
        dag = await queue.add_dag(
            "Stop", [NewTask("a", ref="a"), NewTask("b"), NewTask("c", after=["a"]), NewTask("d", after_ended=["a"])]
        )
        await finish(queue, "b")
        running = await take(queue, "a")
        a, b, c, d = (task.id for task in dag.tasks)
        assert set(await queue.cancel(dag.id, reason="stop")) == {a, c, d}
        stopped = await queue.get_dag(dag.id)
        assert (stopped.status, stopped.counts) == (DagStatus.CANCELLED, {"completed": 1, "cancelled": 3})
        assert (await queue.renew(running)).cancel
        assert (await story(queue, dag.id))[-1] == "cancelled"
        assert await queue.cancel(dag.id) == []
        assert await status(queue, b) == Status.COMPLETED

    async def test_cancelling_a_virtual_dag_cancels_its_task(self, queue: Queue) -> None:
        task = await queue.add("alone")
        assert await queue.cancel(task.dag_id) == [task.id]
        assert await status(queue, task) == Status.CANCELLED

    async def test_cancelling_crosses_dags_along_edges(self, queue: Queue) -> None:
        one = await queue.add_dag("One", [NewTask("a")])
        two = await queue.add_dag("Two", [NewTask("b", after=[one.tasks[0].id]), NewTask("c")])
        await queue.cancel(one.id)
        dependent, free = (await queue.get_dag(two.id)).tasks
        assert (dependent.status, dependent.reason) == (Status.CANCELLED, "dependency_failed")
        assert free.status == Status.READY

    async def test_cancelling_a_long_chain_reaches_its_end(self, queue: Queue) -> None:
        tasks = [NewTask("link", ref=f"t{n}", after=[f"t{n - 1}"] if n else []) for n in range(1200)]
        added = await queue.add_many(tasks)
        ended = await queue.cancel(added[0].id)
        assert sorted(ended) == sorted(task.id for task in added)
        assert await nothing(queue)
        assert await status(queue, added[-1]) == Status.CANCELLED
