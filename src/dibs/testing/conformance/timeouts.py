"""Timeouts: an attempt that has had its time ends as timed out, whatever its agent says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs import settling
from dibs.errors import LeaseLost
from dibs.model.claim import Settled
from dibs.model.retry import Retry
from dibs.model.status import Outcome, Status
from dibs.model.task import NewTask
from dibs.stores.values import Renewal, Usage
from dibs.testing.conformance.topic import Topic, elapse, status, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Timeouts(Topic):
    async def test_an_attempt_over_its_timeout_is_neither_renewed_nor_journaled_nor_completed(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add("job", timeout=20)
        claim = await take(queue, lease=600)
        clock.advance(19.999)
        await queue.renew(claim)
        await queue.checkpoint(claim, {"page": 1})
        clock.advance(0.001)
        # Asked of the store itself, because the queue would run the duty that ends the attempt.
        store = queue.store
        answers = [
            *await store.renew([Renewal(task_id=claim.task.id, fence=claim.fence)]),
            *await store.settle([settling.completed(claim, "late")]),
            *await store.settle([settling.completed(claim, "late", usage=Usage(cost_usd=0.1))]),
        ]
        spawning = queue.spawn(claim, [NewTask("late")], wait=True)
        for verb in (queue.checkpoint(claim, {"page": 2}), queue.log(claim, "still here"), spawning):
            with pytest.raises(LeaseLost) as caught:
                await verb
            answers.append(caught.value)
        for answer in answers:
            assert isinstance(answer, LeaseLost)
            assert "over its timeout of 20 s" in str(answer)
            assert answer.field == "fence"
        task = await queue.get(claim.task.id)
        assert (task.status, task.output, task.attempts) == (Status.RUNNING, None, 0)
        assert [entry.kind for entry in await queue.journal(task.id)] == ["checkpoint"]

    async def test_a_completion_in_time_counts(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", timeout=20)
        claim = await take(queue, lease=600)
        clock.advance(19.999)
        assert (await queue.complete(claim, "just so")).status == "completed"

    async def test_of_completions_settled_together_only_the_late_ones_are_refused(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add_many([NewTask("slow", timeout=20), NewTask("quick")])
        claims = await queue.claim("ada", limit=2, lease=600)
        clock.advance(20)
        late, done = await queue.store.settle([settling.completed(claim) for claim in claims])
        assert isinstance(late, LeaseLost)
        assert isinstance(done, Settled)
        assert [await status(queue, claim.task) for claim in claims] == [Status.RUNNING, Status.COMPLETED]

    async def test_its_agent_may_still_say_that_it_timed_out(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", timeout=20)
        claim = await take(queue, lease=600)
        clock.advance(21)
        await queue.fail(claim, "too slow", reason="timeout")
        (attempt,) = await queue.history(claim.task.id)
        assert (attempt.outcome, attempt.agent, attempt.error) == (Outcome.TIMED_OUT, "ada", "too slow")

    async def test_no_attempt_escapes_its_timeout_by_failing_or_giving_back(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        for rate_limited in (False, True):
            task = await queue.add("job", timeout=20, max_attempts=1)
            claim = await take(queue, lease=600)
            clock.advance(21)
            with pytest.raises(LeaseLost):
                await (queue.fail(claim, "x", reason="rate_limit") if rate_limited else queue.release(claim))
            ended = await queue.get(task.id)
            assert (ended.status, ended.reason, ended.attempts) == (Status.DEAD_LETTERED, "timeout", 1)

    async def test_a_lone_agent_that_is_told_so_finds_its_attempt_ended(self, queue: Queue, clock: FakeClock) -> None:
        for late in (queue.renew, queue.complete):
            task = await queue.add("job", timeout=20, retry=Retry(strategy="fixed", delay=500, jitter=0))
            claim = await take(queue, lease=600)
            clock.advance(21)
            with pytest.raises(LeaseLost):
                await late(claim)
            task = await queue.get(task.id)
            assert (task.status, task.reason) == (Status.RETRYING, "timeout")
            (attempt,) = await queue.history(task.id)
            assert (attempt.outcome, attempt.number) == (Outcome.TIMED_OUT, 1)

    async def test_a_claim_that_has_not_started_has_no_timeout_yet(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", timeout=20)
        claim = await take(queue, lease=600, start=False)
        await elapse(queue, clock, 60)
        await queue.renew(claim)
        await queue.start(claim)
        await queue.complete(claim)

    async def test_the_next_attempt_has_its_own_timeout(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", timeout=20, retry="immediate")
        await take(queue, lease=600)
        await elapse(queue, clock, 21)
        claim = await take(queue, lease=600)
        clock.advance(15)
        await queue.renew(claim)
        await queue.complete(claim)
