"""Circuit breakers: a type that keeps failing is no longer handed out, then tried with one task."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import DibsError
from dibs.model.task import NewTask
from dibs.stores.values import ClaimRequest
from dibs.testing.conformance.topic import Topic, elapse, events, finish, kill, nothing, take

if TYPE_CHECKING:
    from dibs.model.closures import Breaker
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def breaker(queue: Queue, type: str = "code") -> Breaker:
    [found] = [found for found in await queue.breakers() if found.type == type]
    return found


async def prepared(queue: Queue, tasks: int = 20, *, threshold: int = 3) -> None:
    """Tasks to do, and a breaker that opens soon."""
    await queue.add_many([NewTask("code", number) for number in range(tasks)])
    await queue.set_breaker("code", failure_threshold=threshold)


async def opened(queue: Queue, clock: FakeClock, *, then_s: float = 60) -> None:
    """A breaker that opened by itself, so long ago."""
    await prepared(queue)
    for _ in range(3):
        await kill(queue, "code")
    clock.advance(then_s)


async def told(queue: Queue) -> list[str]:
    return [event.type for event in await events(queue) if event.type.startswith("breaker.")]


class Breakers(Topic):
    async def test_failures_in_a_row_open_it(self, queue: Queue, clock: FakeClock) -> None:
        await prepared(queue)
        await queue.add("research")
        for count in (1, 2):
            await kill(queue, "code")
            found = await breaker(queue)
            assert (found.state, found.failures, found.last_failure_at) == ("closed", count, clock.now)
        await kill(queue, "code")
        found = await breaker(queue)
        assert (found.state, found.failures, found.opened_at) == ("open", 3, clock.now)
        assert found.half_open_due_at == clock.now + timedelta(seconds=60)
        assert await nothing(queue, "code")
        await take(queue, "research")
        [alert] = [event for event in await events(queue) if event.type == "breaker.opened"]
        assert (alert.reason, alert.data) == ("3 failed attempts in a row", {"type": "code", "failures": 3})

    async def test_without_settings_nothing_is_counted(self, queue: Queue) -> None:
        await queue.add_many([NewTask("code", number) for number in range(12)])
        for _ in range(10):
            await kill(queue, "code")
        assert [found.type for found in await queue.breakers()] == ["*"]
        await take(queue, "code")

    async def test_the_settings_of_every_type_hold_where_there_are_no_others(self, queue: Queue) -> None:
        await queue.set_breaker(failure_threshold=2, half_open_after_s="10s")
        await queue.set_breaker("research", failure_threshold=1)
        await queue.set_breaker("lint", enabled=False)
        for type in ("code", "research", "lint"):
            await queue.add_many([NewTask(type, number) for number in range(4)])
            await kill(queue, type)
        states = {found.type: found.state for found in await queue.breakers()}
        assert states == {"*": "closed", "code": "closed", "lint": "closed", "research": "open"}
        research = await breaker(queue, "research")
        assert (research.failure_threshold, research.half_open_after_s, research.cooldown_s) == (1, 10, 300)
        await kill(queue, "code")
        await kill(queue, "lint")
        assert (await breaker(queue, "code")).state == "open"
        assert (await breaker(queue, "lint")).state == "closed"

    async def test_a_success_forgets_the_failures_before_it(self, queue: Queue, other: Queue) -> None:
        await prepared(queue)
        await kill(queue, "code")
        await kill(queue, "code")
        # Another process, which never heard of the failures.
        await finish(other, "code")
        assert (await breaker(queue)).failures == 0
        await kill(queue, "code")
        await kill(queue, "code")
        assert (await breaker(queue)).state == "closed"

    async def test_a_success_with_dependents_counts_as_well(self, queue: Queue) -> None:
        await queue.set_breaker("code", failure_threshold=2)
        await queue.add("code", priority=90)
        await kill(queue, "code")
        parent = await queue.add("code")
        await queue.add("code", after=[parent])
        await finish(queue, "code")
        assert (await breaker(queue)).failures == 0

    async def test_failures_older_than_the_cooldown_are_forgotten(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("code", number) for number in range(9)])
        await queue.set_breaker("code", failure_threshold=3, cooldown_s=100)
        await kill(queue, "code")
        clock.advance(60)
        await kill(queue, "code")
        clock.advance(60)
        await kill(queue, "code")
        assert (await breaker(queue)).failures == 2
        clock.advance(30)
        await kill(queue, "code")
        assert (await breaker(queue)).state == "open"

    async def test_what_says_nothing_about_the_type_is_not_counted(self, queue: Queue, clock: FakeClock) -> None:
        await prepared(queue, threshold=1)
        await queue.release(await take(queue, "code"))
        await queue.fail(await take(queue, "code"), "429 too many requests")
        await elapse(queue, clock, 70)
        await queue.fail(await take(queue, "code"), "too dear", reason="budget_exceeded")
        await queue.cancel((await take(queue, "code")).task.id)
        waiting = await take(queue, "code")
        await queue.spawn(waiting, [NewTask("child")], wait=True)
        await take(queue, "code", lease="5s")
        await elapse(queue, clock, 6)
        assert (await breaker(queue)).failures == 0
        assert (await breaker(queue)).state == "closed"

    async def test_a_lease_that_ran_out_on_begun_work_is_a_failure(self, queue: Queue, clock: FakeClock) -> None:
        await prepared(queue, threshold=1)
        claim = await take(queue, "code", lease="5s")
        await queue.renew(claim)
        await elapse(queue, clock, 6)
        assert (await breaker(queue)).state == "open"

    async def test_a_settlement_said_twice_counts_once(self, queue: Queue) -> None:
        await prepared(queue)
        claim = await take(queue, "code")
        for _ in range(3):
            await queue.fail(claim, "no", retry=False)
        assert (await breaker(queue)).failures == 1

    async def test_a_batch_counts_in_its_order(self, queue: Queue) -> None:
        from dibs import settling

        await prepared(queue)
        claims = await queue.claim("ada", types=["code"], limit=5)
        bad = [settling.failed(claim, "no", draw=0.5, retry_again=False) for claim in claims]
        good = settling.completed(claims[2])
        await queue.settle([bad[0], bad[1], good, bad[3]])
        assert (await breaker(queue)).failures == 1
        await queue.settle([bad[4]])
        assert (await breaker(queue)).failures == 2

    async def test_half_open_it_hands_out_one_task_alone(self, queue: Queue, clock: FakeClock) -> None:
        await opened(queue, clock, then_s=59)
        assert (await queue.store.claim(ClaimRequest(agent="ada"))).next_due_in == 1
        clock.advance(1)
        assert (await breaker(queue)).state == "half_open"
        [probe] = (await queue.store.claim(ClaimRequest(agent="ada", limit=10))).claims
        assert await nothing(queue, "code")
        found = await breaker(queue)
        assert (found.state, found.probe, found.half_open_at) == ("half_open", probe.task.id, clock.now)
        [closure] = await queue.gates()
        assert probe.task.id in (closure.reason or "")
        assert await told(queue) == ["breaker.opened", "breaker.half_open"]

    async def test_a_batch_ends_before_the_probe(self, queue: Queue, clock: FakeClock) -> None:
        await opened(queue, clock)
        urgent = await queue.add_many([NewTask("research", priority=0), NewTask("research", priority=1)])
        later = await queue.add("research", priority=100)
        batch = await queue.claim("ada", limit=10)
        assert [claim.task.id for claim in batch] == [task.id for task in urgent]
        [probe] = await queue.claim("ada", limit=10)
        assert probe.task.type == "code"
        assert [claim.task.id for claim in await queue.claim("ada", limit=10)] == [later.id]

    async def test_of_several_lanes_one_gives_the_probe(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("code", requires=["gpu"], boost=5)
        await opened(queue, clock)
        await take(queue, "code", capabilities=["gpu"])
        assert await nothing(queue, "code", capabilities=["gpu"])

    @pytest.mark.door
    @pytest.mark.routing
    async def test_one_probe_only_however_many_claim(self, queue: Queue, other: Queue, clock: FakeClock) -> None:
        await opened(queue, clock)
        asking = [
            (queue, other)[number % 2].claim(f"agent-{number}", types=["code"], limit=1 + number % 3)
            for number in range(20)
        ]
        taken = [claim for claims in await asyncio.gather(*asking) for claim in claims]
        assert len(taken) == 1
        await other.complete(taken[0])
        assert (await breaker(queue)).state == "closed"
        assert len(await queue.claim("ada", types=["code"], limit=10)) == 10

    async def test_its_success_closes_it(self, queue: Queue, clock: FakeClock) -> None:
        await opened(queue, clock)
        await finish(queue, "code")
        found = await breaker(queue)
        assert (found.state, found.failures, found.probe) == ("closed", 0, None)
        assert found.opened_at is not None
        assert await told(queue) == ["breaker.opened", "breaker.half_open", "breaker.closed"]
        assert len(await queue.claim("ada", types=["code"], limit=5)) == 5

    async def test_its_failure_opens_it_again(self, queue: Queue, clock: FakeClock) -> None:
        await opened(queue, clock)
        await kill(queue, "code")
        found = await breaker(queue)
        assert (found.state, found.reason, found.opened_at) == ("open", "its probe failed", clock.now)
        assert await nothing(queue, "code")
        clock.advance(60)
        await finish(queue, "code")
        assert await told(queue) == [
            "breaker.opened",
            "breaker.half_open",
            "breaker.opened",
            "breaker.half_open",
            "breaker.closed",
        ]

    async def test_its_death_opens_it_again(self, queue: Queue, clock: FakeClock) -> None:
        await opened(queue, clock)
        await queue.start(await take(queue, "code", lease="10s"))
        await elapse(queue, clock, 11)
        assert (await breaker(queue)).state == "open"
        clock.advance(60)
        await finish(queue, "code")
        assert (await breaker(queue)).state == "closed"

    async def test_who_waits_for_a_probe_wakes_when_its_lease_ends(self, queue: Queue, clock: FakeClock) -> None:
        await opened(queue, clock)
        await take(queue, "code", lease="10s")
        assert (await queue.store.claim(ClaimRequest(agent="bob", types=("code",)))).next_due_in == 10

    async def test_a_probe_that_waits_for_an_answer_is_freed_by_promote_and_by_nothing_else(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await opened(queue, clock)
        probe = await take(queue, "code")
        await queue.ask_under(probe, "Which branch?")
        await queue.close_breaker("other")
        await queue.pause(type="other")
        assert probe.task.id in ((await queue.gates())[-1].reason or "")
        assert not (await queue.store.claim(ClaimRequest(agent="bob", types=("code",)))).claims
        await queue.store.promote(10)
        assert (await queue.store.claim(ClaimRequest(agent="bob", types=("code",)))).claims

    async def test_a_probe_that_never_began_frees_itself(self, queue: Queue, clock: FakeClock) -> None:
        await opened(queue, clock)
        first = await take(queue, "code", lease="10s")
        await elapse(queue, clock, 11)
        second = await take(queue, "code", agent="bob")
        assert (await breaker(queue)).probe == second.task.id
        with pytest.raises(DibsError):
            await queue.complete(first)
        assert (await breaker(queue)).state == "half_open"
        await queue.complete(second)
        assert (await breaker(queue)).state == "closed"

    async def test_a_probe_given_back_frees_itself(self, queue: Queue, clock: FakeClock) -> None:
        await opened(queue, clock)
        await queue.release(await take(queue, "code"))
        await queue.fail(await take(queue, "code"), "rate limit exceeded, retry after 5 s")
        await elapse(queue, clock, 6)
        await take(queue, "code")
        assert await nothing(queue, "code")

    async def test_a_probe_that_is_cancelled_or_waits_for_children_frees_itself(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await opened(queue, clock)
        await queue.cancel((await take(queue, "code")).task.id)
        await elapse(queue, clock, 2)
        await queue.spawn(await take(queue, "code"), [NewTask("child")], wait=True)
        await elapse(queue, clock, 2)
        await finish(queue, "code")
        assert (await breaker(queue)).state == "closed"

    async def test_what_was_under_way_when_it_opened_decides_nothing(self, queue: Queue, clock: FakeClock) -> None:
        await prepared(queue)
        [early, late, *rest] = await queue.claim("ada", types=["code"], limit=5, lease="1h")
        for claim in rest:
            await queue.fail(claim, "no", retry=False)
        opened_at = (await breaker(queue)).opened_at
        clock.advance(5)
        await queue.complete(early)
        await queue.fail(late, "no", retry=False)
        found = await breaker(queue)
        assert (found.state, found.failures, found.opened_at) == ("open", 3, opened_at)

    async def test_it_can_be_opened_and_closed_by_hand(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("code")
        found = await queue.open_breaker("code", reason="the API is down")
        assert (found.state, found.reason, found.enabled) == ("open", "the API is down", False)
        assert await nothing(queue, "code")
        assert (await queue.close_breaker("code")).state == "closed"
        claim = await take(queue, "code")
        await queue.open_breaker("code")
        clock.advance(60)
        await queue.complete(claim)
        assert (await breaker(queue)).state == "half_open"
        assert await told(queue) == ["breaker.opened", "breaker.closed", "breaker.opened"]

    async def test_closing_forgets_the_failures(self, queue: Queue) -> None:
        await prepared(queue)
        await kill(queue, "code")
        await kill(queue, "code")
        assert (await queue.close_breaker("code")).failures == 0
        await kill(queue, "code")
        assert (await breaker(queue)).state == "closed"

    async def test_switching_it_off_closes_it(self, queue: Queue, clock: FakeClock) -> None:
        await opened(queue, clock, then_s=1)
        found = await queue.set_breaker("code", enabled=False)
        assert (found.state, found.enabled, found.failure_threshold) == ("closed", False, 3)
        await take(queue, "code")

    async def test_other_settings_hold_at_once(self, queue: Queue, other: Queue, clock: FakeClock) -> None:
        await opened(queue, clock, then_s=1)
        await nothing(queue, "code")
        found = await other.set_breaker("code", half_open_after_s=5)
        assert found.half_open_due_at == clock.now + timedelta(seconds=4)
        clock.advance(4)
        await take(queue, "code")

    async def test_resetting_forgets_all_there_is(self, queue: Queue, clock: FakeClock) -> None:
        await opened(queue, clock, then_s=1)
        found = await queue.reset_breaker("code")
        assert (found.state, found.own, found.opened_at, found.failure_threshold) == ("closed", False, None, 5)
        await take(queue, "code")
        assert [found.type for found in await queue.breakers()] == ["*"]

    async def test_a_task_behind_an_open_breaker_says_so(self, queue: Queue, clock: FakeClock) -> None:
        await opened(queue, clock, then_s=1)
        [task, *_] = (await queue.find(status="ready", type="code")).items
        why = await queue.why(task.id)
        [blocker] = why.blockers
        assert (blocker.kind, blocker.help) == ("gate", "dibs breaker close code")
        assert "3 failed attempts in a row" in blocker.detail
        assert blocker.until == clock.now + timedelta(seconds=59)

    async def test_breakers_of_different_types_do_not_meddle(self, queue: Queue, clock: FakeClock) -> None:
        await opened(queue, clock)
        await queue.set_breaker("research", failure_threshold=1)
        await queue.add("research")
        probe = await take(queue, "code")
        await kill(queue, "research")
        states = {found.type: found.state for found in await queue.breakers()}
        assert (states["code"], states["research"]) == ("half_open", "open")
        await queue.complete(probe)
        assert (await breaker(queue)).state == "closed"

    @pytest.mark.parametrize(
        ("field", "options"),
        [
            ("type", {"type": ""}),
            ("type", {"type": "a\0"}),
            ("failure_threshold", {"failure_threshold": 0}),
            ("failure_threshold", {"failure_threshold": 1_001}),
            ("failure_threshold", {"failure_threshold": 2.5}),
            ("cooldown_s", {"cooldown_s": 0}),
            ("cooldown_s", {"cooldown_s": "soon"}),
            ("half_open_after_s", {"half_open_after_s": -1}),
            ("half_open_after_s", {"half_open_after_s": float("nan")}),
            ("enabled", {"enabled": "yes"}),
        ],
        ids=str,
    )
    def test_settings_that_make_no_sense_are_refused_by_field(self, field: str, options: dict[str, Any]) -> None:
        async def check(_: Topic, queue: Queue) -> None:
            with pytest.raises(DibsError) as caught:
                await queue.set_breaker(**{"type": "code", **options})
            assert (caught.value.field, caught.value.exit_code) == (field, 2)
            assert [found.type for found in await queue.breakers()] == ["*"]

        self.run(check)

    async def test_every_type_has_no_state_to_steer(self, queue: Queue) -> None:
        for attempt in (queue.open_breaker("*"), queue.close_breaker("*"), queue.open_breaker("code", reason="\0")):
            with pytest.raises(DibsError) as caught:
                await attempt
            assert caught.value.exit_code == 2
        assert await told(queue) == []
