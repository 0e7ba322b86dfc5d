"""Dags: how they begin, end, fail and are read; and the dags of tasks that stand alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Conflict, CycleDetected, Invalid, KeyReused, NotFound
from dibs.model.dag import Edge
from dibs.model.ids import dag_of
from dibs.model.status import DagStatus, Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, finish, kill, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


def diamond() -> list[NewTask]:
    return [
        NewTask("top", ref="top"),
        NewTask("left", ref="left", after=["top"]),
        NewTask("right", ref="right", after=["top"]),
        NewTask("middle", ref="middle", after=["right"]),
        NewTask("join", ref="join", after=["left", "middle"]),
    ]


class Dags(Topic):
    async def test_a_dag_is_added_with_its_tasks_and_edges(self, queue: Queue, clock: FakeClock) -> None:
        dag = await queue.add_dag("Landing page", diamond(), user="grace", created_by="ada")
        assert (dag.title, dag.status, dag.on_failure) == ("Landing page", DagStatus.PENDING, "fail_fast")
        assert (dag.user, dag.created_by, dag.virtual, dag.created_at) == ("grace", "ada", False, clock.now)
        assert [task.ref for task in dag.tasks] == ["top", "left", "right", "middle", "join"]
        assert {task.dag_id for task in dag.tasks} == {dag.id}
        top, left, right, middle, join = (task.id for task in dag.tasks)
        assert set(dag.edges) == {
            Edge(top, left),
            Edge(top, right),
            Edge(right, middle),
            Edge(left, join),
            Edge(middle, join),
        }
        assert (dag.roots, dag.leaves) == ([top], [join])
        assert dag.critical_path == [top, right, middle, join]
        assert dag.counts == {"ready": 1, "pending": 4}
        assert await queue.get_dag(dag.id) == dag

    async def test_tasks_of_a_dag_are_for_its_user(self, queue: Queue) -> None:
        tasks = [NewTask("a", ref="a"), NewTask("b", after=["a"], user="alan", created_by="human:alan")]
        dag = await queue.add_dag("d", tasks, key="once", user="grace", created_by="human:ada")
        assert (dag.user, dag.created_by) == ("grace", "human:ada")
        assert [(task.user, task.created_by) for task in dag.tasks] == [("grace", "human:ada"), ("alan", "human:alan")]
        assert [task.type for task in (await queue.find(user="grace")).items] == ["a"]
        again = await queue.add_dag("d", tasks, key="once", user="grace", created_by="human:ada")
        assert again.id == dag.id

    @pytest.mark.routing
    async def test_a_dag_runs_and_completes(self, queue: Queue, clock: FakeClock) -> None:
        dag = await queue.add_dag("Two", [NewTask("a", ref="a"), NewTask("b", after=["a"])])
        clock.advance(1)
        claim = await take(queue, "a")
        running = await queue.get_dag(dag.id)
        assert (running.status, running.started_at, running.ended_at) == (DagStatus.RUNNING, clock.now, None)
        await queue.complete(claim, cost=0.5)
        await finish(queue, "b")
        done = await queue.get_dag(dag.id)
        assert (done.status, done.ended_at, done.counts) == (DagStatus.COMPLETED, clock.now, {"completed": 2})
        assert done.cost_usd == 0.5
        assert await story(queue, dag.id) == ["started", "completed"]

    async def test_a_dag_builder_submits_on_leaving(self, queue: Queue) -> None:
        async with queue.dag("Built", on_failure="continue") as dag:
            a = dag.add("a", {"n": 1})
            b = dag.add("b", after=[a], priority=10)
        tasks = (await queue.get_dag(dag.id)).tasks
        assert [(task.id, task.type) for task in tasks] == [(a.id, "a"), (b.id, "b")]
        assert tasks[1].depends_on == (a.id,)

    async def test_a_dag_builder_adds_nothing_after_an_error(self, queue: Queue) -> None:
        async def change_my_mind() -> None:
            async with queue.dag("Never") as dag:
                dag.add("a")
                raise RuntimeError("changed my mind")

        with pytest.raises(RuntimeError, match="changed my mind"):
            await change_my_mind()
        assert (await queue.find()).items == []

    async def test_a_dag_with_one_bad_task_adds_nothing(self, queue: Queue) -> None:
        with pytest.raises(CycleDetected):
            await queue.add_dag("Loop", [NewTask("a", ref="a", after=["b"]), NewTask("b", ref="b", after=["a"])])
        with pytest.raises((NotFound, Invalid)):
            await queue.add_dag("Stray", [NewTask("a"), NewTask("b", after=["nowhere"])])
        assert (await queue.find()).items == []
        assert await queue.store.last_seq() == 0

    async def test_a_standalone_task_has_a_virtual_dag(self, queue: Queue) -> None:
        task = await queue.add("alone")
        dag = await queue.get_dag(dag_of(task.id))
        assert (dag.id, dag.virtual, dag.status) == (task.dag_id, True, DagStatus.PENDING)
        assert [member.id for member in dag.tasks] == [task.id]
        await finish(queue, "alone")
        assert (await queue.get_dag(task.dag_id)).status == DagStatus.COMPLETED

    async def test_an_unknown_dag_is_not_found(self, queue: Queue) -> None:
        with pytest.raises(NotFound):
            await queue.get_dag("dag_00000000000000000000000000")

    async def test_a_task_may_be_added_to_a_dag(self, queue: Queue) -> None:
        dag = await queue.add_dag("Growing", [NewTask("a")])
        task = await queue.add("b", dag=dag.id)
        assert task.dag_id == dag.id
        assert [member.id for member in (await queue.get_dag(dag.id)).tasks] == [dag.tasks[0].id, task.id]

    async def test_adding_to_a_completed_dag_reopens_it(self, queue: Queue) -> None:
        dag = await queue.add_dag("Again", [NewTask("a")])
        await finish(queue, "a")
        assert (await queue.get_dag(dag.id)).status == DagStatus.COMPLETED
        await queue.add("b", dag=dag.id)
        assert (await queue.get_dag(dag.id)).status == DagStatus.RUNNING
        await finish(queue, "b")
        assert (await queue.get_dag(dag.id)).status == DagStatus.COMPLETED

    async def test_adding_to_a_failed_or_cancelled_dag_is_refused(self, queue: Queue) -> None:
        failed = await queue.add_dag("Failed", [NewTask("a")])
        await kill(queue, "a")
        cancelled = await queue.add_dag("Cancelled", [NewTask("b")])
        await queue.cancel(cancelled.id)
        for dag in (failed, cancelled):
            with pytest.raises(Conflict) as caught:
                await queue.add("late", dag=dag.id)
            assert caught.value.code == "dag_closed"
        assert (await queue.find(type="late")).items == []

    async def test_fail_fast_cancels_the_rest(self, queue: Queue) -> None:
        dag = await queue.add_dag(
            "Fast", [NewTask("bad", ref="bad"), NewTask("next", after=["bad"]), NewTask("free"), NewTask("held")]
        )
        held = await take(queue, "held")
        await kill(queue, "bad")
        bad, dependent, free, busy = (await queue.get_dag(dag.id)).tasks
        assert (bad.status, dependent.status) == (Status.DEAD_LETTERED, Status.CANCELLED)
        assert (dependent.reason, dependent.cause) == ("dependency_failed", bad.id)
        assert (free.status, free.reason, free.cause) == (Status.CANCELLED, "dag_failed", bad.id)
        assert (busy.status, busy.reason) == (Status.CANCELLED, "dag_failed")
        assert (await queue.renew(held)).cancel
        assert (await queue.get_dag(dag.id)).status == DagStatus.FAILED
        assert (await story(queue, dag.id))[-1] == "failed"

    async def test_fail_fast_spares_what_runs_after_the_end(self, queue: Queue) -> None:
        dag = await queue.add_dag(
            "Tidy", [NewTask("bad", ref="bad"), NewTask("tidy", after_ended=["bad"]), NewTask("free")]
        )
        await kill(queue, "bad")
        _, tidy, free = (await queue.get_dag(dag.id)).tasks
        assert (tidy.status, free.status) == (Status.READY, Status.CANCELLED)
        assert (await queue.get_dag(dag.id)).status == DagStatus.FAILED
        await finish(queue, "tidy")
        assert (await queue.get_dag(dag.id)).status == DagStatus.FAILED
        assert (await story(queue, dag.id)).count("failed") == 1

    async def test_what_a_failed_dag_spared_can_still_be_cancelled_with_it(self, queue: Queue) -> None:
        dag = await queue.add_dag("Tidy", [NewTask("bad", ref="bad"), NewTask("tidy", after_ended=["bad"])])
        await kill(queue, "bad")
        _, tidy = (await queue.get_dag(dag.id)).tasks
        assert await queue.cancel(dag.id) == [tidy.id]
        assert (await queue.get_dag(dag.id)).status == DagStatus.CANCELLED
        assert await queue.cancel(dag.id) == []

    async def test_continue_lets_independent_branches_finish(self, queue: Queue) -> None:
        dag = await queue.add_dag(
            "On", [NewTask("bad", ref="bad"), NewTask("next", after=["bad"]), NewTask("free")], on_failure="continue"
        )
        await kill(queue, "bad")
        _, dependent, free = (await queue.get_dag(dag.id)).tasks
        assert (dependent.status, free.status) == (Status.CANCELLED, Status.READY)
        assert (await queue.get_dag(dag.id)).status == DagStatus.RUNNING
        await finish(queue, "free")
        assert (await queue.get_dag(dag.id)).status == DagStatus.FAILED

    async def test_a_threshold_fails_the_dag_when_it_is_passed(self, queue: Queue) -> None:
        dag = await queue.add_dag("Some", [NewTask("job") for _ in range(5)], on_failure="threshold:2")
        await kill(queue, "job")
        await kill(queue, "job")
        assert (await queue.get_dag(dag.id)).counts == {"dead_lettered": 2, "ready": 3}
        await kill(queue, "job")
        failed = await queue.get_dag(dag.id)
        assert (failed.status, failed.counts) == (DagStatus.FAILED, {"dead_lettered": 3, "cancelled": 2})

    async def test_a_threshold_may_be_a_share_of_the_tasks(self, queue: Queue) -> None:
        dag = await queue.add_dag("Share", [NewTask("job") for _ in range(5)], on_failure="threshold:20%")
        await kill(queue, "job")
        assert (await queue.get_dag(dag.id)).counts == {"dead_lettered": 1, "ready": 4}
        await kill(queue, "job")
        assert (await queue.get_dag(dag.id)).status == DagStatus.FAILED

    async def test_below_its_threshold_a_dag_with_dead_letters_still_ends_failed(self, queue: Queue) -> None:
        dag = await queue.add_dag("Few", [NewTask("job"), NewTask("job")], on_failure="threshold:1")
        await kill(queue, "job")
        await finish(queue, "job")
        assert (await queue.get_dag(dag.id)).status == DagStatus.FAILED

    async def test_tasks_cancelled_on_request_do_not_fail_a_dag(self, queue: Queue) -> None:
        dag = await queue.add_dag("Less", [NewTask("a"), NewTask("b")])
        await queue.cancel(dag.tasks[1].id)
        await finish(queue, "a")
        assert (await queue.get_dag(dag.id)).status == DagStatus.COMPLETED

    @pytest.mark.door
    async def test_a_dag_key_makes_adding_it_repeatable(self, queue: Queue) -> None:
        first = await queue.add_dag("Once", diamond(), key="page-1")
        again = await queue.add_dag("Once", diamond(), key="page-1")
        assert (again.id, [task.id for task in again.tasks]) == (first.id, [task.id for task in first.tasks])
        with pytest.raises(KeyReused):
            await queue.add_dag("Once", [NewTask("other")], key="page-1")
        assert len((await queue.find()).items) == 5

    async def test_a_dag_key_is_free_again_when_its_dag_failed_or_was_cancelled(self, queue: Queue) -> None:
        first = await queue.add_dag("Once", [NewTask("a")], key="page-1")
        await queue.cancel(first.id)
        second = await queue.add_dag("Once", [NewTask("a")], key="page-1")
        assert second.id != first.id
        await kill(queue, "a")
        third = await queue.add_dag("Once", [NewTask("b")], key="page-1")
        assert third.id not in (first.id, second.id)

    @pytest.mark.parametrize("policy", ["sometimes", "threshold:", "threshold:-1", "threshold:101%", "", 3])
    def test_an_unknown_failure_policy_is_refused(self, policy: Any) -> None:
        async def check(_: Topic, queue: Queue) -> None:
            with pytest.raises(Invalid) as caught:
                await queue.add_dag("Odd", [NewTask("a")], on_failure=policy)
            assert caught.value.field == "on_failure"
            assert (await queue.find()).items == []

        self.run(check)

    @pytest.mark.door
    @pytest.mark.routing
    async def test_a_large_failing_dag_is_closed_completely(self, queue: Queue) -> None:
        tasks = [NewTask("bad", ref="bad")] + [NewTask("rest", after=["bad"] if n % 2 else []) for n in range(1300)]
        dag = await queue.add_dag("Large", tasks)
        await kill(queue, "bad")
        assert await nothing(queue)
        closed = await queue.get_dag(dag.id)
        assert closed.counts == {"dead_lettered": 1, "cancelled": 1300}
        assert await status(queue, closed.tasks[-1]) == Status.CANCELLED
        assert (await story(queue, dag.id)).count("failed") == 1
