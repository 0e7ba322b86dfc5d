"""What only a store can be asked: chunks of a cascade, elections, limits of bytes, repeated inserts, news."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dibs import drafting, settling
from dibs.errors import DibsError, LeaseLost, NotFound
from dibs.model.claim import News, Settled
from dibs.model.status import Outcome, Status
from dibs.model.task import NewTask
from dibs.stores.values import ClaimRequest, Insertion, Renewal
from dibs.testing.conformance.topic import Topic, status, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Beneath(Topic):
    async def test_the_store_goes_by_the_clock_it_was_given(self, queue: Queue, clock: FakeClock) -> None:
        before = queue.store.now()
        assert before == clock()
        clock.advance(1.5)
        assert queue.store.now() == before + 1_500_000

    async def test_inserting_the_same_ids_again_answers_with_what_exists(self, queue: Queue) -> None:
        drafts = drafting.drafts(
            [NewTask("a", ref="a"), NewTask("b", after=["a"])],
            project=queue.project,
            now=queue.store.now(),
            new_id=queue.new_id,
        )
        first = await queue.store.insert(Insertion(drafts=drafts))
        again = await queue.store.insert(Insertion(drafts=drafts))
        assert (first.existing, again.existing) == ([False, False], [True, True])
        assert again.tasks == first.tasks
        assert await queue.store.last_seq() == 3

    async def test_one_bad_settlement_does_not_harm_its_neighbours(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", 1), NewTask("job", 2), NewTask("job", 3)])
        one, two, three = await queue.claim("ada", limit=3)
        await queue.release(two)
        again = await take(queue, agent="bob")
        stale = settling.completed(two, "stale")
        missing = settling.completed(one, "x")
        missing.task_id = "task_00000000000000000000000000"
        answers = await queue.store.settle(
            [settling.completed(one, 1), missing, stale, settling.completed(three, 3), settling.completed(again, 2)]
        )
        assert [isinstance(answer, Settled) for answer in answers] == [True, False, False, True, True]
        assert isinstance(answers[1], NotFound)
        outputs = {task.payload: task.output for task in (await queue.find()).items}
        assert outputs == {1: 1, 2: 2, 3: 3}

    async def test_one_lost_lease_does_not_harm_other_renewals(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job"), NewTask("job")])
        one, two = await queue.claim("ada", limit=2)
        answers = await queue.store.renew(
            [
                Renewal(task_id=one.task.id, fence=7),
                Renewal(task_id=two.task.id, fence=two.fence),
                Renewal(task_id="task_00000000000000000000000000", fence=1),
            ]
        )
        assert [type(answer) for answer in answers] == [LeaseLost, News, NotFound]
        starts = await queue.store.start([(one.task.id, 7), (two.task.id, two.fence)])
        assert isinstance(starts[0], LeaseLost)
        assert starts[1] is None

    async def test_a_claim_stops_before_too_many_bytes(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", "x" * 1000) for _ in range(5)])
        request = ClaimRequest(agent="ada", limit=5, max_bytes=2500)
        assert len((await queue.store.claim(request)).claims) == 2
        request = ClaimRequest(agent="ada", limit=5, max_bytes=10)
        assert len((await queue.store.claim(request)).claims) == 1

    async def test_an_empty_claim_says_when_time_alone_may_change_that(self, queue: Queue) -> None:
        request = ClaimRequest(agent="ada")
        assert (await queue.store.claim(request)).next_due_in is None
        await queue.add("later", run_after=90)
        assert (await queue.store.claim(request)).next_due_in == pytest.approx(90)
        await queue.add("job")
        await queue.store.claim(ClaimRequest(agent="ada", lease_s=30))
        assert (await queue.store.claim(request)).next_due_in == pytest.approx(30)

    async def test_a_duty_is_elected_once_per_interval(self, queue: Queue, other: Queue, clock: FakeClock) -> None:
        intervals = {"sweep": 10.0, "dust": 60.0}
        assert sorted(await queue.store.elect(intervals)) == ["dust", "sweep"]
        assert await other.store.elect(intervals) == []
        clock.advance(10)
        assert await other.store.elect(intervals) == ["sweep"]
        assert await queue.store.elect(intervals) == []

    async def test_a_postponed_duty_waits(self, queue: Queue, clock: FakeClock) -> None:
        await queue.store.postpone("sweep", 30)
        assert await queue.store.elect({"sweep": 1.0}) == []
        clock.advance(29)
        assert await queue.store.elect({"sweep": 1.0}) == []
        clock.advance(1)
        assert await queue.store.elect({"sweep": 1.0}) == ["sweep"]

    async def test_a_cascade_is_worked_off_in_chunks(self, queue: Queue) -> None:
        await queue.add_dag("Wide", [NewTask("top", ref="top")] + [NewTask("leaf", after=["top"])] * 1500)
        claim = await take(queue, "top")
        (answer,) = await queue.store.settle([settling.failed(claim, "no", draw=0.5, retry_again=False)])
        assert isinstance(answer, Settled)
        chunks = []
        while ended := await queue.store.spread(100):
            chunks.append(len(ended))
            assert len(ended) <= 200
        assert (await queue.find(status="pending")).items == []
        assert len(await queue.store.events(0, 10_000)) > 1500

    async def test_a_task_waiting_for_its_cascade_is_not_handed_out(self, queue: Queue) -> None:
        dag = await queue.add_dag("Wide", [NewTask("bad")] + [NewTask("free")] * 1200)
        claim = await take(queue, "bad")
        await queue.store.settle([settling.failed(claim, "no", draw=0.5, retry_again=False)])
        with pytest.raises(DibsError) as caught:
            await queue.add("late", dag=dag.id)
        assert caught.value.code == "dag_closed"
        while await queue.store.spread():
            pass
        assert await queue.claim("ada") == []

    async def test_expired_reports_longest_over_first_and_changes_nothing(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("a"), NewTask("b"), NewTask("c")])
        await take(queue, "a", lease=30)
        confirmed = await take(queue, "b", lease=10)
        await queue.renew(confirmed)
        await take(queue, "c", lease=3600)
        assert await queue.store.expired(10) == []
        clock.advance(40)
        over = await queue.store.expired(10)
        assert [(item.claim.task.type, item.confirmed, item.timed_out) for item in over] == [
            ("b", True, False),
            ("a", False, False),
        ]
        assert len(await queue.store.expired(1)) == 1
        assert await status(queue, confirmed.task) == Status.RUNNING

    async def test_a_lease_renewed_meanwhile_is_not_taken_away(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=10)
        clock.advance(20)
        (over,) = await queue.store.expired(10)
        await queue.renew(claim)
        (answer,) = await queue.store.settle([settling.expired(over, draw=0.5)])
        assert isinstance(answer, LeaseLost)
        assert await status(queue, claim.task) == Status.RUNNING

    async def test_an_expiry_settled_by_two_keepers_counts_once(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", max_attempts=5)
        claim = await take(queue, lease=10)
        await queue.renew(claim)
        clock.advance(20)
        (over,) = await queue.store.expired(10)
        for _ in range(2):
            await queue.store.settle([settling.expired(over, draw=0.5)])
        task = await queue.get(claim.task.id)
        assert (task.status, task.attempts, task.crashes) == (Status.READY, 1, 1)
        assert [attempt.outcome for attempt in await queue.history(task.id)] == [Outcome.EXPIRED]

    async def test_promotion_is_bounded_and_oldest_due_first(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("job", seconds, run_after=seconds) for seconds in (30, 10, 20)])
        clock.advance(60)
        assert await queue.store.promote(2) == 2
        ready = (await queue.find(status="ready")).items
        assert sorted(task.payload for task in ready) == [10, 20]
        assert await queue.store.promote(2) == 1
        assert await queue.store.promote(2) == 0

    async def test_news_changes_with_every_commit(self, queue: Queue, other: Queue) -> None:
        before = await queue.store.news()
        await other.add("job")
        assert await queue.store.news() != before

    @pytest.mark.routing
    async def test_waiting_for_news_ends_early_with_news(self, queue: Queue, other: Queue) -> None:
        since = await queue.store.news()
        waiting = asyncio.create_task(queue.store.wait_for_news(since, 60))
        await asyncio.sleep(0.02)
        await other.add("job")
        async with asyncio.timeout(50):
            await waiting

    async def test_waiting_for_news_has_an_end(self, queue: Queue) -> None:
        async with asyncio.timeout(50):
            await queue.store.wait_for_news(await queue.store.news(), 0.05)

    @pytest.mark.routing
    async def test_a_used_store_is_sound(self, queue: Queue) -> None:
        await queue.add_dag(
            "Some", [NewTask("a", ref="a"), NewTask("b", ref="b", after=["a"]), NewTask("c", after=["b"])]
        )
        await queue.complete(await take(queue, "a"))
        await queue.fail(await take(queue, "b"), "no", retry=False)
        assert await queue.store.check() == []

    async def test_closing_twice_is_harmless(self, queue: Queue) -> None:
        await queue.add("job")
        await queue.close()
        await queue.close()
