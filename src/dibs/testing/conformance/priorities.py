"""Order: who comes first among what is ready, exactly, also as time passes."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from dibs.errors import IllegalTransition, Invalid, NotFound
from dibs.model.task import NewTask
from dibs.rules.priority import BOOSTS
from dibs.testing.conformance.topic import Topic, elapse, finish, take

if TYPE_CHECKING:
    from dibs.model.task import Task
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def order(queue: Queue) -> list[object]:
    """The payloads in the order in which claims hand them out."""
    return [claim.task.payload for claim in await queue.claim("ada", limit=1000)]


class Priorities(Topic):
    async def test_a_batch_from_many_lanes_is_in_order_however_they_share_it(self, queue: Queue) -> None:
        """One lane has most of the best, another some between them, ten have little that is good."""
        wanted: list[tuple[str, float]] = [("deep", number) for number in range(30)]
        wanted += [("mixed", 2 * number + 0.5) for number in range(12)]
        wanted += [(f"shallow-{number}", 20.25 + 5 * number) for number in range(10)]
        await queue.add_many([NewTask(type, priority=priority, boost=0) for type, priority in wanted])
        claims = await queue.claim("ada", limit=44)
        best = sorted(wanted, key=lambda task: task[1])[:44]
        assert [(claim.task.type, claim.task.priority) for claim in claims] == best
        claims = await queue.claim("ada", limit=44)
        assert len(claims) == len(wanted) - 44

    async def test_claims_in_a_row_each_get_the_best_of_what_many_lanes_have_left(self, queue: Queue) -> None:
        """Lanes take turns at being the best, some at once, and better ones come meanwhile. Whatever a claim concludes
        from those before it, it gets what is best now."""
        draw = random.Random(11)
        left: list[tuple[float, int, str]] = []

        async def add(tasks: list[tuple[str, float]]) -> None:
            for type, priority in tasks:
                left.append((priority, len(left) + taken, type))
            await queue.add_many([NewTask(type, priority=priority, boost=0) for type, priority in tasks])

        taken = 0
        rows = [(f"lane-{lane}", float(lane // 3 + 8 * turn)) for turn in range(4) for lane in range(21)]
        await add([task for task in rows for _ in range(draw.choice((1, 3, 9)))])
        for limit in (40, 40, 7, 64, 1, 40, 2, 90, 40, 33, 50):
            claims = await queue.claim("ada", limit=limit)
            best = sorted(left)[:limit]
            assert [(claim.task.priority, claim.task.type) for claim in claims] == [(row[0], row[2]) for row in best]
            taken += len(best)
            left = sorted(left)[limit:]
            await add([(f"lane-{draw.randrange(24)}", float(draw.randrange(40))) for _ in range(draw.randrange(5))])

    async def test_lower_priority_values_come_first(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", value, priority=value) for value in (50, 0, 100, 12.5, 30)])
        assert await order(queue) == [0, 12.5, 30, 50, 100]

    async def test_equal_tasks_come_in_the_order_they_were_added(self, queue: Queue) -> None:
        for number in range(5):
            await queue.add("ab"[number % 2], number)
        assert await order(queue) == [0, 1, 2, 3, 4]

    @pytest.mark.routing
    async def test_types_and_lanes_do_not_matter_for_the_order(self, queue: Queue) -> None:
        await queue.add("a", 3, priority=30)
        await queue.add("b", 1, priority=10, requires=["web"])
        await queue.add("c", 2, priority=20, boost=5)
        await queue.add("d", 4, priority=40, models=["large"])
        claims = await queue.claim("ada", limit=9, capabilities=["web"])
        assert [claim.task.payload for claim in claims] == [1, 2, 3, 4]

    async def test_waiting_makes_a_task_more_urgent(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", "patient", priority=60, boost=1)
        clock.advance(timedelta(minutes=11))
        await queue.add("job", "fresh", priority=50, boost=1)
        assert await order(queue) == ["patient", "fresh"]

    async def test_boosts_of_different_lanes_cross_over_in_time(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", "fast", priority=60, boost=2)
        await queue.add("job", "slow", priority=50, boost=0)
        clock.advance(timedelta(minutes=4))
        first = await take(queue)
        assert first.task.payload == "slow"
        await queue.release(first)
        clock.advance(timedelta(minutes=2))
        assert (await take(queue)).task.payload == "fast"

    async def test_age_counts_from_the_first_readiness_also_after_a_failure(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add("job", "old", priority=50, boost=1, retry="immediate")
        clock.advance(timedelta(minutes=5))
        await queue.fail(await take(queue), "no")
        await queue.add("job", "new", priority=46, boost=1)
        assert await order(queue) == ["old", "new"]

    async def test_age_does_not_count_while_a_task_is_pending_or_scheduled(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        parent = await queue.add("parent")
        await queue.add("job", "child", after=[parent], boost=1)
        await queue.add("job", "later", run_after="20m", boost=1)
        clock.advance(timedelta(minutes=10))
        await queue.add("job", "between", boost=1)
        await elapse(queue, clock, 600)
        await finish(queue, "parent")
        assert (await order(queue))[0] == "between"

    async def test_the_effective_priority_is_shown(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", priority=40, boost=0.5)
        assert (await queue.get(task.id)).effective_priority == pytest.approx(40)
        clock.advance(timedelta(minutes=10))
        assert (await queue.get(task.id)).effective_priority == pytest.approx(35)

    async def test_a_near_deadline_makes_a_task_more_urgent(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", "no deadline", priority=40)
        await queue.add("job", "tomorrow", priority=50, deadline="1d")
        await queue.add("job", "soon", priority=60, deadline="15m")
        await queue.add("job", "now", priority=80, deadline=clock.now)
        assert await order(queue) == ["now", "soon", "no deadline", "tomorrow"]

    async def test_a_deadline_gains_weight_while_its_task_waits(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", "due", priority=60, deadline="2h", boost=0)
        await queue.add("job", "plain", priority=45, boost=0)
        first = await take(queue)
        assert first.task.payload == "plain"
        await queue.release(first)
        await elapse(queue, clock, 105 * 60)
        await elapse(queue, clock, 2)
        assert (await take(queue)).task.payload == "due"

    async def test_long_chains_go_first(self, queue: Queue) -> None:
        chain = [NewTask("link", n, ref=f"c{n}", after=[f"c{n - 1}"] if n else []) for n in range(6)]
        await queue.add("job", "alone", priority=46)
        await queue.add_dag("Chain", chain)
        assert (await take(queue)).task.payload == 0

    async def test_the_critical_path_is_worth_at_most_twenty_points(self, queue: Queue) -> None:
        chain = [NewTask("link", n, ref=f"c{n}", after=[f"c{n - 1}"] if n else []) for n in range(40)]
        dag = await queue.add_dag("Chain", chain)
        assert (await queue.get(dag.tasks[0].id)).effective_priority == pytest.approx(30)
        assert (await queue.get(dag.tasks[30].id)).effective_priority in (None, pytest.approx(41))

    async def test_a_dag_that_grows_gets_new_weights(self, queue: Queue, clock: FakeClock) -> None:
        root = await queue.add("root")
        below = root
        for number in range(3):
            below = await queue.add("below", number, after=[below])
        await elapse(queue, clock, 2)
        assert (await queue.get(root.id)).effective_priority == pytest.approx(47, abs=0.01)

    async def test_set_priority_moves_a_task(self, queue: Queue) -> None:
        await queue.add("job", "first", priority=20)
        task = await queue.add("job", "second", priority=30)
        moved = await queue.set_priority(task.id, 10)
        assert moved.priority == 10
        assert moved.effective_priority == pytest.approx(10)
        assert await order(queue) == ["second", "first"]

    async def test_a_pending_task_keeps_its_new_priority(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        child = await queue.add("job", "child", after=[parent], priority=90)
        await queue.set_priority(child.id, 5)
        await queue.add("job", "rival", priority=10)
        await finish(queue, "parent")
        assert await order(queue) == ["child", "rival"]

    async def test_set_priority_is_refused_where_it_makes_no_sense(self, queue: Queue) -> None:
        task = await queue.add("job")
        for bad in (-1, 101, float("nan"), True):
            with pytest.raises(Invalid) as caught:
                await queue.set_priority(task.id, bad)
            assert caught.value.field == "priority"
        await finish(queue, "job")
        with pytest.raises(IllegalTransition):
            await queue.set_priority(task.id, 10)
        with pytest.raises(NotFound):
            await queue.set_priority("task_00000000000000000000000000", 10)

    async def test_boosts_are_rounded_to_a_series(self, queue: Queue) -> None:
        given = (0, 0.001, 0.03, 0.1, 0.13, 3, 1000)
        tasks = await queue.add_many([NewTask("job", boost=boost) for boost in given])
        assert [task.boost for task in tasks] == [0, 0.01, 0.02, 0.1, 0.1, 2, 1000]

    @pytest.mark.door
    async def test_random_tasks_come_out_in_the_order_of_their_effective_priority(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        draw = random.Random(7)
        for _ in range(12):
            await queue.add_many(
                [
                    NewTask(
                        draw.choice("abc"),
                        priority=draw.randrange(101),
                        boost=draw.choice(BOOSTS[:10]),
                        deadline=draw.choice([None, None, "20m", "2h"]),
                    )
                    for _ in range(10)
                ]
            )
            clock.advance(draw.randrange(1, 240))
        await elapse(queue, clock, 2)
        expected = {task.id: task for task in (await queue.find(limit=500)).items}
        handed = [claim.task.id for claim in await queue.claim("ada", limit=60)]
        values = [_effective(expected[task_id]) for task_id in handed]
        assert values == pytest.approx(sorted(values))
        left = [_effective(task) for task_id, task in expected.items() if task_id not in handed]
        assert values[-1] <= min(left) + 1e-6


def _effective(task: Task) -> float:
    assert task.effective_priority is not None
    return task.effective_priority
