"""Budgets: reserved with a claim, charged when it ends, and never more than was given."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, nothing, take

if TYPE_CHECKING:
    from dibs.model.views import Budget
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def budget(queue: Queue, scope: str = "global", unit: str = "usd") -> Budget:
    """A budget as it is shown."""
    return next(each for each in await queue.budgets() if (each.scope, each.unit) == (scope, unit))


async def amounts(queue: Queue, scope: str = "global", unit: str = "usd") -> tuple[float, float, int]:
    """What is reserved and spent, and how many attempts did not say what they cost."""
    found = await budget(queue, scope, unit)
    return found.reserved, found.spent, found.unpriced


async def parked(queue: Queue) -> list[str]:
    """The tasks that are parked, by id."""
    return sorted(task.id for task in (await queue.find(limit=1000)).items if task.parked_on is not None)


async def sound(queue: Queue) -> None:
    """Nothing leaked, and nobody was forgotten."""
    assert await queue.store.check() == []
    assert await queue.store.unpark(100) == 0


class Budgets(Topic):
    async def test_an_attempt_reserves_what_it_may_cost_and_is_charged_what_it_cost(self, queue: Queue) -> None:
        made = await queue.set_budget("global", 1.0)
        assert (made.scope, made.unit, made.limit, made.left) == ("global", "usd", 1.0, 1.0)
        task = await queue.add("job", max_cost=0.4)
        assert task.max_cost == 0.4
        claim = await take(queue)
        assert claim.task.max_cost == 0.4
        assert await amounts(queue) == (0.4, 0.0, 0)
        await queue.complete(claim, cost=0.1)
        assert await amounts(queue) == (0.0, 0.1, 0)
        assert (await budget(queue)).left == 0.9
        assert (await queue.get(task.id)).max_cost == 0.4
        await sound(queue)

    @pytest.mark.door
    @pytest.mark.routing
    async def test_ten_of_twenty_agents_get_a_dime_of_one_dollar_and_five_more_get_what_is_added(
        self, queue: Queue
    ) -> None:
        await queue.set_budget("global", 1.0)
        tasks = await queue.add_many([NewTask("job", max_cost=0.1, priority=n) for n in range(20)])
        claims = await asyncio.gather(*(queue.claim(f"agent-{n}") for n in range(20)))
        got = sorted(claim.task.id for each in claims for claim in each)
        assert got == sorted(task.id for task in tasks[:10])
        assert await amounts(queue) == (1.0, 0.0, 0)
        assert await parked(queue) == sorted(task.id for task in tasks[10:])
        waiting = await queue.get(tasks[10].id)
        assert (waiting.status, waiting.parked_on) == (Status.READY, "budget:global:usd")
        raised = await queue.raise_budget("global", 0.5)
        assert (raised.limit, raised.waiting) == (1.5, 10)
        assert await parked(queue) == sorted(task.id for task in tasks[15:])
        claims = await asyncio.gather(*(queue.claim(f"agent-{n}") for n in range(20)))
        got = sorted(claim.task.id for each in claims for claim in each)
        assert got == sorted(task.id for task in tasks[10:15])
        assert await amounts(queue) == (1.5, 0.0, 0)
        await sound(queue)

    async def test_one_claim_of_many_takes_as_many_as_fit(self, queue: Queue) -> None:
        await queue.set_budget("type:job", 1.0)
        await queue.add_many([NewTask("job", max_cost=0.3) for _ in range(5)] + [NewTask("other", max_cost=9)])
        claims = await queue.claim("ada", limit=10)
        assert [claim.task.type for claim in claims] == ["job", "job", "job", "other"]
        assert await amounts(queue, "type:job") == (0.9, 0.0, 0)
        assert len(await parked(queue)) == 2
        await sound(queue)

    async def test_what_an_attempt_did_not_use_is_for_others(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add_many([NewTask("job", max_cost=0.6), NewTask("job", max_cost=0.6)])
        claim = await take(queue)
        assert await nothing(queue)
        await queue.complete(claim, cost=0.3)
        second = await take(queue)
        assert await amounts(queue) == (0.6, 0.3, 0)
        await queue.complete(second, cost=0.6)
        assert await amounts(queue) == (0.0, 0.9, 0)

    async def test_a_later_attempt_reserves_what_is_left_of_the_tasks_own_limit(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add("job", max_cost=0.5, retry="immediate")
        await queue.fail(await take(queue), "no", cost=0.2)
        await take(queue)
        assert await amounts(queue) == (0.3, 0.2, 0)

    async def test_a_task_without_a_limit_reserves_what_the_budget_says(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0, default_reserve=0.7)
        await queue.add_many([NewTask("job"), NewTask("job")])
        claim = await take(queue)
        assert await amounts(queue) == (0.7, 0.0, 0)
        assert await nothing(queue)
        await queue.set_budget("global", 1.0, default_reserve=0.2)
        assert await amounts(queue) == (0.7, 0.0, 0)
        await take(queue)
        assert await amounts(queue) == (0.9, 0.0, 0)
        await queue.complete(claim, cost=0.1)
        await sound(queue)

    async def test_a_budget_that_is_used_up_admits_nobody(self, queue: Queue) -> None:
        await queue.set_budget("global", 0.5)
        await queue.add_many([NewTask("job"), NewTask("job", max_cost=0), NewTask("job")])
        claims = await queue.claim("ada", limit=2)
        await queue.complete(claims[0], cost=0.6)
        assert await amounts(queue) == (0.0, 0.6, 0)
        assert await nothing(queue)
        await queue.raise_budget("global", 0.2)
        await take(queue)
        await sound(queue)

    @pytest.mark.parametrize(
        ("way", "charged"),
        [
            ("complete", (0.0, 0.4, 1)),
            ("complete with cost", (0.0, 0.1, 0)),
            ("fail", (0.0, 0.4, 1)),
            ("fail after telling", (0.0, 0.1, 0)),
            ("crash after telling", (0.0, 0.4, 1)),
            ("release", (0.0, 0.0, 0)),
            ("release after telling", (0.0, 0.1, 0)),
            ("rate limit", (0.0, 0.0, 0)),
            ("expire", (0.0, 0.4, 1)),
            ("expire after telling too much", (0.0, 0.5, 1)),
            ("expire before the start", (0.0, 0.0, 0)),
            ("timeout", (0.0, 0.4, 1)),
            ("cancel", (0.0, 0.4, 1)),
            ("cancel after telling", (0.0, 0.1, 0)),
            ("wait for children", (0.0, 0.4, 1)),
        ],
    )
    def test_every_end_of_a_claim_is_charged(self, way: str, charged: tuple[float, float, int]) -> None:
        async def check(_: Topic, queue: Queue, clock: FakeClock) -> None:
            await queue.set_budget("global", 10)
            task = await queue.add("job", max_cost=0.4, timeout=20 if way == "timeout" else None)
            claim = await take(queue, lease=30, start=way != "expire before the start")
            if "telling" in way:
                await queue.renew(claim, cost=0.5 if "too much" in way else 0.1)
            if way.startswith("complete"):
                await queue.complete(claim, cost=0.1 if "with cost" in way else None)
            elif way.startswith("fail"):
                await queue.fail(claim, "no")
            elif way.startswith("crash"):
                await queue.fail(claim, "killed", reason="crash")
            elif way.startswith("release"):
                await queue.release(claim, delay=60)
            elif way == "rate limit":
                await queue.fail(claim, "no", reason="rate_limit")
            elif way == "wait for children":
                await queue.spawn(claim, [NewTask("child")], wait=True)
            else:
                if way.startswith("cancel"):
                    await queue.cancel(task.id)
                    assert (await amounts(queue))[0] == 0.4, "its agent has not stopped"
                await elapse(queue, clock, 31)
            assert await amounts(queue) == charged
            await sound(queue)

        self.run(check)

    async def test_a_task_cancelled_while_held_is_charged_when_its_agent_stops(self, queue: Queue) -> None:
        await queue.set_budget("global", 10)
        task = await queue.add("job", max_cost=0.4)
        claim = await take(queue)
        await queue.cancel(task.id)
        with pytest.raises(Exception, match="cancelled"):
            await queue.complete(claim, cost=0.3)
        assert await amounts(queue) == (0.0, 0.3, 0)
        await sound(queue)

    async def test_tokens_turns_and_seconds_have_budgets_too(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("global", 1000, "tokens", 100)
        await queue.set_budget("global", 10, "turns")
        await queue.set_budget("global", 100, "seconds", 5)
        await queue.add("job", max_tokens=600, max_turns=4, timeout=30)
        claim = await take(queue)
        assert await amounts(queue, unit="tokens") == (600, 0, 0)
        assert await amounts(queue, unit="turns") == (4, 0, 0)
        assert await amounts(queue, unit="seconds") == (30, 0, 0)
        clock.advance(2.5)
        await queue.complete(claim, tokens_in=50, tokens_out=7)
        assert await amounts(queue, unit="tokens") == (0, 57, 0)
        assert await amounts(queue, unit="turns") == (0, 4, 1)
        assert await amounts(queue, unit="seconds") == (0, 2.5, 0)
        await queue.add("job")
        await take(queue)
        assert await amounts(queue, unit="tokens") == (100, 57, 0)
        assert await amounts(queue, unit="seconds") == (5, 2.5, 0)

    async def test_a_task_uses_the_budgets_of_its_type_user_and_dag(self, queue: Queue) -> None:
        dag = await queue.add_dag("D", [NewTask("job", user="grace", max_cost=0.25)], budget=5.0)
        assert (await budget(queue, f"dag:{dag.id}")).limit == 5.0
        for scope in ("type:job", "user:grace", "type:other", "user:ada"):
            await queue.set_budget(scope, 1)
        await take(queue)
        found = {each.scope: each.reserved for each in await queue.budgets()}
        assert found == {
            f"dag:{dag.id}": 0.25,
            "type:job": 0.25,
            "type:other": 0.0,
            "user:ada": 0.0,
            "user:grace": 0.25,
        }

    async def test_all_budgets_must_have_room_or_nothing_is_reserved(self, queue: Queue) -> None:
        await queue.set_budget("type:job", 1)
        await queue.set_budget("user:grace", 0.1)
        task = await queue.add("job", user="grace", max_cost=0.5)
        assert await nothing(queue)
        assert (await queue.get(task.id)).parked_on == "budget:user:grace:usd"
        assert await amounts(queue, "type:job") == (0.0, 0.0, 0)
        await queue.set_budget("type:job", 0.2)
        await queue.raise_budget("user:grace", 1)
        assert (await queue.get(task.id)).parked_on == "budget:type:job:usd"
        await queue.raise_budget("type:job", 1)
        assert (await take(queue)).task.id == task.id
        await sound(queue)

    async def test_children_use_the_budget_of_their_dag(self, queue: Queue) -> None:
        dag = await queue.add_dag("D", [NewTask("parent", max_cost=0.1)], budget=1.0)
        claim = await take(queue, "parent")
        [child] = await queue.spawn(claim, [NewTask("child", max_cost=0.95)])
        assert await nothing(queue, "child")
        assert (await queue.get(child.id)).parked_on == f"budget:dag:{dag.id}:usd"
        await queue.complete(claim, cost=0.05)
        assert (await take(queue, "child")).task.id == child.id
        assert await amounts(queue, f"dag:{dag.id}") == (0.95, 0.05, 0)

    async def test_the_same_dag_again_does_not_get_its_budget_again(self, queue: Queue) -> None:
        tasks = [NewTask("job", max_cost=0.1)]
        dag = await queue.add_dag("D", tasks, key="k", budget=1.0)
        await queue.complete(await take(queue), cost=0.1)
        again = await queue.add_dag("D", tasks, key="k", budget=1.0)
        assert again.id == dag.id
        assert await amounts(queue, f"dag:{dag.id}") == (0.0, 0.1, 0)
        assert len(await queue.budgets()) == 1

    async def test_locks_and_budgets_are_had_together_or_not_at_all(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add("job", locks=["repo"], max_cost=0.6, priority=1)
        both = await queue.add("job", locks=["repo"], max_cost=0.6, priority=2)
        claim = await take(queue)
        assert await nothing(queue)
        assert (await queue.get(both.id)).parked_on == "repo"
        await queue.complete(claim, cost=0.6)
        assert (await queue.get(both.id)).parked_on == "budget:global:usd", "the lock is free, the money is spent"
        other = await queue.add("job", locks=["repo"])
        assert (await take(queue)).task.id == other.id
        await queue.raise_budget("global", 1.0)
        assert (await queue.get(both.id)).parked_on == "repo"
        await sound(queue)

    async def test_whoever_waits_for_a_budget_keeps_no_lock_from_others(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add("job", locks=["repo"], max_cost=5)
        assert await nothing(queue)
        await elapse(queue, clock, 61)
        await elapse(queue, clock, 61)
        other = await queue.add("job", locks=["repo"], priority=90)
        assert (await take(queue)).task.id == other.id
        await sound(queue)

    async def test_small_ones_pass_by_one_that_is_too_large(self, queue: Queue) -> None:
        await queue.set_budget("global", 0.5)
        large = await queue.add("job", max_cost=0.9, priority=1)
        small = await queue.add("job", max_cost=0.2, priority=2)
        claim = await take(queue)
        assert claim.task.id == small.id
        third = await queue.add("job", max_cost=0.4, priority=3)
        assert await nothing(queue)
        await queue.complete(claim, cost=0.1)
        assert (await take(queue)).task.id == third.id
        why = await queue.why(large.id)
        assert "can never fit" in why.explanation
        assert why.blockers[0].kind == "gate"
        assert why.blockers[0].help is not None
        assert "raise budget global by $0.90" in why.blockers[0].help
        await sound(queue)

    async def test_the_best_for_a_budget_that_nobody_can_serve_does_not_block_the_next(self, queue: Queue) -> None:
        await queue.set_budget("global", 1.0)
        await queue.add("job", max_cost=1.0, priority=1)
        await queue.add("job", max_cost=1.0, priority=2, requires=["gpu"])
        plain = await queue.add("job", max_cost=1.0, priority=3)
        claim = await take(queue, capabilities=["gpu"])
        assert await nothing(queue, capabilities=["gpu"])
        await queue.complete(claim, cost=0.0)
        assert (await take(queue)).task.id == plain.id

    async def test_a_parked_task_can_be_cancelled_and_given_a_new_life(self, queue: Queue) -> None:
        await queue.set_budget("global", 0.1)
        task = await queue.add("job", max_cost=0.4)
        assert await nothing(queue)
        await queue.cancel(task.id)
        assert (await queue.get(task.id)).parked_on is None
        assert (await budget(queue)).waiting == 0
        await queue.retry(task.id)
        assert await nothing(queue)
        assert (await queue.get(task.id)).parked_on == "budget:global:usd"
        await queue.set_priority(task.id, 3)
        await queue.raise_budget("global", 1)
        assert (await take(queue)).task.id == task.id
        await sound(queue)

    @pytest.mark.door
    async def test_a_claim_asked_for_again_reserves_once(self, queue: Queue) -> None:
        await queue.set_budget("global", 1)
        await queue.add_many([NewTask("job", max_cost=0.4) for _ in range(2)])
        for _ in range(2):
            [claim] = await queue.claim("ada", claim_id="once")
            assert await amounts(queue) == (0.4, 0.0, 0)
        await queue.complete(claim, cost=0.1)
        await queue.complete(claim, cost=0.1)
        assert await amounts(queue) == (0.0, 0.1, 0)

    async def test_why_names_the_budget_and_what_would_help(self, queue: Queue) -> None:
        dag = await queue.add_dag("D", [NewTask("job", max_cost=0.5) for _ in range(2)], budget=0.6)
        claim = await take(queue)
        assert await nothing(queue)
        second = next(task.id for task in dag.tasks if task.id != claim.task.id)
        why = await queue.why(second)
        assert f"budget dag:{dag.id} has $0.10 left of $0.60" in why.explanation
        [blocker] = why.blockers
        assert blocker.kind == "gate"
        assert blocker.help is not None
        assert blocker.help.startswith(f"raise budget dag:{dag.id} by $0.40")
