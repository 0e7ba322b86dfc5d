"""Rate limits: whoever turned somebody away is left alone for a while, and everybody else goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Invalid
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.settling import completed, failed
from dibs.stores.values import Claimed, ClaimRequest, Entry
from dibs.testing.conformance.topic import Topic, elapse, events, finish, nothing, on_the_store, status, take

if TYPE_CHECKING:
    from dibs.model.claim import Claim
    from dibs.model.closures import Closure
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

CLAUDE, GPT = "claude-sonnet-4", "gpt-5"


async def turn_away(queue: Queue, claim: Claim, after: float | None = 120) -> None:
    """The provider of a claimed task has had enough; None: it does not say until when."""
    await queue.fail(claim, "429 Too Many Requests", retry_after=after)


async def ask(queue: Queue, **options: Any) -> Claimed:
    """What a claim that finds nothing is told."""
    claimed = await queue.store.claim(ClaimRequest(agent="ada", **options))
    assert claimed.claims == []
    return claimed


async def closed(queue: Queue) -> Closure:
    """The one gate that is closed."""
    [closure] = await queue.gates()
    return closure


async def closed_for(queue: Queue) -> float:
    """How many seconds the one closed gate stays so, to the nearest."""
    until = (await closed(queue)).until
    assert until is not None
    return round(until.timestamp() - queue.store.now() / 1_000_000)


async def gate_events(queue: Queue) -> list[tuple[str, str | None, Any]]:
    return [
        (event.type, event.reason, event.data.get("limits"))
        for event in await events(queue)
        if event.type.startswith("gate.")
    ]


class Providers(Topic):
    async def test_a_storm_of_limits_uses_up_no_attempt_and_leaves_the_provider_idle(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        tasks = await queue.add_many([NewTask("code", number, provider="acme") for number in range(100)])
        claims = [*await queue.claim("ada", limit=30), *await queue.claim("bob", limit=30)]
        now = queue.store.now()
        limits = [failed(claim, "429 Too Many Requests, Retry-After: 120", draw=0.5, now=now) for claim in claims]
        await queue.settle(limits[:40])
        for limit in limits[40:]:
            await queue.settle([limit])
        other = await queue.add("code", provider="other")
        assert (await take(queue, lease="1h")).task.id == other.id
        for seconds in (1, 60, 58):
            await elapse(queue, clock, seconds)
            assert await nothing(queue, limit=100)
        assert len(await gate_events(queue)) == 1
        await elapse(queue, clock, 2)
        again = await queue.claim("ada", limit=200)
        assert {claim.task.id for claim in again} == {task.id for task in tasks}
        assert {claim.task.attempts for claim in again} == {0}

    async def test_the_gate_is_that_of_the_provider_it_names(self, queue: Queue) -> None:
        await queue.add("code", provider="acme", models=[CLAUDE])
        await queue.add("lint", provider="acme")
        await queue.add("code", models=[CLAUDE])
        await turn_away(queue, (await queue.claim("ada"))[0])
        closure = await closed(queue)
        assert (closure.gate, closure.kind, closure.provider) == ("provider:acme", "limit", "acme")
        assert await nothing(queue, "lint")
        assert (await take(queue)).task.provider is None

    async def test_else_that_of_its_models_provider(self, queue: Queue) -> None:
        await queue.add("code", models=[CLAUDE])
        await queue.add("lint", models=["claude-haiku-3"])
        await queue.add("lint", models=[GPT])
        await queue.add("lint", provider="anthropic")
        await turn_away(queue, (await queue.claim("ada"))[0])
        assert (await closed(queue)).gate == "provider:anthropic"
        assert (await take(queue)).model == GPT
        assert await nothing(queue)

    async def test_else_that_of_its_type(self, queue: Queue) -> None:
        await queue.add("code", models=["house-model"])
        await queue.add("code")
        await queue.add("lint")
        await turn_away(queue, (await queue.claim("ada"))[0])
        closure = await closed(queue)
        assert (closure.gate, closure.type, closure.provider) == ("limit:code", "code", None)
        assert (await take(queue)).task.type == "lint"
        assert await nothing(queue)

    async def test_a_task_with_another_model_to_choose_goes_on_with_that(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("code", models=[CLAUDE, GPT]), NewTask("code", models=[CLAUDE, GPT])])
        await queue.add("code", models=[CLAUDE, GPT])
        claim = await take(queue)
        assert claim.model == CLAUDE
        await turn_away(queue, claim)
        assert await nothing(queue, agent="bob", models=[CLAUDE])
        other = await take(queue, agent="eve", models=[CLAUDE, GPT])
        assert other.model == GPT
        await turn_away(queue, other, 300)
        assert await nothing(queue)
        assert [closure.gate for closure in await queue.gates()] == ["provider:anthropic", "provider:openai"]
        await elapse(queue, clock, 121)
        assert (await take(queue, models=[CLAUDE, GPT])).model == CLAUDE

    async def test_no_task_is_touched(self, queue: Queue, clock: FakeClock) -> None:
        tasks = await queue.add_many([NewTask("code", number) for number in range(300)])
        claim = await take(queue)
        clock.advance(1)
        await turn_away(queue, claim)
        assert await nothing(queue)
        found = [
            task for task in await queue.store.get([task.id for task in tasks]) if task and task.id != claim.task.id
        ]
        assert {(task.status, task.updated_at) for task in found} == {(Status.READY, tasks[0].created_at)}

    async def test_what_is_under_way_goes_on_and_is_told_to_slow_down(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("code", provider="acme"), NewTask("code", provider="acme"), NewTask("lint")])
        [first, second, third] = await queue.claim("ada", limit=3, lease="1h")
        assert (await queue.renew(second)).slow_down is None
        await turn_away(queue, first)
        assert (await queue.renew(second, progress=0.5)).slow_down == 60
        assert (await queue.renew(third)).slow_down is None
        clock.advance(100)
        assert (await queue.renew(second)).slow_down == 10
        clock.advance(20)
        assert (await queue.renew(second)).slow_down is None
        await queue.complete(second)
        assert await status(queue, second.task) == Status.COMPLETED

    @pytest.mark.door
    async def test_a_claim_that_is_kept_waiting_is_told_to_slow_down(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("code"), NewTask("code"), NewTask("lint")])
        await turn_away(queue, await take(queue, "code"))
        clock.advance(20)
        told = await ask(queue, types=("code",))
        assert (told.slow_down, told.next_due_in) == (50, 100)
        heard = await queue.claim("ada", types=["code"])
        assert (heard, heard.slow_down, heard.reason) == ([], 50, None)
        assert (await ask(queue, types=("review",))).slow_down is None
        claimed = await queue.store.claim(ClaimRequest(agent="ada"))
        assert (len(claimed.claims), claimed.slow_down) == (1, None)
        assert (await queue.claim("ada", types=["review"])).slow_down is None
        await elapse(queue, clock, 101)
        await finish(queue, "code")
        await finish(queue, "code")
        assert (await ask(queue, types=("code",))).slow_down is None

    async def test_a_gate_that_is_resumed_by_hand_opens_at_once_and_forgets_its_limits(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add_many([NewTask("code", provider="acme") for _ in range(3)])
        await turn_away(queue, await take(queue, "code"), None)
        await elapse(queue, clock, 70)
        await turn_away(queue, await take(queue, "code"), None)
        assert (await closed(queue)).reason == "rate limit, 2 times in a row"
        assert not await queue.resume(provider="other")
        assert not await queue.resume(limit="acme")
        assert not await queue.resume("acme")
        assert await queue.resume(provider="acme")
        assert await queue.gates() == []
        assert [event[:2] for event in await gate_events(queue)][-1] == ("gate.opened", "resumed")
        assert not await queue.resume(provider="acme")
        await turn_away(queue, await take(queue, "code"), None)
        assert (await closed(queue)).reason == "rate limit"

    async def test_the_limit_of_a_type_is_resumed_by_its_type(self, queue: Queue) -> None:
        await queue.add_many([NewTask("code"), NewTask("code")])
        await turn_away(queue, await take(queue, "code"))
        assert await queue.resume(limit="code")
        await take(queue, "code")

    async def test_a_gate_that_time_opened_is_not_resumed(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("code"), NewTask("code")])
        await turn_away(queue, await take(queue, "code"))
        clock.advance(121)
        assert not await queue.resume(limit="code")
        assert [event[:2] for event in await gate_events(queue)][-1] == ("gate.opened", "until")

    async def test_what_cannot_be_resumed_is_refused_by_field(self, queue: Queue) -> None:
        await queue.add_many([NewTask("code", provider="acme")])
        await turn_away(queue, await take(queue, "code"))
        refusals: list[tuple[dict[str, Any], str]] = [
            ({"provider": "acme", "type": "code"}, "provider"),
            ({"limit": "code", "everything": True}, "limit"),
            ({"provider": "acme", "limit": "code"}, "limit"),
            ({"provider": 7}, "provider"),
        ]
        for options, field in refusals:
            with pytest.raises(Invalid) as refused:
                await queue.resume(**options)
            assert refused.value.field == field
        assert (await closed(queue)).gate == "provider:acme"

    async def test_a_repeated_claim_answers_as_before_the_limit(self, queue: Queue) -> None:
        await queue.add_many([NewTask("code"), NewTask("code")])
        claim = await take(queue, claim_id="once")
        await turn_away(queue, await take(queue, agent="bob"))
        [again] = await queue.claim("ada", claim_id="once")
        assert (again.task.id, again.fence) == (claim.task.id, claim.fence)

    async def test_limits_in_a_row_wait_twice_as_long_and_a_success_forgets_them(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add_many([NewTask("code", number) for number in range(20)])
        for wait in (60, 120, 240, 480, 960, 1920, 3600, 3600):
            await turn_away(queue, await take(queue), None)
            assert wait <= await closed_for(queue) <= 1.1 * wait
            await elapse(queue, clock, await closed_for(queue) + 1)
        await finish(queue, "code")
        await turn_away(queue, await take(queue), None)
        assert await closed_for(queue) <= 66

    async def test_limits_are_forgotten_an_hour_after_the_gate_opened(self, queue: Queue, clock: FakeClock) -> None:
        for wait, pause in ((60, 3_500), (120, 3_700), (60, 0)):
            await queue.add("code")
            await turn_away(queue, await take(queue), None)
            assert wait <= await closed_for(queue) <= 1.1 * wait
            await elapse(queue, clock, await closed_for(queue) + pause)

    async def test_a_limit_while_it_is_closed_counts_only_if_it_says_to_wait_longer(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add_many([NewTask("code", number) for number in range(6)])
        claims = await queue.claim("ada", limit=5, lease="1h")
        for claim, after, wait in zip(claims, (30, None, 10, 30.5, 90), (30, 30, 30, 30, 90), strict=True):
            await turn_away(queue, claim, after)
            assert await closed_for(queue) == wait
        assert [limits for _, _, limits in await gate_events(queue)] == [1, 1]
        clock.advance(89)
        assert await nothing(queue)
        clock.advance(1)
        assert len(await queue.claim("ada")) == 1

    async def test_a_success_while_it_is_closed_does_not_open_it(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("code", number) for number in range(5)])
        [first, second, third] = await queue.claim("ada", limit=3, lease="1h")
        await turn_away(queue, first, None)
        await queue.complete(second)
        assert await nothing(queue)
        await elapse(queue, clock, 70)
        await turn_away(queue, third, None)
        assert await closed_for(queue) >= 120

    @on_the_store("settlements with draws of its own; a server draws itself")
    async def test_endings_of_a_batch_count_for_their_provider_in_order(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("code", number) for number in range(5)])
        await turn_away(queue, await take(queue), None)
        await elapse(queue, clock, 70)
        [first, second] = await queue.claim("ada", limit=2)
        await queue.settle([completed(first), failed(second, "429", draw=0.0)])
        assert await closed_for(queue) == 60

    async def test_a_success_of_another_provider_says_nothing(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("code", provider="acme"), NewTask("code"), NewTask("code", models=[GPT])])
        claims = {claim.task.provider or claim.model: claim for claim in await queue.claim("ada", limit=3, lease="1h")}
        await turn_away(queue, claims["acme"], None)
        await elapse(queue, clock, 70)
        await queue.complete(claims[None])
        await queue.complete(claims[GPT])
        await turn_away(queue, await take(queue), None)
        assert await closed_for(queue) >= 120

    async def test_a_limit_told_twice_counts_once(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("code"), NewTask("code")])
        claim = await take(queue)
        await turn_away(queue, claim, 1)
        clock.advance(30)
        await turn_away(queue, claim, 1)
        assert await queue.gates() == []

    async def test_its_closing_and_opening_are_events(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("code", provider="acme"), NewTask("code", provider="acme")])
        [first, second] = await queue.claim("ada", limit=2, lease="1h")
        await turn_away(queue, first)
        [event] = [event for event in await events(queue) if event.type == "gate.closed"]
        assert event.data == {"gate": "provider:acme", "until": (await closed(queue)).until.isoformat(), "limits": 1}  # type: ignore[union-attr]
        clock.advance(121)
        await turn_away(queue, second)
        await elapse(queue, clock, 121)
        assert await gate_events(queue) == [
            ("gate.closed", "rate_limit", 1),
            ("gate.opened", "until", None),
            ("gate.closed", "rate_limit", 2),
            ("gate.opened", "until", None),
        ]

    async def test_a_success_that_comes_first_tells_that_it_has_opened(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("code"), NewTask("code")])
        [first, second] = await queue.claim("ada", limit=2, lease="1h")
        await turn_away(queue, first, 10)
        clock.advance(11)
        await queue.complete(second)
        await take(queue)
        assert [type for type, _, _ in await gate_events(queue)] == ["gate.closed", "gate.opened"]

    async def test_why_names_the_provider_and_when_it_goes_on(self, queue: Queue) -> None:
        [_, task] = await queue.add_many([NewTask("code", models=[CLAUDE]), NewTask("code", models=[CLAUDE])])
        await turn_away(queue, await take(queue))
        why = await queue.why(task.id)
        assert why.explanation == "It is ready, but anthropic turned work away (rate limit); it goes on in 2 min."
        [blocker] = why.blockers
        assert (blocker.kind, blocker.ids, blocker.until) == (
            "gate",
            ["provider:anthropic"],
            (await closed(queue)).until,
        )

    async def test_a_lane_says_its_provider(self, queue: Queue) -> None:
        await queue.add("code", provider="acme")
        await queue.add("code")
        assert {lane.provider for lane in (await queue.stats()).lanes} == {"acme", None}

    @pytest.mark.door
    @pytest.mark.routing
    async def test_everybody_hears_of_it(self, queue: Queue, other: Queue) -> None:
        await queue.add_many([NewTask("code"), NewTask("code"), NewTask("code")])
        claim = await take(other, agent="bob")
        await turn_away(queue, await take(queue))
        assert await nothing(other, agent="bob")
        assert (await other.renew(claim)).slow_down is not None

    async def test_its_checkpoint_is_kept(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("code")
        claim = await take(queue)
        await queue.record(claim, [Entry(kind="checkpoint", value=b"7")])
        await turn_away(queue, claim)
        await elapse(queue, clock, 121)
        again = await take(queue)
        assert (again.checkpoint, again.task.attempts) == (7, 0)

    async def test_the_twentieth_limit_in_a_row_is_a_failure(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("code", max_attempts=1)
        for _ in range(20):
            assert await status(queue, task) != Status.DEAD_LETTERED
            await turn_away(queue, await take(queue), 10)
            await elapse(queue, clock, 11)
        ended = await queue.get(task.id)
        assert (ended.status, ended.reason, ended.attempts) == (Status.DEAD_LETTERED, "rate_limit", 1)

    async def test_a_limit_that_moves_its_task_to_another_model_closes_the_gate_it_met(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.set_escalation([{"after": 1, "do": "reassign", "model": GPT}], type="code")
        await queue.add("code", provider="acme", max_attempts=3)
        await queue.add("lint", provider="acme")
        for _ in range(19):
            await turn_away(queue, await take(queue, "code"), 10)
            await elapse(queue, clock, 11)
        await turn_away(queue, await take(queue, "code"), 120)
        assert (await closed(queue)).gate == "provider:acme"
        assert await nothing(queue, "lint")
        await elapse(queue, clock, 400)
        assert (await take(queue, "code")).model == GPT

    async def test_a_limit_without_a_retry_closes_it_too(self, queue: Queue) -> None:
        await queue.add_many([NewTask("code"), NewTask("code")])
        await queue.fail(await take(queue), "no", reason="rate_limit", retry=False)
        assert await nothing(queue)

    @pytest.mark.parametrize("provider", ["", " ", "a\0b", 7, ["acme"]])
    def test_a_provider_that_is_no_name_is_refused(self, provider: Any) -> None:
        async def refused(_: Topic, queue: Queue) -> None:
            with pytest.raises(Invalid) as caught:
                await queue.add("code", provider=provider)
            assert caught.value.field == "provider"
            assert (await queue.stats()).by_status == {}

        self.run(refused)
