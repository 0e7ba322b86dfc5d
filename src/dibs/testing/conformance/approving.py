"""Approvals: a task that waits for a yes before its first start, and what a no ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import IllegalTransition, Invalid
from dibs.model.status import DagStatus, Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, events, finish, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Approving(Topic):
    async def test_a_task_to_be_approved_waits_before_its_first_start(self, queue: Queue) -> None:
        task = await queue.add("job", approval=True, title="Delete it all")
        assert (task.status, task.approval, task.ready_at) == (Status.WAITING, True, None)
        assert await nothing(queue)
        (question,) = await queue.inbox()
        assert (question.kind, question.task_id, question.title) == ("approval", task.id, "Delete it all")
        assert question.schema == {"type": "boolean"}
        assert (await story(queue, task.id)) == ["added", "waiting"]
        told = (await events(queue))[1]
        assert (told.reason, told.data) == ("approval", {"question": question.id})

    async def test_an_approved_task_runs(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", approval=True)
        (question,) = await queue.inbox()
        clock.advance(60)
        await queue.answer(question.id, True, by="grace")
        claim = await take(queue)
        assert (claim.task.id, claim.fence, claim.answers) == (task.id, 1, {})
        assert claim.task.ready_at is not None
        assert claim.task.created_at is not None
        assert claim.task.ready_at > claim.task.created_at
        assert (await story(queue, task.id))[:4] == ["added", "waiting", "answered", "ready"]

    async def test_a_refused_task_is_cancelled_by_request_with_what_depends_on_it(self, queue: Queue) -> None:
        dag = await queue.add_dag("Own", [NewTask("job", ref="a", approval=True), NewTask("next", after=["a"])])
        (question,) = await queue.inbox()
        await queue.answer(question.id, False, by="grace")
        first, second = (await queue.get_dag(dag.id)).tasks
        assert (first.status, first.reason) == (Status.CANCELLED, "cancelled")
        assert first.cancel_reason == "it was not approved by grace"
        assert (second.status, second.cause) == (Status.CANCELLED, first.id)
        assert (await queue.get_dag(dag.id)).status == DagStatus.CANCELLED
        again = await queue.answer(question.id, False)
        assert again.answered_by == "grace"
        with pytest.raises(IllegalTransition):
            await queue.answer(question.id, True)

    async def test_approval_is_yes_or_no(self, queue: Queue) -> None:
        task = await queue.add("job", approval=True)
        (question,) = await queue.inbox()
        for wrong in ("yes", 1, None, [True]):
            with pytest.raises(Invalid) as caught:
                await queue.answer(question.id, wrong)
            assert caught.value.field == "value"
        assert await status(queue, task) == Status.WAITING

    async def test_dependencies_resolve_while_nobody_has_approved(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        task = await queue.add("job", after=[parent], approval=True)
        assert (task.status, task.blocked_by) == (Status.WAITING, (parent.id,))
        await finish(queue, "parent", "out")
        assert (await queue.get(task.id)).blocked_by == ()
        assert await status(queue, task) == Status.WAITING
        (question,) = await queue.inbox()
        await queue.answer(question.id, True)
        assert (await take(queue)).inputs == {parent.id: "out"}

    async def test_an_approved_task_still_waits_for_its_dependencies_and_its_time(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        parent = await queue.add("parent")
        task = await queue.add("job", after=[parent], run_after=3600, approval=True)
        (question,) = await queue.inbox()
        await queue.answer(question.id, True)
        assert await status(queue, task) == Status.PENDING
        await finish(queue, "parent")
        assert await status(queue, task) == Status.SCHEDULED
        await elapse(queue, clock, 3601)
        assert (await take(queue)).task.id == task.id

    async def test_a_task_scheduled_for_later_may_be_approved_before_or_after(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        early = await queue.add("early", run_after=60, approval=True)
        late = await queue.add("late", run_after=60, approval=True)
        await queue.answer((await queue.store.questions(task_id=early.id))[0].id, True)
        assert await status(queue, early) == Status.SCHEDULED
        await elapse(queue, clock, 61)
        assert (await status(queue, early), await status(queue, late)) == (Status.READY, Status.WAITING)
        await queue.answer((await queue.store.questions(task_id=late.id))[0].id, True)
        assert await status(queue, late) == Status.READY

    async def test_a_failed_dependency_ends_a_task_that_nobody_has_approved(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        task = await queue.add("job", after=[parent], approval=True)
        await queue.cancel(parent.id)
        assert await status(queue, task) == Status.CANCELLED
        assert await queue.inbox() == []
        alone = await queue.add("alone")
        await queue.cancel(alone.id)
        late = await queue.add("job", after=[alone], approval=True)
        assert late.status == Status.CANCELLED
        assert await queue.inbox() == []

    async def test_a_retry_asks_anew_and_the_old_approval_counts_no_more(self, queue: Queue) -> None:
        task = await queue.add("job", approval=True)
        (first,) = await queue.inbox()
        await queue.answer(first.id, True)
        await queue.fail(await take(queue), "no", retry=False)
        again = await queue.retry(task.id)
        assert again.status == Status.WAITING
        (second,) = await queue.inbox()
        assert second.id != first.id
        await queue.answer(first.id, True)
        assert await status(queue, task) == Status.WAITING
        await queue.answer(second.id, True)
        assert (await take(queue)).task.id == task.id

    async def test_what_comes_back_with_a_task_is_asked_for_too(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        task = await queue.add("job", after=[parent], approval=True)
        await queue.fail(await take(queue, "parent"), "no", retry=False)
        assert await status(queue, task) == Status.CANCELLED
        await queue.retry(parent.id)
        assert await status(queue, task) == Status.WAITING
        (question,) = await queue.inbox()
        await queue.answer(question.id, True)
        assert await status(queue, task) == Status.PENDING

    async def test_a_retry_with_a_delay_is_approved_first(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", approval=True)
        await queue.cancel(task.id)
        assert (await queue.retry(task.id, delay=60)).status == Status.WAITING
        (question,) = await queue.inbox()
        await queue.answer(question.id, True)
        assert await status(queue, task) == Status.SCHEDULED
        await elapse(queue, clock, 61)
        assert await status(queue, task) == Status.READY

    async def test_spawned_tasks_and_many_at_once_may_need_approval(self, queue: Queue) -> None:
        await queue.add("parent")
        claim = await take(queue)
        (child,) = await queue.spawn(claim, [NewTask("child", approval=True)], wait=True)
        assert child.status == Status.WAITING
        many = await queue.add_many([NewTask("many", number, approval=True) for number in range(400)])
        assert {task.status for task in many} == {Status.WAITING}
        assert len(await queue.inbox(limit=1000)) == 401
        await queue.answer((await queue.store.questions(task_id=child.id))[0].id, True)
        await finish(queue, "child", "out")
        assert (await take(queue, "parent")).children == {child.id: "out"}

    async def test_adding_a_key_again_does_not_ask_again(self, queue: Queue) -> None:
        first = await queue.add("job", key="once", approval=True)
        again = await queue.add("job", key="once", approval=True)
        assert again.id == first.id
        assert len(await queue.inbox()) == 1

    async def test_why_says_that_it_waits_to_be_approved(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        task = await queue.add("job", after=[parent], approval=True)
        why = await queue.why(task.id)
        assert [blocker.kind for blocker in why.blockers] == ["approval", "dependency"]
        (question,) = await queue.inbox()
        assert why.blockers[0].help == f"answer question {question.id}: dibs answer {question.id} true"

    async def test_approval_is_true_or_false(self, queue: Queue) -> None:
        odd: list[Any] = [1, "yes", None]
        for each in odd:
            with pytest.raises(Invalid) as caught:
                await queue.add("job", approval=each)
            assert caught.value.field == "approval"
        assert (await queue.find()).items == []
