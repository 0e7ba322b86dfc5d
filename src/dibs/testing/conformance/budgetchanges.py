"""Budgets that are set, raised, lowered and removed while work goes on, and those that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Invalid, NotFound
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.testing.conformance.budgets import amounts, parked, sound
from dibs.testing.conformance.topic import Topic, finish, nothing, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class BudgetChanges(Topic):
    async def test_a_new_budget_counts_what_runs_already(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", max_cost=0.4), NewTask("job", max_cost=0.4), NewTask("other", max_cost=1)])
        first, second, _ = await queue.claim("ada", limit=3)
        await queue.cancel(second.task.id)
        assert (await queue.set_budget("type:job", 0.5)).reserved == 0.8
        await queue.add("job", max_cost=0.1)
        assert await nothing(queue, "job")
        await queue.complete(first, cost=0.1)
        assert await nothing(queue, "job"), "one that was cancelled may still be spending"
        with pytest.raises(Exception, match="cancelled"):
            await queue.complete(second, cost=0.1)
        await take(queue, "job")
        assert await amounts(queue, "type:job") == (0.1, 0.2, 0)
        await sound(queue)

    async def test_a_limit_below_what_is_used_stops_new_attempts_only(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add_many([NewTask("job", max_cost=0.4) for _ in range(3)])
        claim, _ = await queue.claim("ada", limit=2)
        lowered = await queue.set_budget("global", 0.5)
        assert (lowered.limit, lowered.reserved, lowered.left) == (0.5, 0.8, 0.0)
        await queue.renew(claim, cost=0.1)
        await queue.complete(claim, cost=0.1)
        assert await nothing(queue)
        assert (await queue.get(claim.task.id)).status is Status.COMPLETED
        await sound(queue)

    async def test_removing_a_budget_lets_everybody_in(self, queue: Queue) -> None:
        await queue.set_budget("global", 0.1)
        await queue.add_many([NewTask("job", max_cost=0.4) for _ in range(120)])
        assert await nothing(queue)
        gone = await queue.remove_budget("global")
        assert (gone.limit, gone.waiting) == (0.1, 120)
        assert await queue.budgets() == []
        assert await parked(queue) == []
        assert len(await queue.claim("ada", limit=200)) == 120
        with pytest.raises(NotFound) as error:
            await queue.remove_budget("global")
        assert error.value.field == "scope"
        await sound(queue)

    async def test_a_removed_budget_begins_anew(self, queue: Queue) -> None:
        await queue.set_budget("global", 1)
        await queue.add("job", max_cost=0.4)
        claim = await take(queue)
        await queue.remove_budget("global")
        assert (await queue.set_budget("global", 1)).reserved == 0.4
        await queue.complete(claim, cost=0.2)
        assert await amounts(queue) == (0.0, 0.2, 0)

    async def test_hundreds_that_wait_are_let_in_a_hundred_at_a_time(self, queue: Queue) -> None:
        await queue.set_budget("global", 0)
        await queue.add_many([NewTask("job", max_cost=0.1) for _ in range(150)])
        assert await nothing(queue)
        assert len(await parked(queue)) == 150
        await queue.raise_budget("global", 1000)
        assert len(await parked(queue)) == 50
        assert await queue.store.unpark(100) == 50
        assert await parked(queue) == []
        assert len(await queue.claim("ada", limit=200)) == 150

    async def test_the_budget_of_a_dag_goes_with_it(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_dag("D", [NewTask("job")], budget=1.0)
        alone = await queue.add("job")
        await queue.set_budget(f"dag:{alone.dag_id}", 2)
        await queue.set_budget("global", 3)
        await finish(queue, "job")
        await finish(queue, "job")
        clock.advance(8 * 86_400)
        await queue.prune()
        assert [each.scope for each in await queue.budgets()] == ["global"]

    async def test_another_process_knows_of_a_new_budget_at_once(self, queue: Queue, other: Queue) -> None:
        await queue.add_many([NewTask("job", max_cost=0.4) for _ in range(3)])
        first = await take(other)
        await queue.set_budget("global", 0.5)
        assert await nothing(other)
        await other.complete(first, cost=0.0)
        second = await take(other)
        assert await amounts(queue) == (0.4, 0.0, 0)
        await queue.remove_budget("global")
        await take(other)
        await other.complete(second)
        assert await queue.budgets() == []

    @pytest.mark.parametrize(
        ("call", "field"),
        [
            (lambda queue: queue.set_budget("planet:earth", 1), "scope"),
            (lambda queue: queue.set_budget("type:", 1), "scope"),
            (lambda queue: queue.set_budget("global:x", 1), "scope"),
            (lambda queue: queue.set_budget(7, 1), "scope"),
            (lambda queue: queue.set_budget("global", -1), "limit"),
            (lambda queue: queue.set_budget("global", float("nan")), "limit"),
            (lambda queue: queue.set_budget("global", True), "limit"),
            (lambda queue: queue.set_budget("global", 1, "euro"), "unit"),
            (lambda queue: queue.set_budget("global", 1, None), "unit"),
            (lambda queue: queue.set_budget("global", 1, default_reserve="much"), "default_reserve"),
            (lambda queue: queue.raise_budget("global", -1), "amount"),
            (lambda queue: queue.add("job", max_cost=-0.1), "max_cost"),
            (lambda queue: queue.add("job", max_cost=True), "max_cost"),
            (lambda queue: queue.add("job", max_cost="cheap"), "max_cost"),
            (lambda queue: queue.add("job", max_tokens=1.5), "max_tokens"),
            (lambda queue: queue.add("job", max_turns=-1), "max_turns"),
            (lambda queue: queue.add("job", locks=["budget:global:usd"]), "locks"),
            (lambda queue: queue.set_slots("budget:global:usd", 2), "name"),
            (lambda queue: queue.add_dag("D", [NewTask("job")], budget=-1), "budget"),
        ],
    )
    def test_what_makes_no_sense_is_refused_and_changes_nothing(self, call: Any, field: str) -> None:
        async def check(_: Topic, queue: Queue) -> None:
            with pytest.raises(Invalid) as error:
                await call(queue)
            assert error.value.field == field
            assert await queue.budgets() == []
            assert (await queue.find()).items == []

        self.run(check)

    async def test_a_budget_that_is_not_there_cannot_be_raised(self, queue: Queue) -> None:
        await queue.set_budget("global", 1, "tokens")
        with pytest.raises(NotFound) as error:
            await queue.raise_budget("global", 1)
        assert error.value.field == "scope"
