"""Locks: held with a claim, all or none, and never by more tasks than they have slots."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Invalid
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, finish, nothing, status, take

if TYPE_CHECKING:
    from dibs.model.claim import Claim
    from dibs.model.views import Lock
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def lock(queue: Queue, name: str) -> Lock | None:
    """A lock as it is shown; None if there is nothing to show of it."""
    return next((lock for lock in await queue.locks() if lock.name == name), None)


async def holders(queue: Queue, name: str) -> list[str]:
    """The tasks that hold a lock."""
    found = await lock(queue, name)
    return [] if found is None else [holder.task_id for holder in found.holders]


async def sound(queue: Queue) -> None:
    """Nothing leaked, and nobody was forgotten."""
    assert await queue.store.check() == []
    assert await queue.store.unpark(100) == 0


class Locks(Topic):
    async def test_one_task_at_a_time_holds_a_lock(self, queue: Queue) -> None:
        first = await queue.add("job", locks=["repo"])
        second = await queue.add("job", locks=["repo"])
        other = await queue.add("job", locks=["site"])
        free = await queue.add("job")
        assert first.locks == ("repo",)
        claims = await queue.claim("ada", limit=10)
        assert [claim.task.id for claim in claims] == [first.id, other.id, free.id]
        assert await holders(queue, "repo") == [first.id]
        parked = await queue.get(second.id)
        assert (parked.status, parked.parked_on) == (Status.READY, "repo")
        assert await nothing(queue)
        await queue.complete(claims[0])
        assert (await queue.get(second.id)).parked_on is None
        again = await take(queue)
        assert again.task.id == second.id
        assert again.task.parked_on is None
        await queue.complete(again)
        assert await lock(queue, "repo") is None
        await sound(queue)

    async def test_a_lock_is_shown_with_its_holder_and_those_who_wait(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", locks=["repo"]) for _ in range(3)])
        claim = await take(queue, agent="ada")
        assert await nothing(queue)
        shown = await lock(queue, "repo")
        assert shown is not None
        assert (shown.slots, shown.waiting, shown.reserved_for) == (1, 2, None)
        [holder] = shown.holders
        assert (holder.task_id, holder.fence, holder.agent) == (claim.task.id, claim.fence, "ada")
        assert holder.since == claim.task.claimed_at

    @pytest.mark.parametrize("way", ["complete", "fail", "dead", "release", "expire", "timeout"])
    def test_a_lock_is_let_go_however_its_claim_ends(self, way: str) -> None:
        async def check(_: Topic, queue: Queue, clock: FakeClock) -> None:
            await queue.add("job", locks=["repo"], priority=10, timeout=20 if way == "timeout" else None)
            waiting = await queue.add("job", locks=["repo"])
            claim = await take(queue, lease=30)
            await queue.set_priority(claim.task.id, 90)
            assert await nothing(queue)
            if way == "complete":
                await queue.complete(claim)
            elif way == "fail":
                await queue.fail(claim, "no")
            elif way == "dead":
                await queue.fail(claim, "no", retry=False)
            elif way == "release":
                await queue.release(claim, delay=60)
            else:
                await elapse(queue, clock, 31)
            assert (await take(queue)).task.id == waiting.id
            await sound(queue)

        self.run(check)

    async def test_a_task_cancelled_while_held_keeps_its_locks_until_its_agent_stops(self, queue: Queue) -> None:
        first = await queue.add("job", locks=["repo"])
        second = await queue.add("job", locks=["repo"])
        claim = await take(queue)
        assert await nothing(queue)
        await queue.cancel(first.id)
        assert await nothing(queue)
        assert await holders(queue, "repo") == [first.id]
        with pytest.raises(Exception, match="cancelled"):
            await queue.complete(claim)
        assert (await take(queue)).task.id == second.id
        await sound(queue)

    async def test_a_task_cancelled_while_held_loses_its_locks_with_its_lease(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        first = await queue.add("job", locks=["repo"])
        second = await queue.add("job", locks=["repo"])
        await take(queue, lease=30)
        assert await nothing(queue)
        await queue.cancel(first.id)
        await elapse(queue, clock, 31)
        assert (await take(queue)).task.id == second.id
        await sound(queue)

    async def test_a_task_that_waits_for_its_children_holds_nothing(self, queue: Queue) -> None:
        await queue.add("parent", locks=["repo"])
        claim = await take(queue, "parent")
        await queue.spawn(claim, [NewTask("child", locks=["repo"])], wait=True)
        await finish(queue, "child")
        again = await take(queue, "parent")
        assert await holders(queue, "repo") == [again.task.id]
        await sound(queue)

    async def test_a_task_that_waits_for_a_person_holds_nothing(self, queue: Queue) -> None:
        first = await queue.add("job", locks=["repo"], priority=10)
        second = await queue.add("job", locks=["repo"])
        claim = await take(queue)
        assert await nothing(queue)
        question = await queue.ask(claim, "Which one?")
        assert await holders(queue, "repo") == []
        other = await take(queue)
        assert other.task.id == second.id
        await queue.answer(question.id, "this")
        assert await nothing(queue)
        await queue.complete(other)
        assert (await take(queue)).task.id == first.id
        await sound(queue)

    @pytest.mark.routing
    async def test_several_locks_are_had_together_or_not_at_all(self, queue: Queue) -> None:
        both = await queue.add("job", locks=["b", "a"], priority=60)
        one = await queue.add("job", locks=["b"])
        claim = await take(queue)
        assert claim.task.id == one.id
        assert await nothing(queue)
        assert (await queue.get(both.id)).parked_on == "b"
        assert await holders(queue, "a") == []
        other = await queue.add("job", locks=["a"])
        second = await take(queue)
        assert second.task.id == other.id
        await queue.complete(claim)
        # Lock b would admit it now, lock a does not.
        assert (await queue.get(both.id)).parked_on == "a"
        assert await nothing(queue)
        await queue.complete(second)
        last = await take(queue)
        assert last.task.id == both.id
        assert (await holders(queue, "a"), await holders(queue, "b")) == ([both.id], [both.id])
        await sound(queue)

    async def test_the_best_of_those_who_wait_comes_next(self, queue: Queue) -> None:
        await queue.add("job", locks=["repo"], priority=1)
        later = await queue.add("job", locks=["repo"], priority=60)
        sooner = await queue.add("job", locks=["repo"], priority=20)
        claim = await take(queue)
        assert await nothing(queue)
        await queue.complete(claim)
        assert [(await queue.get(task.id)).parked_on for task in (sooner, later)] == [None, "repo"]
        claim = await take(queue)
        assert claim.task.id == sooner.id
        await queue.complete(claim)
        assert (await take(queue)).task.id == later.id

    async def test_the_best_that_nobody_can_serve_does_not_block_the_next(self, queue: Queue) -> None:
        claim_me = await queue.add("job", locks=["repo"], priority=1)
        await queue.add("job", locks=["repo"], priority=10, requires=["gpu"])
        plain = await queue.add("job", locks=["repo"], priority=60)
        claim = await take(queue, capabilities=["gpu"])
        assert claim.task.id == claim_me.id
        assert await nothing(queue, capabilities=["gpu"])
        await queue.complete(claim)
        assert (await take(queue)).task.id == plain.id

    async def test_a_lock_can_have_several_slots(self, queue: Queue) -> None:
        shown = await queue.set_slots("gpu", 2)
        assert (shown.name, shown.slots, shown.holders) == ("gpu", 2, [])
        await queue.add_many([NewTask("job", locks=["gpu"]) for _ in range(5)])
        claims = await queue.claim("ada", limit=10)
        assert len(claims) == 2
        assert await nothing(queue)
        assert (await queue.set_slots("gpu", 4)).waiting == 3
        assert len(await queue.claim("bob", limit=10)) == 2
        await queue.set_slots("gpu", 1)
        for claim in claims:
            await queue.complete(claim)
        assert await nothing(queue), "two hold it still, and it has one slot"
        await sound(queue)

    async def test_a_task_that_goes_away_leaves_its_place_to_the_next(self, queue: Queue) -> None:
        await queue.add("job", locks=["repo"], priority=1)
        gone = await queue.add("job", locks=["repo"], priority=10)
        blocked = await queue.add("job", locks=["repo"], priority=20)
        last = await queue.add("job", locks=["repo"], priority=60)
        claim = await take(queue)
        assert await nothing(queue)
        await queue.complete(claim)
        assert (await queue.get(gone.id)).parked_on is None
        await queue.cancel(gone.id)
        assert (await queue.get(blocked.id)).parked_on is None
        before = await queue.add("other")
        await queue.link(blocked.id, after=[before.id])
        assert await status(queue, blocked) == "pending"
        assert (await take(queue, "job")).task.id == last.id
        await sound(queue)

    async def test_a_parked_task_can_be_cancelled_linked_and_reprioritised(self, queue: Queue) -> None:
        await queue.add("job", locks=["repo"], priority=1)
        one, two, three = await queue.add_many([NewTask("job", locks=["repo"]) for _ in range(3)])
        claim = await take(queue, "job")
        assert await nothing(queue, "job")
        await queue.cancel(one.id)
        assert (await queue.get(one.id)).parked_on is None
        before = await queue.add("other")
        await queue.link(two.id, after=[before.id])
        assert (await queue.get(two.id)).parked_on is None
        await finish(queue, "other")
        assert await nothing(queue, "job")
        assert (await queue.get(two.id)).parked_on == "repo"
        await queue.set_priority(three.id, 2)
        await queue.complete(claim)
        assert (await take(queue, "job")).task.id == three.id
        await sound(queue)

    async def test_whoever_is_passed_over_for_long_gets_its_locks_kept_for_it(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        both = await queue.add("job", locks=["a", "b"], priority=60)
        await queue.add_many([NewTask("job", locks=[name]) for name in "abab"])
        one, two = await queue.claim("ada", limit=2, lease=600)
        assert await nothing(queue)
        await queue.complete(one)
        three = await take(queue, lease=600)
        await elapse(queue, clock, 61)
        assert {(await queue.locks())[0].reserved_for, (await queue.locks())[1].reserved_for} == {both.id}
        await queue.complete(two)
        assert await nothing(queue), "the lock that became free is kept for another"
        await queue.complete(three)
        assert (await take(queue)).task.id == both.id
        await sound(queue)

    async def test_tasks_with_two_locks_all_run_among_those_with_one(self, queue: Queue, clock: FakeClock) -> None:
        """The bound: a minute, then for each that has waited longer the duty's interval and a turn of whoever holds."""
        await queue.add_many([NewTask("pair", locks=["a", "b"], priority=60) for _ in range(4)])
        waited: list[int] = []
        claims: list[Claim] = []
        for second in range(100):
            for claim in claims:
                await queue.complete(claim)
            # The others are always more urgent, and there is always one for each lock.
            await queue.add_many([NewTask("single", locks=[name], priority=10) for name in "ab"])
            await elapse(queue, clock, 1)
            claims = await queue.claim("ada", limit=10, lease=600)
            waited += [second for claim in claims if claim.task.type == "pair"]
            if len(waited) == 4:
                break
        assert len(waited) == 4
        assert waited[0] >= 60, "nobody was passed over: this shows nothing"
        assert waited[-1] <= 60 + 4 * 8
        await sound(queue)

    async def test_a_reservation_ends_with_the_task(self, queue: Queue, clock: FakeClock) -> None:
        both = await queue.add("job", locks=["a", "b"], priority=60)
        await queue.add_many([NewTask("job", locks=["a"]) for _ in range(2)])
        claim = await take(queue, lease=600)
        assert await nothing(queue)
        await elapse(queue, clock, 61)
        await queue.complete(claim)
        assert (await queue.get(both.id)).parked_on is None
        await queue.cancel(both.id)
        assert len(await queue.claim("ada", limit=10)) == 1
        await sound(queue)

    @pytest.mark.door
    async def test_many_who_race_for_a_lock_never_hold_it_together(self, queue: Queue, other: Queue) -> None:
        await queue.add_many(
            [NewTask("job", locks=["repo"] if number % 2 else ["repo", "site"]) for number in range(20)]
        )
        done: list[str] = []
        working = 0

        async def work(name: str, mine: Queue) -> None:
            nonlocal working
            while len(done) < 20:
                for claim in await mine.claim(name, limit=3, wait=0.05):
                    working += 1
                    assert working == 1
                    await asyncio.sleep(0)
                    working -= 1
                    await mine.complete(claim)
                    done.append(claim.task.id)

        await asyncio.gather(*(work(f"agent{n}", (queue, other)[n % 2]) for n in range(4)))
        assert len(set(done)) == 20
        assert await queue.locks() == []
        await sound(queue)

    async def test_why_names_the_lock_and_its_holder(self, queue: Queue) -> None:
        first = await queue.add("job", locks=["repo"])
        second = await queue.add("job", locks=["repo"])
        await take(queue, agent="ada")
        assert await nothing(queue)
        why = await queue.why(second.id)
        [blocker] = why.blockers
        assert blocker.kind == "gate"
        assert blocker.ids == [first.id]
        assert "lock repo is held by" in why.explanation
        assert "ada" in why.explanation
        assert blocker.help is not None
        assert "dibs slots repo 2" in blocker.help

    async def test_parked_tasks_are_found_and_counted_as_ready(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", locks=["repo"]) for _ in range(3)])
        await take(queue)
        assert await nothing(queue)
        assert len((await queue.find(status="ready")).items) == 2
        stats = await queue.stats()
        assert (stats.by_status["ready"], stats.lanes[0].ready) == (2, 2)

    async def test_a_lock_without_a_name_or_slots_is_refused(self, queue: Queue) -> None:
        for field, name, slots in (("name", "", 1), ("slots", "gpu", 0), ("slots", "gpu", 1.5), ("slots", "gpu", True)):
            with pytest.raises(Invalid) as caught:
                await queue.set_slots(name, slots)  # type: ignore[arg-type]
            assert caught.value.field == field
        assert await queue.locks() == []
