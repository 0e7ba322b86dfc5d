"""Budgets that do not suffice for what is being used: whoever used more than it had reserved is told to stop, and what
it gives back waits until there is room for as much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import DibsError
from dibs.model.ended import Ended
from dibs.model.status import Outcome, Status
from dibs.model.task import NewTask
from dibs.stores.values import Entry, Renewal, Usage
from dibs.testing.conformance.topic import Topic, elapse, take

if TYPE_CHECKING:
    from dibs.model.claim import Claim
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def told(queue: Queue, claim: Claim, **used: Any) -> str | None:
    """What a renewal says is exceeded."""
    found: str | None = (await queue.renew(claim, **used)).limits.get("exceeded")
    return found


class Overdrawing(Topic):
    async def test_who_overdraws_a_budget_is_told_which(self, queue: Queue) -> None:
        await queue.set_budget("type:job", 1.0)
        await queue.set_budget("global", 100, unit="turns")
        await queue.add("job")
        claim = await take(queue)
        assert await told(queue, claim) is None
        assert await told(queue, claim, cost=1.0, turns=3) is None
        assert await told(queue, claim, cost=1.000001) == "budget:type:job:usd"
        assert await told(queue, claim) == "budget:type:job:usd"
        await queue.raise_budget("type:job", 0.5)
        assert await told(queue, claim) is None
        assert await queue.store.check() == []

    async def test_who_keeps_to_what_it_reserved_is_left_alone(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add_many([NewTask("job", max_cost=0.6), NewTask("free")])
        careful, careless = await take(queue, "job"), await take(queue, "free")
        assert await told(queue, careless, cost=0.5) == "budget:global:usd"
        assert await told(queue, careful, cost=0.6) is None
        assert await told(queue, careful, cost=0.7) == "max_cost"

    async def test_what_others_have_told_counts_before_they_end(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add_many([NewTask("job"), NewTask("job"), NewTask("job")])
        one, two, three = await queue.claim("ada", limit=3)
        assert await told(queue, one, cost=0.7) is None
        assert await told(queue, two, cost=0.4) == "budget:global:usd"
        assert await told(queue, three) is None
        await queue.complete(two, cost=0.3)
        assert await told(queue, one, cost=0.7) is None
        assert await told(queue, one, cost=0.8) == "budget:global:usd"

    async def test_of_a_batch_everybody_has_told_before_anybody_is_answered(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add_many([NewTask("job"), NewTask("job")])
        claims = await queue.claim("ada", limit=2)
        renewals = [Renewal(task_id=claim.task.id, fence=claim.fence, usage=Usage(cost_usd=0.7)) for claim in claims]
        for news in await queue.renew_many(renewals):
            assert not isinstance(news, DibsError)
            assert news.limits == {"exceeded": "budget:global:usd"}

    async def test_time_is_measured(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("agent:ada", 60, unit="seconds")
        await queue.add("job")
        claim = await take(queue, lease="1h")
        await elapse(queue, clock, 60)
        assert await told(queue, claim) is None
        await elapse(queue, clock, 1)
        assert await told(queue, claim) == "budget:agent:ada:seconds"

    async def test_a_window_that_is_over_overdraws_nothing(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("global", 1.0, window="day")
        await queue.add("job")
        claim = await take(queue, lease="24h")
        assert await told(queue, claim, cost=2.0) == "budget:global:usd"
        clock.advance(86_400)
        assert await told(queue, claim, cost=3.0) is None

    async def test_who_is_done_is_done(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0)
        task = await queue.add("job", max_cost=5.0, max_turns=9)
        await queue.set_budget("type:job", 1.0)
        assert await queue.claim("ada") == []
        await queue.raise_budget("global", 9)
        await queue.raise_budget("type:job", 9)
        claim = await take(queue)
        await queue.set_budget("type:job", 1.0)
        assert await told(queue, claim, cost=4.0) is None
        await queue.complete(claim, cost=5.0)
        assert (await queue.get(task.id)).status == Status.COMPLETED

    async def test_what_a_budget_stopped_waits_until_it_is_raised(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("type:job", 0.5)
        task = await queue.add("job", max_attempts=1)
        claim = await take(queue)
        await queue.checkpoint(claim, {"page": 7})
        await queue.record(claim, [Entry(kind="step", name="read", digest="d", value=b"1")])
        assert await told(queue, claim, cost=0.6) == "budget:type:job:usd"
        settled = await queue.release(claim)
        assert (settled.outcome, settled.status) == (Outcome.RELEASED, Status.READY)
        assert await queue.release(claim) == settled
        [attempt] = await queue.history(task.id)
        assert (attempt.number, attempt.reason, attempt.cost_usd) == (0, "budget_exceeded", 0.6)
        stopped = await queue.get(task.id)
        assert (stopped.attempts, stopped.reason, stopped.error) == (0, "budget_exceeded", attempt.error)
        assert (stopped.error or "").startswith("budget type:job is used up")
        assert await queue.claim("ada") == []
        await elapse(queue, clock, 3600)
        assert await queue.claim("ada") == []
        assert (await queue.get(task.id)).parked_on == "budget:type:job:usd"
        [blocker] = (await queue.why(task.id)).blockers
        assert (blocker.help or "").startswith("raise budget type:job by $0.70")
        await queue.raise_budget("type:job", 0.69)
        assert await queue.claim("ada") == [], "it would be stopped again"
        await queue.raise_budget("type:job", 0.01)
        claim = await take(queue)
        assert (claim.task.id, claim.checkpoint) == (task.id, {"page": 7})
        assert [entry.name for entry in await queue.journal(task.id) if entry.kind == "step"] == ["read"]
        assert await told(queue, claim, cost=0.6) is None
        await queue.complete(claim, cost=0.5)
        done = await queue.get(task.id)
        assert (done.status, done.reason, done.error, done.attempts) == (Status.COMPLETED, None, None, 1)
        [budget] = await queue.budgets()
        assert (budget.spent, budget.reserved, budget.waiting) == (1.1, 0, 0)
        assert await queue.store.check() == []

    async def test_why_a_task_was_stopped_is_told_once(self, queue: Queue) -> None:
        await queue.set_budget("global", 1)
        task = await queue.add("job")
        claim = await take(queue)
        await queue.renew(claim, cost=2)
        await queue.release(claim)
        events = [event for event in await queue.read_events(0) if event.task_id == task.id]
        assert [(event.type, event.reason) for event in events[-2:]] == [
            ("task.released", "budget_exceeded"),
            ("task.ready", "released"),
        ]

    async def test_a_soft_budget_that_still_shows_room_is_not_enough_for_what_it_stopped(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add_many([NewTask("job"), NewTask("job"), NewTask("other")])
        one, two = await queue.claim("ada", types=["job"], limit=2)
        await queue.renew(one, cost=0.7)
        assert await told(queue, two, cost=0.7) == "budget:global:usd"
        await queue.release(two)
        [budget] = await queue.budgets()
        assert budget.left == pytest.approx(0.3), "the other has told of seventy cents, but has not ended"
        assert await queue.claim("ada", types=["job"]) == []
        assert (await queue.get(two.task.id)).parked_on == "budget:global:usd"
        await take(queue, "other")
        await queue.raise_budget("global", 1.0)
        assert (await take(queue)).task.id == two.task.id
        assert await queue.store.check() == []

    async def test_what_is_stopped_again_and_again_waits_longer(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("global", 10, unit="seconds")
        await queue.add_many([NewTask("long"), NewTask("job")])
        long = await take(queue, "long", lease="1h")
        await elapse(queue, clock, 11)
        for round in range(4):
            claim = await take(queue)
            clock.advance(0.001)
            assert await told(queue, claim) == "budget:global:seconds"
            settled = await queue.release(claim)
            assert settled.status == (Status.RETRYING if round else Status.READY)
            await elapse(queue, clock, 4)
        await queue.complete(long)
        await elapse(queue, clock, 300)
        assert await queue.claim("ada") == []
        assert await queue.store.check() == []

    async def test_a_day_that_begins_lets_in_what_was_stopped(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("global", 1.0, window="day")
        small, large = await queue.add_many([NewTask("job", priority=1), NewTask("job", priority=2)])
        claims = await queue.claim("ada", limit=2, lease="1h")
        for claim, cost in zip(claims, (0.4, 1.6), strict=True):
            await queue.renew(claim, cost=cost)
        for claim in claims:
            await queue.release(claim)
        assert await queue.claim("ada") == []
        await elapse(queue, clock, 86_400)
        claims = await queue.claim("ada", limit=2)
        assert [claim.task.id for claim in claims] == [small.id, large.id]
        [budget] = await queue.budgets()
        assert budget.reserved == 0.4, "what is more than a day's budget is not waited for"
        assert await queue.store.check() == []

    async def test_what_one_agent_cannot_pay_for_any_more_another_takes(self, queue: Queue) -> None:
        await queue.set_budget("agent:ada", 1.0)
        await queue.set_budget("agent:eve", 1.0)
        task = await queue.add("job")
        claim = await take(queue, agent="ada")
        assert await told(queue, claim, cost=1.5) == "budget:agent:ada:usd"
        await queue.release(claim)
        assert await queue.claim("ada") == []
        assert (await queue.get(task.id)).parked_on is None
        await take(queue, agent="eve")
        assert await queue.store.check() == []

    async def test_a_group_that_was_stopped_waits_together(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0, default_reserve=0.1)
        await queue.add_many([NewTask("job", coalesce_key="k", coalesce_window=0) for _ in range(3)])
        claim = await take(queue)
        assert len(claim.group) == 2
        await queue.renew(claim, cost=1.0)
        for settled in await queue.release_group(claim):
            assert not isinstance(settled, DibsError)
            assert settled.outcome == Outcome.RELEASED
        assert await queue.claim("ada") == []
        [budget] = await queue.budgets()
        assert (budget.waiting, budget.spent) == (3, 1.0)
        assert await queue.store.check() == []

    async def test_what_failed_because_of_a_budget_by_its_own_word_is_a_dead_letter(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0)
        task = await queue.add("job")
        claim = await take(queue)
        await queue.renew(claim, cost=2)
        await queue.fail(claim, "too dear", reason="budget_exceeded")
        assert (await queue.get(task.id)).status == Status.DEAD_LETTERED
        await queue.raise_budget("global", 1.5)
        await queue.retry(task.id)
        assert (await take(queue)).task.id == task.id, "a new life forgets why the old one ended"

    async def test_many_that_were_stopped_are_given_back_in_one_commit(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0)
        tasks = await queue.add_many([NewTask("job"), NewTask("job")])
        claims = await queue.claim("ada", limit=2)
        reasons = ("budget_exceeded", "worker_left")
        ends = [
            Ended(task_id=claim.task.id, fence=claim.fence, outcome="released", reason=reason, cost=0.7)
            for claim, reason in zip(claims, reasons, strict=True)
        ]
        await queue.renew(claims[1], cost=0.7)
        for settled in await queue.settle_outcomes(ends):
            assert not isinstance(settled, DibsError)
        found = [(await queue.get(task.id)).reason for task in tasks]
        assert found == ["budget_exceeded", None], "who leaves was not stopped"
