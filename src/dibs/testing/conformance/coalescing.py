"""Groups: what waits under one coalesce key is taken by one claim, and settled together or one by one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from dibs.coalescing import with_groups
from dibs.errors import IllegalTransition, Invalid, LeaseLost, NotFound
from dibs.model.claim import Settled
from dibs.model.status import Outcome, Status
from dibs.model.task import NewTask, Task
from dibs.rules.coalescing import MOST
from dibs.stores.values import Renewal
from dibs.testing.conformance.topic import Topic, elapse, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.errors import DibsError
    from dibs.model.claim import Claim
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def member(queue: Queue, key: str = "room", **options: Any) -> Task:
    """A task of a group, ready at once."""
    return await queue.add("note", coalesce_key=key, coalesce_window=0, **options)


def ids(claim: Claim) -> list[str]:
    """What a claim holds: its task, and those that came with it."""
    return [each.task.id for each in with_groups([claim])]


def settled_as(answers: list[Settled | DibsError]) -> list[str]:
    """What each became; of a refusal, its code."""
    return [answer.status if isinstance(answer, Settled) else answer.code for answer in answers]


class Coalescing(Topic):
    async def test_a_group_that_fails_is_one_failure_to_its_breaker(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_breaker("note", failure_threshold=3)
        for _ in range(4):
            await member(queue, max_attempts=9, retry="immediate")

        async def failures() -> tuple[str, int]:
            [found] = [each for each in await queue.breakers() if each.type == "note"]
            return found.state, found.failures

        await queue.fail_group(await take(queue), "no network")
        assert await failures() == ("closed", 1)
        claim = await take(queue, lease=10)
        await queue.renew_many([Renewal(task_id=each.task.id, fence=each.fence) for each in with_groups([claim])])
        await elapse(queue, clock, 11)
        assert await failures() == ("closed", 2)
        claim = (await queue.claim("ada"))[0]
        await queue.fail(claim, "by itself")
        assert await failures() == ("open", 3)

    # Gathering

    @pytest.mark.routing
    async def test_tasks_of_one_key_gather_and_are_taken_by_one_claim(self, queue: Queue, clock: FakeClock) -> None:
        first = await queue.add("note", 1, coalesce_key="room")
        clock.advance(0.02)
        second = await queue.add("note", 2, coalesce_key="room")
        assert (first.coalesce_key, first.status) == ("room", Status.SCHEDULED)
        assert first.gathers_until == first.run_after
        assert await nothing(queue)
        clock.advance(0.03)
        await queue.store.promote(100)
        assert [await status(queue, task) for task in (first, second)] == [Status.READY, Status.SCHEDULED]
        claim = await take(queue)
        assert ids(claim) == [first.id, second.id]
        [other] = claim.group
        assert (other.task.payload, other.fence, other.agent, other.group) == (2, 1, "ada", [])
        assert other.lease_expires_at == claim.lease_expires_at
        assert other.task.status == await status(queue, second) == Status.RUNNING
        assert await story(queue, second.id) == ["added", "scheduled", "ready", "claimed", "started"]
        assert await queue.store.check() == []

    async def test_who_comes_after_a_group_was_taken_begins_another(self, queue: Queue, clock: FakeClock) -> None:
        first = await queue.add("note", coalesce_key="room", coalesce_window="2s")
        await elapse(queue, clock, 2)
        assert ids(await take(queue)) == [first.id]
        late = await queue.add("note", coalesce_key="room", coalesce_window="2s")
        assert late.status is Status.SCHEDULED
        assert await nothing(queue)
        await elapse(queue, clock, 2)
        assert ids(await take(queue)) == [late.id]

    async def test_without_a_window_a_task_is_ready_at_once_and_still_goes_with_others(self, queue: Queue) -> None:
        first, second = await member(queue), await member(queue)
        assert (first.status, first.gathers_until, first.run_after) == (Status.READY, None, None)
        assert ids(await take(queue)) == [first.id, second.id]

    async def test_only_one_lane_and_one_key_go_together(self, queue: Queue) -> None:
        leader = await member(queue)
        others = [
            await member(queue, "hall"),
            await queue.add("mail", coalesce_key="room", coalesce_window=0),
            await member(queue, requires=["web"]),
            await member(queue, assignee="ada"),
            await queue.add("note"),
        ]
        together = await member(queue)
        claims = await queue.claim("ada", capabilities=["web"], limit=10)
        assert ids(claims[0]) == [leader.id, together.id]
        assert [ids(claim) for claim in claims[1:]] == [[task.id] for task in others]

    async def test_a_time_of_its_own_is_not_a_window(self, queue: Queue, clock: FakeClock) -> None:
        later = await queue.add("note", coalesce_key="room", run_after="1h")
        now = await member(queue)
        assert later.gathers_until is None
        claim = await take(queue)
        assert ids(claim) == [now.id]
        await queue.complete(claim)
        await elapse(queue, clock, 3601)
        now = await member(queue)
        assert ids(await take(queue)) == [later.id, now.id]

    async def test_a_window_counts_from_the_adding_whatever_else_a_task_waits_for(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        parent = await queue.add("parent")
        quick, slow = await queue.add_many(
            [
                NewTask("note", coalesce_key="room", coalesce_window=9, after=[parent]),
                NewTask("note", coalesce_key="hall", coalesce_window=1, after=[parent]),
            ]
        )
        assert quick.status is slow.status is Status.PENDING
        clock.advance(2)
        await queue.complete(await take(queue, "parent"))
        assert [await status(queue, task) for task in (quick, slow)] == [Status.SCHEDULED, Status.READY]
        together = await member(queue)
        assert ids(await take(queue)) == [slow.id]
        assert ids(await take(queue)) == [together.id, quick.id]

    async def test_why_says_that_a_task_gathers(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("note", coalesce_key="room", coalesce_window=30)
        why = await queue.why(task.id)
        [blocker] = why.blockers
        assert (blocker.kind, blocker.until) == ("coalesce", task.gathers_until)
        assert "room" in why.explanation
        await queue.cancel(task.id)
        await queue.retry(task.id, delay=60)
        assert [blocker.kind for blocker in (await queue.why(task.id)).blockers] == ["schedule"]
        await member(queue)
        assert len(ids(await take(queue))) == 1

    # Taking

    async def test_the_best_of_a_group_leads_and_the_others_follow_in_order(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        gathering = await queue.add("note", coalesce_key="room", coalesce_window=60, priority=1)
        plain = await member(queue, priority=50)
        worst = await member(queue, priority=90)
        best = await member(queue, priority=10)
        other = await queue.add("note", priority=20)
        claims = await queue.claim("ada", limit=2)
        assert [ids(claim) for claim in claims] == [[best.id, plain.id, worst.id, gathering.id], [other.id]]

    async def test_a_group_counts_as_one_claim(self, queue: Queue) -> None:
        rooms = [await member(queue, key) for _ in range(3) for key in ("a", "b")]
        single = await queue.add("note")
        claims = await queue.claim("ada", limit=3)
        assert [ids(claim) for claim in claims] == [
            [task.id for task in rooms[0::2]],
            [task.id for task in rooms[1::2]],
            [single.id],
        ]

    async def test_a_group_that_is_too_large_is_taken_in_parts(self, queue: Queue) -> None:
        await queue.add_many([NewTask("note", n, coalesce_key="room", coalesce_window=0) for n in range(MOST + 5)])
        claims = await queue.claim("ada", limit=2)
        payloads = [[each.task.payload for each in with_groups([claim])] for claim in claims]
        assert payloads == [list(range(MOST)), list(range(MOST, MOST + 5))]
        assert await nothing(queue)

    async def test_payloads_bound_a_group(self, queue: Queue) -> None:
        large = "x" * 900_000
        tasks = [await member(queue, payload=large) for _ in range(12)]
        claim = await take(queue)
        assert ids(claim) == [task.id for task in tasks[:9]]

    async def test_max_concurrent_bounds_a_group(self, queue: Queue) -> None:
        await queue.register_agent("ada", max_concurrent=3)
        tasks = [await member(queue) for _ in range(5)]
        [claim] = await queue.claim("ada", limit=5)
        assert ids(claim) == [task.id for task in tasks[:3]]
        assert await nothing(queue)
        await queue.complete(claim.group[0])
        [claim] = await queue.claim("ada", limit=5)
        assert ids(claim) == [tasks[3].id]

    async def test_who_does_not_get_its_locks_is_left_out(self, queue: Queue) -> None:
        first = await member(queue, locks=["repo"])
        rival = await member(queue, locks=["repo"])
        free = await member(queue)
        claim = await take(queue)
        assert ids(claim) == [first.id, free.id]
        left = await queue.get(rival.id)
        assert (left.status, left.parked_on) == (Status.READY, None)
        assert await nothing(queue)
        assert (await queue.get(rival.id)).parked_on == "repo"
        await queue.complete(claim.group[0])
        assert await nothing(queue)
        await queue.complete(claim)
        assert ids(await take(queue)) == [rival.id]
        assert await queue.store.check() == []

    async def test_who_finds_no_room_in_a_budget_is_left_out(self, queue: Queue) -> None:
        await queue.set_budget("type:note", 0.5)
        tasks = [await member(queue, max_cost=0.2) for _ in range(3)]
        claim = await take(queue)
        assert ids(claim) == [task.id for task in tasks[:2]]
        await queue.complete_group(claim, cost=0.2)
        [budget] = await queue.budgets()
        assert (budget.spent, budget.reserved) == (0.2, 0)
        assert ids(await take(queue)) == [tasks[2].id]
        assert await queue.store.check() == []

    async def test_slots_of_a_type_bound_a_group(self, queue: Queue) -> None:
        await queue.set_slots(type="note", slots=2)
        tasks = [await member(queue) for _ in range(3)]
        claim = await take(queue)
        assert ids(claim) == [task.id for task in tasks[:2]]
        assert await nothing(queue, "note")
        await queue.complete_group(claim)
        assert ids(await take(queue)) == [tasks[2].id]

    async def test_the_rate_of_a_type_bounds_a_group(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_rate("note", "2/min")
        tasks = [await member(queue) for _ in range(3)]
        assert ids(await take(queue)) == [task.id for task in tasks[:2]]
        assert await nothing(queue, "note")
        await elapse(queue, clock, 31)
        assert ids(await take(queue)) == [tasks[2].id]

    async def test_an_agent_takes_no_more_of_a_group_than_it_can_pay_for(self, queue: Queue) -> None:
        await queue.set_budget("agent:ada", 0.5)
        tasks = [await member(queue, max_cost=0.2) for _ in range(4)]
        claim = await take(queue)
        assert ids(claim) == [task.id for task in tasks[:2]]
        assert ids(await take(queue, agent="bob")) == [task.id for task in tasks[2:]]
        await queue.complete_group(claim, cost=0.2)
        [budget] = await queue.budgets()
        assert (budget.spent, budget.reserved) == (0.2, 0)
        assert await queue.store.check() == []

    async def test_what_is_handed_out_alone_has_no_group(self, queue: Queue) -> None:
        once = await member(queue, max_attempts=1)
        others = [await member(queue), await member(queue)]
        again = await member(queue, max_attempts=1)
        assert ids(await take(queue)) == [once.id]
        assert ids(await take(queue)) == [task.id for task in others]
        assert ids(await take(queue)) == [again.id]

    async def test_a_probe_is_one_task_whatever_its_group(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_breaker("note", failure_threshold=1, half_open_after_s=4)
        tasks = [await member(queue, retry="immediate") for _ in range(3)]
        claim = await take(queue)
        await queue.fail(claim, "no")
        await queue.release_group(claim)
        assert await nothing(queue)
        await elapse(queue, clock, 5)
        probe = await take(queue)
        assert len(ids(probe)) == 1
        assert await nothing(queue)
        await queue.complete(probe)
        assert sorted(ids(await take(queue))) == sorted({task.id for task in tasks} - {probe.task.id})

    async def test_a_paused_type_keeps_its_groups(self, queue: Queue, clock: FakeClock) -> None:
        await member(queue)
        await member(queue)
        await queue.pause(type="note")
        assert await nothing(queue)
        await queue.resume(type="note")
        assert len(ids(await take(queue))) == 2

    async def test_a_group_can_be_claimed_without_starting_it(self, queue: Queue) -> None:
        await member(queue)
        await member(queue)
        claim = await take(queue, start=False)
        assert [each.task.status for each in with_groups([claim])] == [Status.CLAIMED] * 2
        await queue.start(claim.group[0])
        assert [await status(queue, task) for task in ids(claim)] == [Status.CLAIMED, Status.RUNNING]

    async def test_a_repeated_claim_id_gives_the_groups_again(self, queue: Queue) -> None:
        tasks = [await member(queue, key) for _ in range(3) for key in ("a", "b")]
        first = await queue.claim("ada", limit=2, claim_id="once")
        again = await queue.claim("ada", limit=2, claim_id="once")
        assert [ids(claim) for claim in again] == [ids(claim) for claim in first]
        await queue.complete(first[0])
        await queue.complete(first[1].group[0])
        again = await queue.claim("ada", limit=2, claim_id="once")
        assert [ids(claim) for claim in again] == [[tasks[2].id, tasks[4].id], [tasks[1].id, tasks[5].id]]

    @pytest.mark.door
    async def test_many_claims_at_once_share_no_member(self, queue: Queue, other: Queue) -> None:
        await queue.add_many(
            [NewTask("note", coalesce_key=f"k{n % 7}", coalesce_window=0, priority=n % 5) for n in range(70)]
        )
        found = await asyncio.gather(*((queue, other)[n % 2].claim(f"agent-{n}") for n in range(12)))
        taken = [id for claims in found for claim in claims for id in ids(claim)]
        assert len(taken) == len(set(taken)) == 70
        assert sum(map(len, found)) == 7

    # Ending

    async def test_a_group_is_completed_together(self, queue: Queue) -> None:
        tasks = [await member(queue) for _ in range(3)]
        claim = await take(queue)
        answers = await queue.complete_group(claim, {"sent": 3}, cost=0.5, tokens_in=7)
        assert settled_as(answers) == ["completed"] * 3
        assert settled_as(await queue.complete_group(claim, {"sent": 3}, cost=0.5)) == ["completed"] * 3
        ended = [await queue.get(task.id) for task in tasks]
        assert [task.output for task in ended] == [{"sent": 3}] * 3
        assert [task.cost_usd for task in ended] == [0.5, 0, 0]
        assert [task.tokens_in for task in ended] == [7, 0, 0]

    @pytest.mark.door
    async def test_a_group_is_settled_one_by_one(self, queue: Queue) -> None:
        tasks = [await member(queue, retry="immediate") for _ in range(4)]
        claim = await take(queue)
        await queue.complete(claim.group[0], "done")
        await queue.fail(claim.group[1], "no", retry=False)
        await queue.release(claim.group[2])
        assert [await status(queue, task) for task in tasks] == ["running", "completed", "dead_lettered", "ready"]
        answers = await queue.complete_group(claim, "rest")
        assert settled_as(answers) == ["completed", "illegal_transition", "illegal_transition", "illegal_transition"]
        assert [(await queue.get(task.id)).output for task in tasks[:2]] == ["rest", "done"]
        assert await queue.store.check() == []

    async def test_completing_a_claim_ends_none_of_the_others(self, queue: Queue) -> None:
        tasks = [await member(queue), await member(queue)]
        await queue.complete(await take(queue))
        assert [await status(queue, task) for task in tasks] == ["completed", "running"]

    async def test_a_group_that_failed_comes_back_together(self, queue: Queue, clock: FakeClock) -> None:
        tasks = [await member(queue, max_attempts=2) for _ in range(3)]
        claim = await take(queue)
        answers = await queue.fail_group(claim, "no network")
        assert settled_as(answers) == ["retrying"] * 3
        due = {answer.retry_at for answer in answers if isinstance(answer, Settled)}
        assert len(due) == 1
        await elapse(queue, clock, 60)
        again = await take(queue)
        assert ids(again) == [task.id for task in tasks]
        assert [each.fence for each in with_groups([again])] == [2, 2, 2]
        assert [attempt.error for attempt in again.group[1].previous_attempts] == ["no network"]
        assert settled_as(await queue.fail_group(again, "no network")) == ["dead_lettered"] * 3

    async def test_a_group_is_released_together(self, queue: Queue) -> None:
        tasks = [await member(queue) for _ in range(3)]
        assert settled_as(await queue.release_group(await take(queue))) == ["ready"] * 3
        assert ids(await take(queue)) == [task.id for task in tasks]

    async def test_each_output_is_checked_against_what_its_own_task_expects(self, queue: Queue) -> None:
        expects = {"validation": "regex", "pattern": "[0-9]+"}
        await member(queue)
        strict = await member(queue, expects=expects)
        answers = await queue.complete_group(await take(queue), "words")
        assert [answer.outcome for answer in answers if isinstance(answer, Settled)] == ["completed", "rejected"]
        assert (await queue.get(strict.id)).reason == "invalid_output"

    async def test_an_agent_that_died_loses_each_of_a_group_by_itself(self, queue: Queue, clock: FakeClock) -> None:
        tasks = [await member(queue, retry="immediate") for _ in range(3)]
        claim = await take(queue, lease=30)
        clock.advance(20)
        await queue.renew(claim.group[0])
        await queue.complete(claim.group[1])
        await elapse(queue, clock, 11)
        assert [await status(queue, task) for task in tasks] == ["ready", "running", "completed"]
        [attempt] = await queue.history(tasks[0].id)
        assert attempt.outcome is Outcome.EXPIRED
        answers = await queue.complete_group(claim)
        assert isinstance(answers[0], LeaseLost)
        assert settled_as(answers)[1:] == ["completed", "completed"]

    async def test_one_of_a_group_can_be_cancelled(self, queue: Queue) -> None:
        tasks = [await member(queue) for _ in range(3)]
        claim = await take(queue)
        await queue.cancel(tasks[1].id)
        assert (await queue.renew(claim.group[0])).cancel
        assert not (await queue.renew(claim)).cancel
        answers = await queue.complete_group(claim)
        assert settled_as(answers) == ["completed", "illegal_transition", "completed"]
        assert isinstance(answers[1], IllegalTransition)

    @pytest.mark.door
    async def test_a_group_is_settled_by_id_and_fence_of_each(self, queue: Queue, clock: FakeClock) -> None:
        tasks = [await member(queue, expects={"validation": "regex", "pattern": "[0-9]+"}) for _ in range(3)]
        held = [(each.task.id, each.fence) for each in with_groups([await take(queue)])]
        assert settled_as(await queue.release_group(held)) == ["ready"] * 3
        assert settled_as(await queue.fail_group(held, "no")) == ["illegal_transition"] * 3
        held = [(each.task.id, each.fence) for each in with_groups([await take(queue)])]
        answers = await queue.fail_group(held, "no", cost=0.5)
        assert settled_as(answers) == ["retrying"] * 3
        assert len({answer.retry_at for answer in answers if isinstance(answer, Settled)}) == 1
        await elapse(queue, clock, 60)
        held = [(each.task.id, each.fence) for each in with_groups([await take(queue)])]
        stale = (held[1][0], held[1][1] - 1)
        answers = await queue.complete_group([held[0], stale, held[2]], "17", cost=0.25)
        assert settled_as(answers) == ["completed", "lease_lost", "completed"]
        assert settled_as(await queue.complete_group(held, "words")) == [
            "illegal_transition",
            "retrying",
            "illegal_transition",
        ]
        assert [(await queue.get(task.id)).cost_usd for task in tasks] == [0.75, 0, 0]
        assert await queue.store.check() == []

    async def test_a_group_is_not_settled_by_one_of_it_nor_by_anything_else(self, queue: Queue) -> None:
        task = await member(queue)
        claim = await take(queue)
        pair = (task.id, claim.fence)
        wrong: list[Any] = [pair, [], [pair, pair], [task.id], None, [(task.id,)]]
        for held in wrong:
            for settle in (queue.complete_group(held), queue.fail_group(held, "no"), queue.release_group(held)):
                with pytest.raises(Invalid) as caught:
                    await settle
                assert caught.value.field in ("claim", "task_id")
        with pytest.raises(NotFound):
            await queue.complete_group([pair, ("task_unknown", 1)])
        assert await status(queue, task) == Status.RUNNING

    async def test_a_retried_task_joins_its_group_again(self, queue: Queue) -> None:
        lost = await member(queue)
        await queue.cancel(lost.id)
        other = await member(queue)
        await queue.retry(lost.id)
        assert sorted(ids(await take(queue))) == sorted([lost.id, other.id])
        assert await queue.store.check() == []
