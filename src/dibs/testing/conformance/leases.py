"""Leases: renewing, losing, expiring — and who is to blame when a worker disappears."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from dibs.errors import LeaseLost, NotFound
from dibs.model.retry import Retry
from dibs.model.status import Outcome, Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Leases(Topic):
    async def test_renewing_extends_by_the_lease_it_was_claimed_with(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=40)
        clock.advance(30)
        news = await queue.renew(claim)
        assert (news.cancel, news.lease_expires_at) == (False, clock.now + timedelta(seconds=40))
        task = await queue.get(claim.task.id)
        assert (task.lease_expires_at, task.renewed_at) == (news.lease_expires_at, clock.now)

    async def test_renewing_may_ask_for_another_lease(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=40)
        news = await queue.renew(claim, lease="10m")
        assert news.lease_expires_at == clock.now + timedelta(minutes=10)

    async def test_progress_note_and_usage_show_while_it_runs(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.renew(claim, progress=0.4, note="reading")
        await queue.renew(claim)
        task = await queue.get(claim.task.id)
        assert (task.progress, task.note) == (0.4, "reading")
        assert (await story(queue, task.id)).count("progress") == 1

    async def test_a_renewed_task_never_expires(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=10)
        for _ in range(5):
            await elapse(queue, clock, 5)
            await queue.renew(claim)
        assert await status(queue, claim.task) == Status.RUNNING

    async def test_an_expired_lease_that_nobody_took_away_is_renewed(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=10)
        clock.advance(60)
        news = await queue.renew(claim)
        assert news.lease_expires_at == clock.now + timedelta(seconds=10)
        await queue.complete(claim)

    async def test_a_late_completion_counts_if_nobody_took_the_task_away(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=10)
        clock.advance(60)
        await queue.complete(claim, "late")
        assert (await queue.get(claim.task.id)).output == "late"

    @pytest.mark.door
    async def test_whoever_lost_the_task_can_do_nothing_more_with_it(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        lost = await take(queue, lease=10)
        await elapse(queue, clock, 12)
        held = await take(queue, agent="bob")
        assert (held.task.id, held.fence) == (lost.task.id, 2)
        before = await queue.get(held.task.id)
        for attempt in (
            queue.renew(lost),
            queue.start(lost),
            queue.complete(lost, "mine"),
            queue.fail(lost, "mine"),
            queue.release(lost),
            queue.checkpoint(lost, 1),
            queue.log(lost, "mine"),
            queue.spawn(lost, [NewTask("child")]),
        ):
            with pytest.raises(LeaseLost):
                await attempt
        assert await queue.get(held.task.id) == before
        await queue.complete(held, "theirs")
        assert (await queue.get(held.task.id)).output == "theirs"

    async def test_a_fence_from_the_future_is_lost_too(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        with pytest.raises(LeaseLost):
            await queue.renew((claim.task.id, 9))

    @pytest.mark.door
    async def test_a_lost_lease_names_the_fence(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        for attempt in (queue.renew, queue.start, queue.complete, queue.release):
            with pytest.raises(LeaseLost) as caught:
                await attempt((claim.task.id, 9))
            assert caught.value.field == "fence"

    async def test_an_unknown_task_cannot_be_held(self, queue: Queue) -> None:
        for attempt in (queue.renew, queue.start, queue.complete, queue.release):
            with pytest.raises(NotFound):
                await attempt(("task_00000000000000000000000000", 1))

    @pytest.mark.routing
    async def test_an_expired_lease_with_a_confirmed_start_is_a_crash(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=10)
        await queue.renew(claim)
        await elapse(queue, clock, 12)
        task = await queue.get(claim.task.id)
        assert (task.status, task.attempts, task.crashes) == (Status.READY, 1, 1)
        assert (task.agent, task.lease_expires_at) == (None, None)
        (attempt,) = await queue.history(task.id)
        assert (attempt.number, attempt.outcome, attempt.agent) == (1, Outcome.EXPIRED, "ada")
        assert await story(queue, task.id) == ["added", "ready", "claimed", "started", "expired", "ready"]

    async def test_a_start_verb_confirms_the_start(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=10, start=False)
        await queue.start(claim)
        await elapse(queue, clock, 12)
        task = await queue.get(claim.task.id)
        assert (task.attempts, task.crashes) == (1, 1)

    async def test_a_checkpoint_confirms_the_start(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=10)
        await queue.checkpoint(claim, {"page": 1})
        await elapse(queue, clock, 12)
        assert (await queue.get(claim.task.id)).crashes == 1

    async def test_an_expired_lease_without_a_confirmed_start_counts_as_nothing(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add("job")
        claim = await take(queue, lease=10)
        await elapse(queue, clock, 12)
        task = await queue.get(claim.task.id)
        assert (task.status, task.attempts, task.crashes) == (Status.READY, 0, 0)
        (attempt,) = await queue.history(task.id)
        assert (attempt.number, attempt.outcome) == (0, Outcome.EXPIRED)

    async def test_a_claim_that_was_never_started_counts_as_nothing(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=10, start=False)
        await queue.renew(claim)
        await elapse(queue, clock, 12)
        task = await queue.get(claim.task.id)
        assert (task.status, task.attempts, task.crashes) == (Status.READY, 0, 0)

    async def test_suspects_are_handed_out_alone_with_their_start_confirmed(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add_many([NewTask("job", 1), NewTask("job", 2)])
        assert len(await queue.claim("ada", limit=2, lease=10)) == 2
        await elapse(queue, clock, 12)
        await queue.add("job", 3, priority=90)
        batches = [[claim.task.payload for claim in await queue.claim("bob", limit=9, lease=10)] for _ in range(3)]
        assert batches == [[1], [2], [3]]
        await elapse(queue, clock, 12)
        crashes = {task.payload: task.crashes for task in (await queue.find(type="job")).items}
        assert crashes == {1: 1, 2: 1, 3: 0}

    async def test_a_task_with_one_attempt_starts_at_most_once(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", max_attempts=1)
        claim = await take(queue, lease=10)
        await elapse(queue, clock, 12)
        task = await queue.get(claim.task.id)
        assert (task.status, task.attempts, task.crashes) == (Status.DEAD_LETTERED, 1, 1)

    async def test_three_crashes_make_a_poison_pill(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", max_attempts=10)
        for agent in ("ada", "bob", "cyd"):
            await queue.renew(await take(queue, agent=agent, lease=10))
            await elapse(queue, clock, 12)
        task = await queue.get(task.id)
        assert (task.status, task.poison_pill, task.reason) == (Status.DEAD_LETTERED, True, "poison_pill")
        assert (task.attempts, task.crashes) == (3, 3)

    async def test_the_same_error_from_two_agents_in_three_attempts_is_a_poison_pill(self, queue: Queue) -> None:
        task = await queue.add("job", max_attempts=10, retry="immediate")
        for agent in ("ada", "bob", "ada"):
            await queue.fail(await take(queue, agent=agent), "KeyError: 'x' at line 12")
        task = await queue.get(task.id)
        assert (task.status, task.poison_pill, task.attempts) == (Status.DEAD_LETTERED, True, 3)

    async def test_the_same_error_from_one_agent_is_not_a_poison_pill(self, queue: Queue) -> None:
        task = await queue.add("job", max_attempts=10, retry="immediate")
        for _ in range(4):
            await queue.fail(await take(queue), "KeyError: 'x' at line 12")
        assert (await queue.get(task.id)).status == Status.READY

    async def test_different_errors_are_not_a_poison_pill(self, queue: Queue) -> None:
        task = await queue.add("job", max_attempts=10, retry="immediate")
        for agent, error in (("ada", "no such file"), ("bob", "connection refused"), ("cyd", "disk is full")):
            await queue.fail(await take(queue, agent=agent), error)
        assert (await queue.get(task.id)).status == Status.READY

    async def test_an_attempt_over_its_timeout_ends_even_while_it_renews(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", timeout=20, retry=Retry(strategy="fixed", delay=5, jitter=0))
        claim = await take(queue, lease=60)
        await elapse(queue, clock, 15)
        await queue.renew(claim)
        assert await status(queue, claim.task) == Status.RUNNING
        await elapse(queue, clock, 5)
        task = await queue.get(claim.task.id)
        assert (task.status, task.attempts, task.crashes, task.reason) == (Status.RETRYING, 1, 0, "timeout")
        (attempt,) = await queue.history(task.id)
        assert (attempt.outcome, attempt.reason) == (Outcome.TIMED_OUT, "timeout")
        with pytest.raises(LeaseLost):
            await queue.renew(claim)

    async def test_the_timeout_counts_from_the_start(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", timeout=20)
        claim = await take(queue, lease=60, start=False)
        await elapse(queue, clock, 15)
        await queue.start(claim)
        await elapse(queue, clock, 15)
        assert await status(queue, claim.task) == Status.RUNNING
        await elapse(queue, clock, 5)
        assert await status(queue, claim.task) == Status.RETRYING

    async def test_each_timed_out_attempt_lengthens_the_next_timeout(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", timeout=10, retry=Retry(strategy="immediate", timeout_multiplier=2), max_attempts=5)
        for timeout in (10, 20, 40):
            claim = await take(queue, lease=3600)
            assert claim.timeout_s == timeout
            await elapse(queue, clock, timeout - 2)
            assert await status(queue, claim.task) == Status.RUNNING
            await elapse(queue, clock, 3)
            assert await status(queue, claim.task) == Status.READY

    async def test_claiming_alone_is_enough_to_reclaim_lost_work(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        lost = await take(queue, lease=10)
        for _ in range(50):
            clock.advance(2)
            if claims := await queue.claim("bob"):
                break
        assert [(claim.task.id, claim.fence) for claim in claims] == [(lost.task.id, 2)]

    async def test_the_children_of_a_dead_claim_are_not_lost(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=10)
        (child,) = await queue.spawn(claim, [NewTask("child")])
        await elapse(queue, clock, 12)
        assert await status(queue, claim.task) == Status.READY
        assert await status(queue, child) == Status.READY
        assert await nothing(queue, "other")
