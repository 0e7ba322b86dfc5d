"""Spawning: tasks that a running task adds below itself, waited for or not, and never twice."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Conflict, IllegalTransition, Invalid, LeaseLost
from dibs.model.status import DagStatus, Outcome, Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, finish, kill, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Spawning(Topic):
    async def test_children_belong_to_their_parent_and_its_dag(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        one, two = await queue.spawn(claim, [NewTask("child", 1, ref="one"), NewTask("child", 2, after=["one"])])
        assert (one.parent_id, one.dag_id, one.depth) == (claim.task.id, claim.task.dag_id, 1)
        assert (one.status, two.status, two.depends_on) == (Status.READY, Status.PENDING, (one.id,))
        dag = await queue.get_dag(claim.task.dag_id)
        assert (dag.virtual, len(dag.tasks), dag.status) == (False, 3, DagStatus.RUNNING)
        assert await status(queue, claim.task) == Status.RUNNING

    async def test_children_are_for_the_user_of_their_parent_and_made_by_its_agent(self, queue: Queue) -> None:
        await queue.set_budget("user:grace", 1.0)
        await queue.add("parent", user="grace", created_by="human:ada")
        parent = await take(queue, "parent", agent="bob")
        tasks = [NewTask("child", max_cost=0.8), NewTask("other", user="alan", created_by="human:alan")]
        child, other = await queue.spawn(parent, tasks)
        assert (child.user, child.created_by) == ("grace", "agent:bob")
        assert (other.user, other.created_by) == ("alan", "human:alan")
        assert [task.id for task in await queue.spawn((parent.task.id, parent.fence), tasks)] == [child.id, other.id]
        assert {task.id for task in (await queue.find(user="grace")).items} == {parent.task.id, child.id}
        await queue.complete(await take(queue, "child"), cost=0.7)
        [budget] = await queue.budgets()
        assert (budget.scope, budget.spent) == ("user:grace", 0.7)
        [last] = await queue.spawn(await take(queue, "other", agent="b" * 200), [NewTask("child")])
        assert last.created_by == "agent:" + "b" * 194

    async def test_a_parent_that_does_not_wait_runs_on(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        await queue.spawn(claim, [NewTask("child")])
        await queue.complete(claim, "done")
        await finish(queue, "child")
        assert (await queue.get_dag(claim.task.dag_id)).status == DagStatus.COMPLETED

    @pytest.mark.door
    async def test_a_parent_hears_of_each_childs_end_once(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        assert await queue.hear(claim) == []
        one, two, _ = await queue.spawn(claim, [NewTask("child", 1, ref="one"), NewTask("child", 2), NewTask("slow")])
        assert await queue.hear(claim) == []
        await finish(queue, "child", "first")
        [heard] = await queue.hear(claim)
        assert (heard.task_id, heard.ref, heard.status, heard.output) == (one.id, "one", "completed", "first")
        assert await queue.hear(claim) == []
        # It was busy: two calls that ask at the same moment tell of it once.
        second = await take(queue, "child")
        await queue.fail(second, "no luck", retry=False)
        answers = await asyncio.gather(queue.hear(claim), queue.hear(claim))
        [[heard]] = [answer for answer in answers if answer]
        assert (heard.task_id, heard.status, heard.error) == (two.id, "dead_lettered", "no luck")
        # A child that was retried ends once more.
        await queue.retry(two.id)
        await finish(queue, "child", "at last")
        assert [each.output for each in await queue.hear(claim)] == ["at last"]

    async def test_whoever_takes_over_from_a_dead_parent_hears_of_all(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("parent")
        dead = await take(queue)
        await queue.spawn(dead, [NewTask("child", 1), NewTask("child", 2)])
        await finish(queue, "child", "heard by the dead")
        assert len(await queue.hear(dead)) == 1
        await elapse(queue, clock, 120)
        await finish(queue, "child", "heard by nobody")
        with pytest.raises(LeaseLost):
            await queue.hear(dead)
        alive = await take(queue, "parent")
        assert [each.output for each in await queue.hear(alive)] == ["heard by the dead", "heard by nobody"]
        assert await queue.hear(alive) == []

    @pytest.mark.routing
    async def test_a_parent_that_waits_is_suspended_and_resumes_with_the_outputs(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        one, _ = await queue.spawn(claim, [NewTask("child", 1), NewTask("child", 2, ref="two")], wait=True)
        parent = await queue.get(claim.task.id)
        assert (parent.status, parent.attempts, parent.agent) == (Status.PENDING, 0, None)
        assert len(parent.blocked_by) == 2
        assert parent.lease_expires_at is None
        (attempt,) = await queue.history(parent.id)
        assert (attempt.outcome, attempt.number) == (Outcome.SUSPENDED, 0)
        await finish(queue, "child", "first")
        assert await nothing(queue, "parent")
        await finish(queue, "child", "second")
        again = await take(queue, "parent")
        assert again.fence == 2
        assert again.children == {one.id: "first", "two": "second"}
        await queue.complete(again)
        assert (await queue.get(parent.id)).attempts == 1

    async def test_a_suspended_parent_tells_so_in_the_events(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        await queue.spawn(claim, [NewTask("child")], wait=True)
        assert "released" in await story(queue, claim.task.id)
        released = [event for event in await queue.read_events() if event.type == "task.released"]
        assert [event.reason for event in released] == ["suspended"]

    async def test_the_claim_of_a_suspended_parent_is_lost(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        await queue.spawn(claim, [NewTask("child")], wait=True)
        with pytest.raises(LeaseLost):
            await queue.renew(claim)
        with pytest.raises((LeaseLost, IllegalTransition)):
            await queue.complete(claim)
        assert await status(queue, claim.task) == Status.PENDING

    async def test_a_suspended_parent_keeps_its_age(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("parent")
        claim = await take(queue)
        first_ready = claim.task.ready_at
        await queue.spawn(claim, [NewTask("child")], wait=True)
        clock.advance(60)
        await finish(queue, "child")
        assert (await take(queue, "parent")).task.ready_at == first_ready

    async def test_a_failed_child_resumes_its_parent_too(self, queue: Queue) -> None:
        dag = await queue.add_dag("Own", [NewTask("parent")], on_failure="continue")
        claim = await take(queue)
        (child,) = await queue.spawn(claim, [NewTask("child")], wait=True)
        await kill(queue, "child")
        assert (await take(queue, "parent")).task.id == dag.tasks[0].id
        assert await status(queue, child) == Status.DEAD_LETTERED

    async def test_fail_fast_spares_the_parent_that_waits_for_a_failed_child(self, queue: Queue) -> None:
        await queue.add_dag("Own", [NewTask("parent")])
        claim = await take(queue)
        _, sibling = await queue.spawn(claim, [NewTask("child"), NewTask("sibling")], wait=True)
        await kill(queue, "child")
        assert await status(queue, sibling) == Status.CANCELLED
        resumed = await take(queue, "parent")
        assert resumed.task.id == claim.task.id
        assert (await queue.get_dag(claim.task.dag_id)).status == DagStatus.FAILED

    async def test_fail_fast_spares_a_parent_that_has_resumed(self, queue: Queue) -> None:
        dag = await queue.add_dag("Own", [NewTask("parent"), NewTask("bad")])
        await queue.spawn(await take(queue, "parent"), [NewTask("child")], wait=True)
        await finish(queue, "child")
        resumed = await take(queue, "parent")
        await kill(queue, "bad")
        assert not (await queue.renew(resumed)).cancel
        await queue.complete(resumed)
        assert (await queue.get_dag(dag.id)).status == DagStatus.FAILED

    async def test_a_cancelled_child_resumes_its_parent_too(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        (child,) = await queue.spawn(claim, [NewTask("child")], wait=True)
        assert await queue.cancel(child.id) == [child.id]
        assert (await take(queue, "parent")).task.id == claim.task.id

    async def test_the_same_spawn_again_returns_the_same_children(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        first = await queue.spawn(claim, [NewTask("child", 1), NewTask("child", 2)])
        again = await queue.spawn(claim, [NewTask("child", 1), NewTask("child", 2)])
        assert [task.id for task in again] == [task.id for task in first]
        assert len((await queue.find(type="child")).items) == 2

    async def test_a_later_attempt_spawns_the_same_children(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("parent")
        first = await queue.spawn(await take(queue, lease=10), [NewTask("child")], name="search")
        await elapse(queue, clock, 12)
        again = await queue.spawn(await take(queue, "parent"), [NewTask("child")], name="search")
        assert [task.id for task in again] == [task.id for task in first]

    async def test_a_spawn_that_was_recorded_is_refused_once_the_lease_is_lost(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add("parent")
        lost = await take(queue, lease=10)
        await queue.spawn(lost, [NewTask("child")], name="search")
        await elapse(queue, clock, 12)
        for wait in (False, True):
            with pytest.raises(LeaseLost):
                await queue.spawn(lost, [NewTask("child")], name="search", wait=wait)
        held = await take(queue, "parent", agent="bob")
        with pytest.raises(LeaseLost):
            await queue.spawn(lost, [NewTask("child")], name="search")
        assert await status(queue, held.task) == Status.RUNNING

    @pytest.mark.door
    async def test_a_spawn_that_suspended_its_parent_is_answered_again(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        first = await queue.spawn_below(claim, [NewTask("child")], wait=True, name="ask")
        again = await queue.spawn_below(claim, [NewTask("child")], wait=True, name="ask")
        assert (first.suspended, again.suspended, again.existing) == (True, True, [True])
        assert [task.id for task in again.tasks] == [task.id for task in first.tasks]
        assert len(await queue.history(claim.task.id)) == 1
        await finish(queue, "child", "answer")
        resumed = await take(queue, "parent")
        late = await queue.spawn_below(claim, [NewTask("child")], wait=True, name="ask")
        assert (late.suspended, [task.output for task in late.tasks]) == (True, ["answer"])
        assert await status(queue, resumed.task) == Status.RUNNING

    async def test_a_suspended_parent_can_spawn_nothing_else_under_its_old_fence(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        await queue.spawn(claim, [NewTask("child", 1)], wait=True, name="ask")
        with pytest.raises(LeaseLost):
            await queue.spawn(claim, [NewTask("child", 1)], name="ask")
        with pytest.raises(LeaseLost):
            await queue.spawn(claim, [NewTask("child", 1)], wait=True, name="ask more")
        with pytest.raises(Conflict) as caught:
            await queue.spawn(claim, [NewTask("child", 2)], wait=True, name="ask")
        assert caught.value.code == "journal_mismatch"
        assert len((await queue.find(type="child")).items) == 1

    async def test_children_with_one_ref_are_told_apart_by_id(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        (early,) = await queue.spawn(claim, [NewTask("early", ref="part")], name="early")
        (late,) = await queue.spawn(claim, [NewTask("late", ref="part")], name="late")
        await finish(queue, "early", 1)
        await queue.spawn_below(claim, [NewTask("early", ref="part")], wait=True, name="early")
        await queue.spawn_below(claim, [NewTask("late", ref="part")], wait=True, name="late")
        await finish(queue, "late", 2)
        assert (await take(queue, "parent")).children == {"part": 1, late.id: 2}
        assert early.id != late.id

    async def test_a_spawn_of_the_same_name_with_another_body_is_refused(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        await queue.spawn(claim, [NewTask("child", 1)], name="search")
        with pytest.raises(Conflict) as caught:
            await queue.spawn(claim, [NewTask("child", 2)], name="search")
        assert caught.value.code == "journal_mismatch"
        assert len((await queue.find(type="child")).items) == 1

    async def test_a_resumed_parent_that_spawns_again_goes_on(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        first = await queue.spawn(claim, [NewTask("child")], wait=True, name="ask")
        await finish(queue, "child", "answer")
        resumed = await take(queue, "parent")
        again = await queue.spawn_below(resumed, [NewTask("child")], wait=True, name="ask")
        assert not again.suspended
        assert [(task.id, task.output) for task in again.tasks] == [(first[0].id, "answer")]
        await queue.complete(resumed)

    async def test_a_spawn_on_a_stale_fence_is_refused(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("parent")
        old = await take(queue, lease=10)
        await elapse(queue, clock, 12)
        for wait in (False, True):
            with pytest.raises(LeaseLost):
                await queue.spawn(old, [NewTask("child")], wait=wait)
        assert (await queue.find(type="child")).items == []

    async def test_children_that_are_waited_for_may_not_depend_on_live_strangers(self, queue: Queue) -> None:
        stranger = await queue.add("stranger")
        await queue.add("parent")
        claim = await take(queue, "parent")
        with pytest.raises(Invalid) as caught:
            await queue.spawn(claim, [NewTask("child", after=[stranger])], wait=True)
        assert caught.value.field == "after"
        assert await status(queue, claim.task) == Status.RUNNING
        await finish(queue, "stranger", "known")
        await queue.spawn(claim, [NewTask("child", after=[stranger])], wait=True)
        assert (await take(queue, "child")).inputs == {stranger.id: "known"}

    async def test_spawning_has_a_depth_limit(self, queue: Queue) -> None:
        await queue.add("level")
        claim = await take(queue)
        for depth in range(1, 11):
            (child,) = await queue.spawn(claim, [NewTask("level", depth)])
            assert child.depth == depth
            claim = await take(queue)
        with pytest.raises(Invalid) as caught:
            await queue.spawn(claim, [NewTask("level", 11)])
        assert caught.value.field == "depth"

    async def test_a_task_has_at_most_a_thousand_children(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        await queue.spawn(claim, [NewTask("child", number) for number in range(999)])
        with pytest.raises(Invalid) as caught:
            await queue.spawn(claim, [NewTask("more", 1), NewTask("more", 2)])
        assert caught.value.field == "children"
        await queue.spawn(claim, [NewTask("more", 1)])
        assert len((await queue.find(type="more")).items) == 1

    async def test_usage_of_a_suspended_attempt_is_kept(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        await queue.renew(claim, cost=0.4)
        await queue.spawn(claim, [NewTask("child")], wait=True)
        assert (await queue.get(claim.task.id)).cost_usd == 0.4

    async def test_retrying_a_failed_child_does_not_suspend_its_parent_again(self, queue: Queue) -> None:
        await queue.add_dag("Own", [NewTask("parent")], on_failure="continue")
        claim = await take(queue)
        (child,) = await queue.spawn(claim, [NewTask("child")], wait=True)
        await kill(queue, "child")
        assert await status(queue, claim.task) == Status.READY
        await queue.retry(child.id)
        assert await status(queue, claim.task) == Status.READY
        await finish(queue, "child", "late")
        assert (await story(queue, claim.task.id)).count("ready") == 2
