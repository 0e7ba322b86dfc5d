"""Whose turn it is at a budget: room is offered once, and nobody is passed over for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.model.task import NewTask
from dibs.rules.budgets import OFFERED, PASSED_OVER_S
from dibs.testing.conformance.budgets import amounts, budget, parked, sound
from dibs.testing.conformance.topic import Topic, elapse, nothing, take
from dibs.testing.conformance.windows import DAILY, until_midnight

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Passing(Topic):
    async def test_room_is_not_offered_again_while_somebody_is_on_his_way_to_it(self, queue: Queue) -> None:
        await queue.set_budget("type:job", 0.1)
        tasks = await queue.add_many([NewTask("job", max_cost=0.1) for _ in range(3)])
        claim = await take(queue)
        assert await nothing(queue)
        await queue.complete(claim, cost=0)
        for _ in range(3):
            assert await parked(queue) == [tasks[2].id]
            await sound(queue)
        await queue.add("job", max_cost=0.05, priority=1)
        second = await take(queue)
        assert second.task.max_cost == 0.05
        await queue.complete(second, cost=0)
        assert await parked(queue) == [tasks[2].id]
        assert (await take(queue)).task.id == tasks[1].id
        await sound(queue)

    async def test_a_large_task_is_not_passed_over_by_small_ones_for_ever(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add_many([NewTask("small", max_cost=0.1) for _ in range(10)])
        running = await queue.claim("ada", limit=10)
        large = await queue.add("large", max_cost=0.5)
        assert await nothing(queue)
        for _ in range(60):
            clock.advance(5)
            await queue.store.unpark(100)
            await queue.add("small", max_cost=0.1, priority=1)
            await queue.complete(running.pop(0), cost=0.0)
            claims = await queue.claim("ada", lease=3600)
            if claims and claims[0].task.id == large.id:
                break
            running += claims
        else:
            raise AssertionError("it was passed over for five minutes")
        assert len(running) == 5, "half of the budget was saved for it, and no more"
        assert (await budget(queue)).saved_for is None
        await sound(queue)

    async def test_what_is_saved_is_told(self, queue: Queue, clock: FakeClock) -> None:
        large = await _saved(queue, clock)
        small = await queue.add("small", max_cost=0.1)
        assert await nothing(queue, "small")
        assert (await budget(queue)).saved_for == large
        assert f"what is left is saved for {large}" in (await queue.why(small.id)).explanation
        assert "is saved for" not in (await queue.why(large)).explanation

    async def test_nothing_is_saved_for_who_could_never_fit(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add_many([NewTask("small", max_cost=0.6), NewTask("large", max_cost=0.5)])
        await queue.complete(await take(queue, "small"), cost=0.6)
        assert await nothing(queue)
        clock.advance(120)
        await sound(queue)
        assert (await budget(queue)).saved_for is None
        await queue.add("small", max_cost=0.1)
        await take(queue, "small")

    async def test_what_is_saved_is_free_when_its_task_is_cancelled(self, queue: Queue, clock: FakeClock) -> None:
        large = await _saved(queue, clock)
        await queue.add("small", max_cost=0.1)
        assert await nothing(queue, "small")
        await queue.cancel(large)
        assert (await budget(queue)).saved_for is None
        await queue.store.unpark(100)
        await take(queue, "small")
        await sound(queue)

    async def test_what_nobody_claims_is_not_saved_for_ever(self, queue: Queue, clock: FakeClock) -> None:
        large = await _saved(queue, clock)
        await queue.complete(await _held(queue), cost=0.0)
        assert await parked(queue) == []
        for _ in range(OFFERED):
            assert (await budget(queue)).saved_for == large
            await queue.store.unpark(100)
        await queue.store.unpark(100)
        assert (await budget(queue)).saved_for is None
        await queue.add("small", max_cost=0.6)
        await take(queue, "small")
        await sound(queue)

    async def test_more_for_a_saved_budget_lets_its_task_in_first(self, queue: Queue, clock: FakeClock) -> None:
        large = await _saved(queue, clock)
        await queue.add("small", max_cost=0.1)
        assert await nothing(queue, "small")
        await queue.raise_budget("global", 0.1)
        assert await nothing(queue, "small")
        assert (await take(queue)).task.id == large
        await queue.raise_budget("global", 0.1)
        await take(queue, "small")
        await sound(queue)

    async def test_a_removed_budget_is_saved_for_nobody(self, queue: Queue, clock: FakeClock) -> None:
        await _saved(queue, clock)
        await queue.remove_budget("global")
        assert (await queue.set_budget("global", 1.0)).saved_for is None
        assert (await budget(queue)).saved_for is None
        await sound(queue)

    async def test_an_agents_own_budget_is_saved_for_nobody(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("agent:ada", 1.0)
        await queue.add("busy", max_cost=0.6)
        await take(queue, "busy", lease=3600)
        await queue.add("large", max_cost=0.5, priority=1)
        await queue.add("small", max_cost=0.4)
        assert await nothing(queue, "large")
        clock.advance(PASSED_OVER_S)
        await sound(queue)
        assert (await parked(queue), (await budget(queue, "agent:ada")).saved_for) == ([], None)
        await take(queue, "small")

    async def test_who_cannot_pay_leaves_what_was_saved_to_whom_it_is_for(self, queue: Queue, clock: FakeClock) -> None:
        large = await _saved(queue, clock)
        await queue.set_budget("agent:ada", 1.0)
        await queue.add("small", max_cost=0.2)
        await queue.complete(await _held(queue), cost=0.6)
        await queue.raise_budget("global", 0.2)
        await queue.add("dear", max_cost=0.2)
        claims = await queue.claim("ada", limit=5)
        assert [claim.task.id for claim in claims] == [large], "the others do not fit beside it"
        assert await amounts(queue, "agent:ada") == (0.5, 0.0, 0)
        await queue.release(claims[0])
        await queue.set_budget("agent:ada", 0.3)
        assert await nothing(queue, "large")
        assert len(await parked(queue)) == 2, "it is not parked, but passed over"
        [claim] = await queue.claim("bob", limit=5)
        assert claim.task.id == large
        await sound(queue)

    async def test_a_new_day_is_saved_for_whom_the_old_one_was(self, queue: Queue, clock: FakeClock) -> None:
        large = await _saved(queue, clock, **DAILY)
        for cost in (0.6, 0.4, 0.2):
            await queue.add("small", max_cost=cost, priority=1)
        assert await nothing(queue, "small")
        await elapse(queue, clock, until_midnight(clock))
        assert (await budget(queue)).saved_for == large
        assert [claim.task.max_cost for claim in await queue.claim("ada", types=["small"], limit=5)] == [0.4]
        [claim] = await queue.claim("ada", types=["large"])
        assert claim.task.id == large
        assert await amounts(queue) == (0.9, 0.0, 0), "what was reserved the day before does not count"
        assert (await budget(queue)).saved_for is None
        await sound(queue)

    async def test_room_of_a_new_day_is_offered_once(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("type:job", 0.1, **DAILY)
        tasks = await queue.add_many([NewTask("job", max_cost=0.1) for _ in range(3)])
        await queue.complete(await take(queue), cost=0.1)
        assert await nothing(queue)
        await elapse(queue, clock, until_midnight(clock))
        for _ in range(3):
            assert await parked(queue) == [tasks[2].id]
            await sound(queue)
        assert (await take(queue)).task.id == tasks[1].id
        assert await nothing(queue)
        assert await parked(queue) == [tasks[2].id]
        await sound(queue)

    async def test_what_no_agent_can_pay_for_keeps_nobody_behind_it_from_his_turn(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.set_budget("global", 1.0)
        await queue.set_budget("agent:ada", 0.5)
        await queue.add("busy", max_cost=0.7)
        busy = await take(queue, "busy", agent="bob", lease=3600)
        await queue.add("job", max_cost=0.9, priority=1)
        behind = await queue.add("job", max_cost=0.4)
        assert await nothing(queue)
        assert await parked(queue) == [behind.id]
        clock.advance(PASSED_OVER_S)
        await sound(queue)
        assert (await budget(queue)).saved_for == behind.id
        await queue.add("small", max_cost=0.3)
        assert await nothing(queue, "small", agent="bob")
        await queue.complete(busy, cost=0.5)
        assert (await take(queue)).task.id == behind.id
        await sound(queue)

    async def test_one_that_could_never_fit_keeps_nobody_behind_it_from_his_turn(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add_many([NewTask("busy", max_cost=0.4), NewTask("busy", max_cost=0.6)])
        claims = await queue.claim("bob", limit=2, lease=3600)
        await queue.complete(claims[0], cost=0.4)
        await queue.add("job", max_cost=0.8, priority=1)
        behind = await queue.add("job", max_cost=0.5)
        assert await nothing(queue)
        clock.advance(PASSED_OVER_S)
        await sound(queue)
        assert (await budget(queue)).saved_for == behind.id
        await queue.complete(claims[1], cost=0)
        assert (await take(queue)).task.id == behind.id

    async def test_what_is_saved_is_not_kept_from_a_better_one_of_the_same_lane(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.set_budget("global", 1.0)
        await queue.set_budget("agent:somebody", 1.0)
        await queue.add("busy", max_cost=0.8)
        busy = await take(queue, "busy", agent="bob", lease=3600)
        large = await queue.add("job", max_cost=0.5)
        assert await nothing(queue)
        better = await queue.add("job", max_cost=0.2, priority=1)
        await queue.store.unpark(100)
        assert (await budget(queue)).saved_for is None
        clock.advance(PASSED_OVER_S)
        await sound(queue)
        assert (await budget(queue)).saved_for == large.id
        await queue.add("small", max_cost=0.1)
        assert await nothing(queue, "small")
        assert (await take(queue)).task.id == better.id
        await queue.complete(busy, cost=0)
        assert (await take(queue)).task.id == large.id
        await sound(queue)


async def _saved(queue: Queue, clock: FakeClock, **window: Any) -> str:
    """A budget of $1.00, of which somebody has $0.60, saved for a task that needs $0.50: its id."""
    await queue.set_budget("global", 1.0, **window)
    await queue.add("busy", max_cost=0.6)
    await take(queue, "busy", agent="holder", lease=3600)
    large = await queue.add("large", max_cost=0.5)
    assert await nothing(queue, "large")
    clock.advance(PASSED_OVER_S)
    assert await queue.store.unpark(100) == 0
    assert (await budget(queue)).saved_for == large.id
    assert await queue.locks() == []
    return large.id


async def _held(queue: Queue) -> tuple[str, int]:
    """What is being worked on, as its agent would name it."""
    [task] = (await queue.find(status="running")).items
    return task.id, task.fence
