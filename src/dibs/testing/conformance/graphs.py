"""Tasks that wait for others: edges, what they carry, and what happens when a parent fails."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import CycleDetected, IllegalTransition, Invalid, NotFound
from dibs.model.ids import dag_of
from dibs.model.status import DagStatus, Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, finish, kill, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Graphs(Topic):
    async def test_a_dependent_waits_for_its_parent(self, queue: Queue, clock: FakeClock) -> None:
        parent = await queue.add("parent")
        child = await queue.add("child", after=[parent])
        assert (child.status, child.depends_on, child.blocked_by) == (Status.PENDING, (parent.id,), (parent.id,))
        assert child.ready_at is None
        clock.advance(5)
        await finish(queue, "parent", "out")
        child = await queue.get(child.id)
        assert (child.status, child.blocked_by, child.depends_on) == (Status.READY, (), (parent.id,))
        assert child.ready_at == clock.now
        assert await story(queue, child.id) == ["added", "ready"]

    async def test_a_join_waits_for_all_its_parents(self, queue: Queue) -> None:
        tasks = await queue.add_many(
            [NewTask(name, ref=name) for name in "abc"] + [NewTask("join", after=["a", "b", "c"])]
        )
        for name in "ab":
            await finish(queue, name)
            assert await status(queue, tasks[3]) == Status.PENDING
        assert (await queue.get(tasks[3].id)).blocked_by == (tasks[2].id,)
        await finish(queue, "c")
        assert await status(queue, tasks[3]) == Status.READY

    async def test_a_diamond_completed_at_once_joins_once(self, queue: Queue, other: Queue) -> None:
        for _ in range(10):
            *_, join = await queue.add_many(
                [
                    NewTask("top", ref="top"),
                    NewTask("side", ref="left", after=["top"]),
                    NewTask("side", ref="right", after=["top"]),
                    NewTask("join", after=["left", "right"]),
                ]
            )
            await finish(queue, "top")
            left, right = await queue.claim("ada", types=["side"], limit=2)
            await asyncio.gather(queue.complete(left), other.complete(right))
            assert (await story(queue, join.id)).count("ready") == 1
            assert (await finish(queue, "join")).task.id == join.id
            assert await nothing(queue)

    async def test_parents_settled_in_one_batch_release_their_child(self, queue: Queue) -> None:
        from dibs import settling

        *_, join = await queue.add_many(
            [NewTask("p", ref="a"), NewTask("p", ref="b"), NewTask("join", after=["a", "b"])]
        )
        claims = await queue.claim("ada", types=["p"], limit=2)
        await queue.settle([settling.completed(claim, number) for number, claim in enumerate(claims)])
        assert (await story(queue, join.id)).count("ready") == 1
        assert (await take(queue, "join")).inputs == {"a": 0, "b": 1}

    async def test_a_dependency_on_a_completed_task_is_met_at_once(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        await finish(queue, "parent", 7)
        child = await queue.add("child", after=[parent])
        assert (child.status, child.depends_on, child.blocked_by) == (Status.READY, (parent.id,), ())
        assert (await take(queue, "child")).inputs == {parent.id: 7}

    async def test_a_dependency_on_a_failed_task_cancels_at_once(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        await kill(queue, "parent")
        other_dag = await queue.add_dag("Elsewhere", [NewTask("one")])
        child = await queue.add("child", after=[parent], dag=other_dag.id)
        assert (child.status, child.reason, child.cause) == (Status.CANCELLED, "dependency_failed", parent.id)

    async def test_a_dead_parent_cancels_its_dependents_down_the_line(self, queue: Queue, clock: FakeClock) -> None:
        a = await queue.add("a")
        b = await queue.add("b", after=[a])
        c = await queue.add("c", after=[b])
        apart = await queue.add("apart")
        await kill(queue, "a")
        for task_id in (b.id, c.id):
            task = await queue.get(task_id)
            assert (task.status, task.reason, task.cause) == (Status.CANCELLED, "dependency_failed", a.id)
            assert task.cancelled_at == clock.now
            assert (await story(queue, task_id))[-1] == "cancelled"
        assert await status(queue, apart) == Status.READY

    async def test_a_dependency_on_a_task_cancelled_by_request_does_not_fail_a_dag(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        await queue.cancel(parent.id)
        dag = await queue.add_dag("Own", [NewTask("done")])
        child = await queue.add("child", after=[parent], dag=dag.id)
        assert (child.status, child.cause) == (Status.CANCELLED, parent.id)
        await finish(queue, "done")
        assert (await queue.get_dag(dag.id)).status == DagStatus.COMPLETED

    async def test_an_edge_resolves_also_while_its_child_is_cancelled(self, queue: Queue) -> None:
        one, two = await queue.add("one"), await queue.add("two")
        child = await queue.add("child", after=[one, two])
        await queue.cancel(child.id)
        await finish(queue, "one", 1)
        assert (await queue.retry(child.id)).blocked_by == (two.id,)
        await finish(queue, "two", 2)
        assert (await take(queue, "child")).inputs == {one.id: 1, two.id: 2}

    async def test_a_child_cancelled_while_its_parents_completed_comes_back_ready(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        child = await queue.add("child", after=[parent])
        await queue.cancel(child.id)
        await finish(queue, "parent")
        assert await status(queue, child) == Status.CANCELLED
        assert (await queue.retry(child.id)).status == Status.READY

    async def test_parents_with_one_ref_are_told_apart_by_id(self, queue: Queue) -> None:
        (one,) = await queue.add_many([NewTask("one", ref="draft")])
        (two,) = await queue.add_many([NewTask("two", ref="draft")])
        await queue.add("child", after=[two, one])
        await finish(queue, "one", 1)
        await finish(queue, "two", 2)
        assert (await take(queue, "child")).inputs == {"draft": 2, one.id: 1}

    async def test_an_unknown_parent_is_named_by_the_field_it_came_in(self, queue: Queue) -> None:
        task = await queue.add("job")
        unknown = "task_00000000000000000000000000"
        for field in ("after", "after_ended"):
            options: dict[str, Any] = {field: [unknown]}
            with pytest.raises(NotFound) as caught:
                await queue.add("child", **options)
            assert caught.value.field == field
            with pytest.raises(NotFound) as caught:
                await queue.link(task.id, **options)
            assert caught.value.field == field

    async def test_after_ended_runs_whatever_became_of_the_parent(self, queue: Queue) -> None:
        for end in ("complete", "fail", "cancel"):
            parent = await queue.add("parent")
            child = await queue.add("cleanup", after_ended=[parent])
            assert child.status == Status.PENDING
            if end == "complete":
                await finish(queue, "parent")
            elif end == "fail":
                await kill(queue, "parent")
            else:
                assert await queue.cancel(parent.id) == [parent.id]
            assert await status(queue, child) == Status.READY
            await finish(queue, "cleanup")

    async def test_output_that_nobody_has_judged_is_no_input(self, queue: Queue) -> None:
        parent = await queue.add("parent", expects={"validation": "human"})
        await queue.add("child", after_ended=[parent])
        await kill(queue, "parent")
        await queue.retry(parent.id)
        await queue.complete(await take(queue, "parent"), "a draft")
        assert (await take(queue, "child")).inputs == {parent.id: None}

    async def test_after_ended_on_an_ended_task_is_met_at_once(self, queue: Queue) -> None:
        dag = await queue.add_dag("Elsewhere", [NewTask("one")])
        parent = await queue.add("parent")
        await kill(queue, "parent")
        assert (await queue.add("cleanup", after_ended=[parent], dag=dag.id)).status == Status.READY

    async def test_a_task_with_both_kinds_of_edges_still_needs_success(self, queue: Queue) -> None:
        needed, any_end = await queue.add("needed"), await queue.add("any_end")
        child = await queue.add("child", after=[needed], after_ended=[any_end])
        await finish(queue, "any_end")
        await kill(queue, "needed")
        assert await status(queue, child) == Status.CANCELLED

    async def test_a_dependent_for_later_is_scheduled_when_its_parent_completes(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        parent = await queue.add("parent")
        child = await queue.add("child", after=[parent], run_after="1m")
        assert child.status == Status.PENDING
        await finish(queue, "parent")
        assert await status(queue, child) == Status.SCHEDULED
        await elapse(queue, clock, 60)
        assert await status(queue, child) == Status.READY

    async def test_a_dependent_joins_its_first_parents_dag(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        assert (await queue.get_dag(parent.dag_id)).virtual
        child = await queue.add("child", after=[parent])
        assert child.dag_id == parent.dag_id == dag_of(parent.id)
        dag = await queue.get_dag(parent.dag_id)
        assert (dag.virtual, dag.status) == (False, DagStatus.PENDING)
        assert [task.id for task in dag.tasks] == [parent.id, child.id]

    async def test_a_dag_that_nobody_declared_lets_independent_tasks_finish(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        await queue.add("bad", after=[parent])
        free = await queue.add("free", after=[parent])
        await finish(queue, "parent")
        await kill(queue, "bad")
        assert await status(queue, free) == Status.READY
        await finish(queue, "free")
        assert (await queue.get_dag(parent.dag_id)).status == DagStatus.FAILED

    @pytest.mark.routing
    async def test_edges_may_cross_dags(self, queue: Queue) -> None:
        one = await queue.add_dag("One", [NewTask("a", ref="a")])
        two = await queue.add_dag("Two", [NewTask("b", after=[one.tasks[0].id])])
        (task,) = two.tasks
        assert (task.dag_id, task.status) == (two.id, Status.PENDING)
        await finish(queue, "a", "from one")
        assert (await take(queue, "b")).inputs == {"a": "from one"}

    async def test_failure_crosses_dags_along_edges_only(self, queue: Queue) -> None:
        one = await queue.add_dag("One", [NewTask("a")])
        two = await queue.add_dag("Two", [NewTask("b", after=[one.tasks[0].id]), NewTask("free")])
        await kill(queue, "a")
        dependent, free = (await queue.get_dag(two.id)).tasks
        assert (dependent.status, dependent.cause) == (Status.CANCELLED, one.tasks[0].id)
        assert free.status == Status.READY
        await finish(queue, "free")
        assert (await queue.get_dag(two.id)).status == DagStatus.FAILED

    async def test_naming_a_dependency_twice_is_refused(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        for options in ({"after": [parent, parent.id]}, {"after": [parent], "after_ended": [parent]}):
            with pytest.raises(Invalid) as caught:
                await queue.add("child", **options)
            assert caught.value.field in ("after", "after_ended")
        assert [task.id for task in (await queue.find()).items] == [parent.id]

    async def test_a_parent_that_died_was_retried_and_completed_releases_its_child_once(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        needs_both = await queue.add("both", after=[parent, await queue.add("second")])
        await kill(queue, "parent")
        assert await status(queue, needs_both) == Status.CANCELLED
        await queue.retry(parent.id)
        assert await status(queue, needs_both) == Status.PENDING
        await finish(queue, "parent")
        assert await status(queue, needs_both) == Status.PENDING
        await finish(queue, "second")
        assert (await story(queue, needs_both.id)).count("ready") == 1

    async def test_a_task_cannot_wait_for_itself(self, queue: Queue) -> None:
        with pytest.raises((CycleDetected, Invalid)):
            await queue.add_many([NewTask("a", ref="a", after=["a"])])
        task = await queue.add("b")
        with pytest.raises((CycleDetected, Invalid)):
            await queue.link(task.id, after=[task.id])

    async def test_a_cycle_in_one_call_is_refused_by_name(self, queue: Queue) -> None:
        with pytest.raises(CycleDetected) as caught:
            await queue.add_many(
                [
                    NewTask("a", ref="x", after=["z"]),
                    NewTask("b", ref="y", after=["x"]),
                    NewTask("c", ref="z", after=["y"]),
                ]
            )
        assert all(ref in str(caught.value) for ref in "xyz")
        assert (await queue.find()).items == []


class Linking(Topic):
    async def test_a_new_edge_makes_a_ready_task_wait(self, queue: Queue) -> None:
        parent, child = await queue.add("parent"), await queue.add("child")
        linked = await queue.link(child.id, after=[parent.id])
        assert (linked.status, linked.depends_on, linked.blocked_by) == (Status.PENDING, (parent.id,), (parent.id,))
        assert await nothing(queue, "child")
        await finish(queue, "parent", 1)
        assert (await take(queue, "child")).inputs == {parent.id: 1}

    async def test_a_cycle_over_existing_edges_is_refused_by_name(self, queue: Queue) -> None:
        a = await queue.add("a")
        b = await queue.add("b", after=[a])
        c = await queue.add("c", after=[b])
        before = [await queue.get(task.id) for task in (a, b, c)]
        with pytest.raises(CycleDetected) as caught:
            await queue.link(a.id, after=[c.id])
        assert all(task.id in str(caught.value) for task in (a, b, c))
        assert [await queue.get(task.id) for task in (a, b, c)] == before

    async def test_a_cycle_across_dags_is_refused(self, queue: Queue) -> None:
        one = await queue.add_dag("One", [NewTask("a"), NewTask("x")])
        two = await queue.add_dag("Two", [NewTask("b", after=[one.tasks[0].id])])
        with pytest.raises(CycleDetected):
            await queue.link(one.tasks[0].id, after=[two.tasks[0].id])

    async def test_an_edge_that_exists_is_ignored(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        child = await queue.add("child", after=[parent])
        linked = await queue.link(child.id, after=[parent.id])
        assert linked.depends_on == (parent.id,)
        await finish(queue, "parent")
        assert await status(queue, child) == Status.READY

    async def test_an_input_too_large_for_a_claim_is_named_instead(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        await queue.add("child", after=[parent.id])
        await finish(queue, "parent", "x" * (1 << 20))
        assert (await take(queue, "child")).inputs == {parent.id: {"ref": f"task:{parent.id}:output"}}
        assert (await queue.get(parent.id)).output == "x" * (1 << 20)

    async def test_linking_to_a_completed_task_changes_only_the_inputs(self, queue: Queue) -> None:
        parent, child = await queue.add("parent"), await queue.add("child")
        await finish(queue, "parent", "out")
        linked = await queue.link(child.id, after=[parent.id])
        assert (linked.status, linked.depends_on) == (Status.READY, (parent.id,))
        assert (await take(queue, "child")).inputs == {parent.id: "out"}

    async def test_linking_after_the_end_of_a_task_takes_any_end(self, queue: Queue) -> None:
        live, dead = await queue.add("live"), await queue.add("dead")
        child = await queue.add("child")
        await kill(queue, "dead")
        assert (await queue.link(child.id, after_ended=[dead.id])).status == Status.READY
        assert (await queue.link(child.id, after_ended=[live.id])).status == Status.PENDING
        await kill(queue, "live")
        assert await status(queue, child) == Status.READY

    async def test_linking_to_a_failed_task_is_refused(self, queue: Queue) -> None:
        parent, child = await queue.add("parent"), await queue.add("child")
        await kill(queue, "parent")
        with pytest.raises(IllegalTransition):
            await queue.link(child.id, after=[parent.id])
        assert await status(queue, child) == Status.READY

    async def test_a_task_that_has_started_or_ended_cannot_be_linked(self, queue: Queue) -> None:
        parent, child = await queue.add("parent"), await queue.add("child")
        claim = await take(queue, "child")
        with pytest.raises(IllegalTransition):
            await queue.link(child.id, after=[parent.id])
        await queue.complete(claim)
        with pytest.raises(IllegalTransition):
            await queue.link(child.id, after=[parent.id])

    async def test_unknown_ends_are_not_found(self, queue: Queue) -> None:
        task = await queue.add("job")
        unknown = "task_00000000000000000000000000"
        with pytest.raises(NotFound):
            await queue.link(task.id, after=[unknown])
        with pytest.raises(NotFound):
            await queue.link(unknown, after=[task.id])
        assert await status(queue, task) == Status.READY

    async def test_a_retrying_task_that_is_linked_waits_for_both(self, queue: Queue, clock: FakeClock) -> None:
        parent, child = await queue.add("parent"), await queue.add("child")
        await queue.fail(await take(queue, "child"), "no", retry_after=10)
        assert (await queue.link(child.id, after=[parent.id])).status == Status.PENDING
        await elapse(queue, clock, 12)
        assert await status(queue, child) == Status.PENDING
        await finish(queue, "parent")
        await elapse(queue, clock, 2)
        assert await status(queue, child) == Status.READY
