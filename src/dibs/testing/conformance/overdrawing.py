"""Budgets that do not suffice for what is being used: whoever used more than it had reserved is told to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import DibsError
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.stores.values import Renewal, Usage
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
