"""Deadlines: noticed once when they pass, and obeyed where the task says so."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from dibs.model.status import DagStatus, Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, events, finish, status, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Deadlines(Topic):
    async def test_a_deadline_that_passes_is_told_once(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", deadline="1m")
        assert task.deadline == clock.now + timedelta(minutes=1)
        await elapse(queue, clock, 58)
        assert not (await queue.get(task.id)).overdue
        for _ in range(3):
            await elapse(queue, clock, 5)
        task = await queue.get(task.id)
        assert (task.overdue, task.status) == (True, Status.READY)
        told = [event for event in await events(queue) if event.type == "task.overdue"]
        assert [event.task_id for event in told] == [task.id]
        await finish(queue, "job")

    async def test_a_task_that_ended_in_time_is_not_overdue(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", deadline="1m")
        await finish(queue, "job")
        await elapse(queue, clock, 120)
        assert not (await queue.get(task.id)).overdue

    async def test_every_live_status_can_be_overdue(self, queue: Queue, clock: FakeClock) -> None:
        parent = await queue.add("parent", deadline="1m")
        child = await queue.add("child", after=[parent], deadline="1m")
        later = await queue.add("later", run_after="1h", deadline="1m")
        await take(queue, "parent", lease="1h")
        await elapse(queue, clock, 61)
        assert all([(await queue.get(task.id)).overdue for task in (parent, child, later)])

    async def test_on_deadline_cancel_cancels_with_what_depends_on_it(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", deadline="1m", on_deadline="cancel")
        child = await queue.add("child", after=[task])
        claim = await take(queue, "job", lease="1h")
        await elapse(queue, clock, 61)
        task = await queue.get(task.id)
        assert (task.status, task.reason, task.overdue) == (Status.CANCELLED, "deadline", True)
        assert task.cancel_reason == "its deadline passed"
        assert (await queue.renew(claim)).cancel
        child = await queue.get(child.id)
        assert (child.status, child.reason, child.cause) == (Status.CANCELLED, "dependency_failed", task.id)
        assert child.cancel_reason is None
        assert (await queue.get_dag(task.dag_id)).status == DagStatus.FAILED

    async def test_a_missed_deadline_of_one_task_leaves_the_rest_of_its_dag(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        dag = await queue.add_dag("Own", [NewTask("a", deadline="1m", on_deadline="cancel"), NewTask("b")])
        await elapse(queue, clock, 61)
        assert await status(queue, dag.tasks[0]) == Status.CANCELLED
        assert await status(queue, dag.tasks[1]) == Status.READY
        await finish(queue, "b")
        assert (await queue.get_dag(dag.id)).status == DagStatus.FAILED
