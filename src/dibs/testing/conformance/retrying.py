"""Retrying by hand: a new life for what was given up, and for what was given up because of it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from dibs.errors import IllegalTransition, Invalid, KeyReused, NotFound
from dibs.model.status import DagStatus, Status
from dibs.model.task import CONTENT, NewTask
from dibs.testing.conformance.topic import Topic, elapse, finish, kill, status, story, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Retrying(Topic):
    async def test_a_dead_letter_starts_a_new_life(self, queue: Queue) -> None:
        task = await queue.add("job", max_attempts=2, retry="immediate")
        await queue.fail(await take(queue), "one", cost=0.1)
        await queue.fail(await take(queue), "two", exit_code=3)
        revived = await queue.retry(task.id)
        assert (revived.status, revived.attempts, revived.crashes) == (Status.READY, 0, 0)
        assert (revived.error, revived.reason, revived.poison_pill) == (None, None, False)
        assert revived.dead_lettered_at is None
        assert revived.fence == 2
        assert revived.cost_usd == 0.1
        assert len(await queue.history(task.id)) == 2
        claim = await take(queue)
        assert [attempt.error for attempt in claim.previous_attempts] == ["one", "two"]
        await queue.fail(claim, "three")
        assert await status(queue, task) == Status.READY
        assert (await queue.history(task.id))[-1].number == 1

    async def test_a_suspect_that_was_cancelled_comes_back_as_one(self, queue: Queue, clock: FakeClock) -> None:
        suspect = await queue.add("job", priority=1)
        await take(queue)
        await elapse(queue, clock, 61)
        await queue.cancel(suspect.id)
        await queue.retry(suspect.id)
        await queue.add_many([NewTask("job"), NewTask("job")])
        assert [claim.task.id for claim in await queue.claim("ada", limit=3)] == [suspect.id]
        assert len(await queue.claim("ada", limit=3)) == 2

    async def test_a_cancelled_task_starts_a_new_life(self, queue: Queue) -> None:
        task = await queue.add("job")
        await queue.cancel(task.id, reason="oops")
        revived = await queue.retry(task.id)
        assert (revived.status, revived.cancel_reason, revived.reason) == (Status.READY, None, None)
        assert revived.cancelled_at is None
        assert (await story(queue, task.id))[-1] == "ready"
        await finish(queue, "job")

    async def test_the_old_claim_is_lost_after_a_retry(self, queue: Queue) -> None:
        task = await queue.add("job")
        old = await take(queue)
        await queue.cancel(task.id)
        await queue.retry(task.id)
        new = await take(queue)
        assert (new.task.id, new.fence) == (task.id, 2)
        await queue.complete(new, "new")
        assert (await queue.get(task.id)).output == "new"
        assert old.fence == 1

    async def test_retry_may_change_the_payload(self, queue: Queue) -> None:
        task = await queue.add("job", {"n": 1})
        await kill(queue, "job")
        assert (await queue.retry(task.id, payload={"n": 2})).payload == {"n": 2}
        assert (await take(queue)).task.payload == {"n": 2}

    async def test_a_bad_payload_is_refused_and_changes_nothing(self, queue: Queue) -> None:
        task = await queue.add("job", {"n": 1})
        await kill(queue, "job")
        with pytest.raises(Invalid) as caught:
            await queue.retry(task.id, payload={"n": "\0"})
        assert caught.value.field == "payload"
        assert await status(queue, task) == Status.DEAD_LETTERED

    async def test_retry_may_wait(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job")
        await kill(queue, "job")
        revived = await queue.retry(task.id, delay="10s")
        assert (revived.status, revived.run_after) == (Status.SCHEDULED, clock.now + timedelta(seconds=10))
        await elapse(queue, clock, 11)
        assert (await take(queue)).task.id == task.id

    async def test_retry_of_a_live_or_completed_task_is_illegal(self, queue: Queue) -> None:
        task = await queue.add("job")
        for _ in range(2):
            with pytest.raises(IllegalTransition):
                await queue.retry(task.id)
            await finish(queue, "job") if await status(queue, task) == Status.READY else None
        assert await status(queue, task) == Status.COMPLETED

    async def test_an_unknown_task_cannot_be_retried(self, queue: Queue) -> None:
        with pytest.raises(NotFound):
            await queue.retry("task_00000000000000000000000000")

    async def test_what_was_cancelled_because_of_it_comes_back(self, queue: Queue) -> None:
        a = await queue.add("a")
        b = await queue.add("b", after=[a])
        c = await queue.add("c", after=[b])
        by_hand = await queue.add("by_hand", after=[a])
        await queue.cancel(by_hand.id)
        await kill(queue, "a")
        assert (await queue.get_dag(a.dag_id)).status == DagStatus.FAILED
        await queue.retry(a.id)
        assert (await queue.get_dag(a.dag_id)).status == DagStatus.RUNNING
        for task in (b, c):
            back = await queue.get(task.id)
            assert (back.status, back.reason, back.cause) == (Status.PENDING, None, None)
        assert await status(queue, by_hand) == Status.CANCELLED
        for type in ("a", "b", "c"):
            await finish(queue, type)
        assert (await queue.get_dag(a.dag_id)).status == DagStatus.COMPLETED

    async def test_a_failed_dag_reopens_with_all_that_fell_with_it(self, queue: Queue) -> None:
        dag = await queue.add_dag("Fast", [NewTask("bad"), NewTask("free"), NewTask("done")])
        await finish(queue, "done")
        await kill(queue, "bad")
        await queue.retry(dag.tasks[0].id)
        reopened = await queue.get_dag(dag.id)
        assert (reopened.status, reopened.counts) == (DagStatus.RUNNING, {"ready": 2, "completed": 1})
        assert reopened.ended_at is None
        await finish(queue, "bad")
        await finish(queue, "free")
        assert (await queue.get_dag(dag.id)).status == DagStatus.COMPLETED

    async def test_a_task_that_still_has_another_failed_parent_stays_cancelled(self, queue: Queue) -> None:
        one, two = await queue.add("one"), await queue.add("two")
        both = await queue.add("both", after=[one, two], dag=(await queue.add_dag("Own", [NewTask("x")])).id)
        await kill(queue, "one")
        await kill(queue, "two")
        assert (await queue.get(both.id)).cause == one.id
        await queue.retry(one.id)
        stays = await queue.get(both.id)
        assert (stays.status, stays.cause) == (Status.CANCELLED, two.id)
        await queue.retry(two.id)
        assert await status(queue, both) == Status.PENDING
        await finish(queue, "one")
        await finish(queue, "two")
        assert await status(queue, both) == Status.READY

    async def test_a_dependent_cannot_come_back_before_its_parent(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        child = await queue.add("child", after=[parent])
        await kill(queue, "parent")
        with pytest.raises(IllegalTransition) as caught:
            await queue.retry(child.id)
        assert parent.id in str(caught.value)
        assert await status(queue, child) == Status.CANCELLED

    async def test_a_task_with_open_dependencies_comes_back_pending(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        child = await queue.add("child", after=[parent])
        await queue.cancel(child.id)
        assert (await queue.retry(child.id)).status == Status.PENDING
        await finish(queue, "parent")
        await finish(queue, "child")

    async def test_a_row_of_releases_is_forgotten(self, queue: Queue) -> None:
        task = await queue.add("job")
        await queue.release(await take(queue))
        await queue.cancel(task.id)
        await queue.retry(task.id)
        await queue.release(await take(queue))
        assert await status(queue, task) == Status.READY

    async def test_a_key_taken_meanwhile_prevents_the_retry(self, queue: Queue) -> None:
        old = await queue.add("job", key="k")
        await queue.cancel(old.id)
        new = await queue.add("job", key="k")
        assert new.id != old.id
        with pytest.raises(KeyReused):
            await queue.retry(old.id)
        assert await status(queue, old) == Status.CANCELLED

    async def test_another_payload_makes_the_key_stand_for_another_request(self, queue: Queue) -> None:
        task = await queue.add("job", 1, key="k")
        await kill(queue, "job")
        revived = await queue.retry(task.id, payload=2)
        assert (revived.key, revived.payload) == ("k", 2)
        assert (await queue.add("job", 2, key="k")).id == task.id
        with pytest.raises(KeyReused):
            await queue.add("job", 1, key="k")

    async def test_a_key_made_of_the_content_follows_another_payload(self, queue: Queue) -> None:
        task = await queue.add("job", 1, key=CONTENT)
        await kill(queue, "job")
        revived = await queue.retry(task.id, payload=2)
        assert revived.key is not None
        assert revived.key != task.key
        assert (await queue.get(task.id)).key == revived.key
        assert (await queue.add("job", 2, key=CONTENT)).id == task.id
        assert (await queue.add("job", 1, key=CONTENT)).id != task.id

    async def test_a_payload_whose_content_key_is_taken_is_refused_and_changes_nothing(self, queue: Queue) -> None:
        task = await queue.add("job", 1, key=CONTENT)
        await kill(queue, "job")
        owner = await queue.add("job", 2, key=CONTENT)
        before = await queue.get(task.id)
        with pytest.raises(KeyReused):
            await queue.retry(task.id, payload=2)
        assert await queue.get(task.id) == before
        assert (await queue.add("job", 2, key=CONTENT)).id == owner.id
        await queue.retry(task.id)
        assert (await queue.add("job", 1, key=CONTENT)).id == task.id

    async def test_steps_are_kept_unless_told_otherwise(self, queue: Queue) -> None:
        task = await queue.add("job")
        claim = await take(queue)
        await queue.checkpoint(claim, {"page": 3})
        await queue.fail(claim, "no", retry=False)
        await queue.retry(task.id)
        claim = await take(queue)
        assert claim.checkpoint == {"page": 3}
        await queue.fail(claim, "no", retry=False)
        await queue.retry(task.id, keep_steps=False)
        await take(queue)
        assert [entry.kind for entry in await queue.store.read_journal(task.id) if entry.kind == "step"] == []

    async def test_a_cancelled_dag_reopens_when_the_task_that_was_asked_for_comes_back(self, queue: Queue) -> None:
        a = await queue.add("a")
        b = await queue.add("b", after=[a])
        await queue.cancel(a.id)
        assert (await queue.get_dag(a.dag_id)).status == DagStatus.CANCELLED
        await queue.retry(a.id)
        assert (await queue.get_dag(a.dag_id)).status in (DagStatus.RUNNING, DagStatus.PENDING)
        assert await status(queue, b) == Status.PENDING
