"""Budgets of agents: what an agent cannot pay for is passed over, and stays ready for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dibs.errors import Invalid
from dibs.model.task import NewTask
from dibs.stores.values import ClaimRequest
from dibs.testing.conformance.budgets import amounts, budget, parked, sound
from dibs.testing.conformance.topic import Topic, elapse, nothing, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

ADA = "agent:ada"


class AgentBudgets(Topic):
    async def test_an_agent_reserves_in_its_own_budget_and_is_charged(self, queue: Queue) -> None:
        await queue.set_budget(ADA, 1.0)
        await queue.add("job", max_cost=0.4)
        claim = await take(queue)
        assert await amounts(queue, ADA) == (0.4, 0.0, 0)
        await queue.complete(claim, cost=0.1)
        assert await amounts(queue, ADA) == (0.0, 0.1, 0)
        await sound(queue)

    async def test_what_an_agent_cannot_pay_for_stays_ready_for_others(self, queue: Queue) -> None:
        await queue.set_budget(ADA, 1.0)
        dear, cheap = await queue.add_many([NewTask("job", max_cost=2, priority=1), NewTask("job", max_cost=0.5)])
        assert (await take(queue)).task.id == cheap.id
        assert await nothing(queue)
        assert await parked(queue) == []
        assert (await take(queue, agent="bob")).task.id == dear.id
        assert [each.scope for each in await queue.budgets()] == [ADA]
        await sound(queue)

    async def test_a_claim_of_many_takes_what_the_agent_can_pay_for_together(self, queue: Queue) -> None:
        await queue.set_budget(ADA, 1.0)
        await queue.add_many([NewTask("job", max_cost=0.4) for _ in range(3)] + [NewTask("job", max_cost=0.2)])
        claims = await queue.claim("ada", limit=10)
        assert [claim.task.max_cost for claim in claims] == [0.4, 0.4, 0.2]
        assert await amounts(queue, ADA) == (1.0, 0.0, 0)
        assert [claim.task.max_cost for claim in await queue.claim("bob", limit=10)] == [0.4]
        await sound(queue)

    async def test_an_agent_whose_budget_is_used_up_gets_nothing_and_is_told_why(self, queue: Queue) -> None:
        await queue.set_budget(ADA, 0.5)
        await queue.add_many([NewTask("job", max_cost=0.5), NewTask("job")])
        claim = await take(queue)
        claimed = await queue.store.claim(ClaimRequest(agent="ada"))
        assert (claimed.claims, claimed.reason) == ([], "budget")
        assert (await queue.store.claim(ClaimRequest(agent="ada"))).reason == "budget", "also if it asks again"
        await queue.complete(claim, cost=0.2)
        await take(queue)
        await sound(queue)

    async def test_soft_budgets_let_agents_begin_until_they_are_used_up(self, queue: Queue) -> None:
        await queue.set_budget(ADA, 0.5)
        await queue.add_many([NewTask("job") for _ in range(3)])
        first, second = await queue.claim("ada", limit=2)
        await queue.complete(first, cost=0.3)
        await queue.complete(second, cost=0.3)
        assert await amounts(queue, ADA) == (0.0, 0.6, 0)
        assert await nothing(queue)
        await queue.raise_budget(ADA, 1.0)
        await take(queue)

    async def test_raising_an_agents_budget_lets_it_go_on(self, queue: Queue, other: Queue) -> None:
        await queue.set_budget(ADA, 0.5)
        await queue.add("job", max_cost=0.6)
        assert await nothing(other)
        await queue.raise_budget(ADA, 0.1)
        await take(other)
        await queue.remove_budget(ADA)
        assert await queue.budgets() == []
        await sound(queue)

    async def test_setting_it_counts_what_the_agent_holds(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", max_cost=0.4) for _ in range(4)])
        claim = await take(queue)
        await take(queue, agent="bob")
        await queue.set_budget(ADA, 1.0)
        assert await amounts(queue, ADA) == (0.4, 0.0, 0)
        assert len(await queue.claim("ada", limit=5)) == 1
        await queue.complete(claim, cost=0.4)
        await sound(queue)

    async def test_it_goes_with_the_other_budgets_of_the_task(self, queue: Queue) -> None:
        await queue.set_budget(ADA, 1.0)
        await queue.set_budget("type:job", 1.0)
        await queue.add_many([NewTask("job", max_cost=0.6) for _ in range(2)])
        claim = await take(queue)
        assert await amounts(queue, ADA) == await amounts(queue, "type:job") == (0.6, 0.0, 0)
        assert await nothing(queue)
        assert await parked(queue) == [], "ada passed it over before anybody looked at the budget of the type"
        assert await nothing(queue, agent="bob")
        assert len(await parked(queue)) == 1
        await queue.complete(claim, cost=0.1)
        assert await parked(queue) == []
        await take(queue)
        await sound(queue)

    async def test_every_unit_counts(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget(ADA, 100, "tokens", 60)
        await queue.set_budget(ADA, 60, "seconds", 10)
        await queue.add_many([NewTask("job", timeout=30), NewTask("job", timeout=40)])
        claim = await take(queue)
        assert await amounts(queue, ADA, "tokens") == (60, 0, 0)
        assert await nothing(queue)
        clock.advance(5)
        await queue.complete(claim, tokens_in=10, tokens_out=5)
        assert await amounts(queue, ADA, "tokens") == (0, 15, 0)
        assert await amounts(queue, ADA, "seconds") == (0, 5, 0)
        await take(queue)

    async def test_an_agent_that_vanished_is_charged_what_it_had_reserved(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget(ADA, 1.0)
        await queue.add("job", max_cost=0.4)
        await take(queue, lease=30)
        await elapse(queue, clock, 31)
        assert await amounts(queue, ADA) == (0.0, 0.4, 1)
        await sound(queue)

    async def test_a_claim_passes_over_a_hundred_tasks_and_no_more(self, queue: Queue) -> None:
        await queue.set_budget(ADA, 1.0)
        await queue.add_many([NewTask("job", max_cost=2, priority=1) for _ in range(99)])
        await queue.add("job", max_cost=0.1)
        assert (await take(queue)).task.max_cost == 0.1
        await queue.add("job", max_cost=2, priority=1)
        await queue.add("job", max_cost=0.1)
        assert await nothing(queue, limit=5)
        assert len(await queue.claim("bob", limit=200)) == 101

    async def test_a_slot_is_not_taken_by_what_is_passed_over(self, queue: Queue) -> None:
        await queue.set_slots(type="job", slots=2)
        await queue.set_budget(ADA, 1.0)
        await queue.add_many([NewTask("job", max_cost=2, priority=1)] * 5 + [NewTask("job", max_cost=0.1)] * 3)
        claims = await queue.claim("ada", limit=5)
        assert [claim.task.max_cost for claim in claims] == [0.1, 0.1]

    async def test_many_that_are_passed_over_before_a_type_with_one_slot(self, queue: Queue) -> None:
        await queue.set_slots(type="job", slots=1)
        await queue.set_budget(ADA, 1.0)
        await queue.add_many([NewTask("job", max_cost=2, priority=1)] * 60 + [NewTask("job", max_cost=0.1)])
        assert [claim.task.max_cost for claim in await queue.claim("ada", limit=2)] == [0.1]

    async def test_a_solo_task_that_is_passed_over_ends_no_batch(self, queue: Queue) -> None:
        await queue.set_budget(ADA, 1.0)
        await queue.add("job", max_cost=2, max_attempts=1, priority=40)
        await queue.add_many([NewTask("job", max_cost=0.1, priority=1), NewTask("job", max_cost=0.1)])
        assert len(await queue.claim("ada", limit=5)) == 2

    async def test_registering_with_a_budget_sets_it(self, queue: Queue) -> None:
        await queue.register_agent("ada", "coder", budget=5)
        assert (await budget(queue, ADA)).limit == 5.0
        await queue.set_budget(ADA, 2.0, default_reserve=0.5)
        await queue.register_agent("ada", "coder")
        assert (await budget(queue, ADA)).limit == 2.0
        await queue.register_agent("ada", budget=3)
        found = await budget(queue, ADA)
        assert (found.limit, found.default_reserve) == (3.0, 0.5)
        with pytest.raises(Invalid) as refused:
            await queue.register_agent("bob", budget=-1)
        assert refused.value.field == "budget"
        assert [agent.id for agent in await queue.agents()] == ["ada"]

    async def test_why_tells_when_nobody_can_pay_for_a_task(self, queue: Queue) -> None:
        task = await queue.add("job", max_cost=2)
        await queue.set_budget(ADA, 1.0)
        await nothing(queue)
        told = await queue.why(task.id)
        assert told.explanation == "It is ready, but no live agent that could do it has the budget for it."
        [blocker] = told.blockers
        assert blocker.kind == "gate"
        assert "budget agent:ada has $1.00 left of $1.00" in blocker.detail
        assert blocker.help == "raise budget agent:ada by $1.00: dibs budget raise agent:ada 1"
        await nothing(queue, type="other", agent="bob")
        assert (await queue.why(task.id)).blockers == told.blockers, "bob does something else"
        await queue.claim("bob", types=["job"], limit=1)
        other = await queue.add("job", max_cost=2)
        assert (await queue.why(other.id)).blockers == []

    async def test_an_agent_whose_budget_is_used_up_is_told_when_it_begins_anew(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.set_budget("agent:ada", 1.0, window="day")
        await queue.set_budget("agent:ada", 9, unit="turns")
        await queue.add_many([NewTask("job"), NewTask("job"), NewTask("job")])
        midnight = (await budget(queue, "agent:ada")).ends_at
        assert midnight is not None
        await queue.complete(await take(queue), cost=1.0, turns=1)
        broke = await queue.store.claim(ClaimRequest(agent="ada"))
        assert (broke.claims, broke.reason) == ([], "budget")
        assert broke.next_due_in == (midnight - clock.now).total_seconds()
        await queue.set_budget("agent:ada", 1, unit="turns")
        assert (await queue.store.claim(ClaimRequest(agent="ada"))).next_due_in is None
        await queue.set_budget("agent:ada", 9, unit="turns")
        clock.advance(broke.next_due_in)
        await take(queue)
