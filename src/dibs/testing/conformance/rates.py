"""Rates of types: so many tasks are handed out in a time, then one by one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Invalid, NotFound
from dibs.model.instants import from_micros
from dibs.model.task import NewTask
from dibs.stores.values import ClaimRequest
from dibs.testing.conformance.topic import Topic, nothing, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def count(queue: Queue, limit: int = 100, **options: Any) -> int:
    """Claim; how many came."""
    return len(await queue.claim("ada", limit=limit, lease="24h", **options))


class Rates(Topic):
    async def test_as_many_are_handed_out_as_the_rate_says_and_then_one_by_one(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        made = await queue.set_rate("call", "10/min")
        assert made is not None
        assert (made.type, made.amount, made.per_s, made.burst, made.left) == ("call", 10, 60.0, 10, 10)
        await queue.add_many([NewTask("call") for _ in range(40)])
        assert await count(queue, 3) == 3
        assert await count(queue) == 7
        assert await nothing(queue)
        clock.advance(5.9)
        assert await nothing(queue)
        clock.advance(0.1)
        assert await count(queue) == 1
        clock.advance(18)
        assert await count(queue) == 3
        clock.advance(3600)
        assert await count(queue) == 10
        assert await queue.store.check() == []

    async def test_a_burst_is_how_many_are_handed_out_at_once(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_rate("call", "60/min", burst=2)
        await queue.add_many([NewTask("call") for _ in range(10)])
        assert await count(queue) == 2
        clock.advance(1)
        assert await count(queue) == 1
        clock.advance(60)
        assert await count(queue) == 2

    async def test_a_rate_is_removed_once(self, queue: Queue) -> None:
        await queue.set_rate("call", "1/hour")
        await queue.add_many([NewTask("call") for _ in range(3)])
        assert await count(queue) == 1
        removed = await queue.remove_rate("call")
        assert (removed.type, removed.amount, removed.left) == ("call", 1, 0)
        assert await queue.rates() == []
        assert await count(queue) == 2
        with pytest.raises(NotFound) as caught:
            await queue.remove_rate("call")
        assert caught.value.field == "type"

    async def test_other_types_go_on_and_nothing_is_parked(self, queue: Queue) -> None:
        await queue.set_rate("call", "1/hour")
        await queue.add_many([*(NewTask("call", priority=1) for _ in range(30)), NewTask("code")])
        claims = await queue.claim("ada", limit=5)
        assert [claim.task.type for claim in claims] == ["call", "code"]
        assert all(task.parked_on is None for task in (await queue.find(limit=100)).items)

    async def test_all_lanes_of_a_type_share_its_rate(self, queue: Queue) -> None:
        await queue.set_rate("call", "3/min")
        await queue.add_many([NewTask("call", boost=boost) for boost in (0.0, 0.1, 5.0) for _ in range(3)])
        assert await count(queue) == 3

    async def test_every_time_a_task_is_handed_out_counts(self, queue: Queue) -> None:
        await queue.set_rate("call", "2/min")
        await queue.add("call")
        await queue.release(await take(queue))
        await queue.release(await take(queue))
        assert await nothing(queue)

    async def test_a_claim_that_is_asked_for_again_takes_nothing_more(self, queue: Queue) -> None:
        await queue.set_rate("call", "2/min")
        await queue.add_many([NewTask("call") for _ in range(3)])
        first = await queue.claim("ada", claim_id="once")
        assert [claim.task.id for claim in await queue.claim("ada", claim_id="once")] == [first[0].task.id]
        assert [rate.left for rate in await queue.rates()] == [1]

    async def test_slots_and_a_rate_hold_together(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_rate("call", "3/min")
        await queue.set_slots(type="call", slots=2)
        await queue.add_many([NewTask("call") for _ in range(9)])
        claims = await queue.claim("ada", limit=9, lease=3600)
        assert len(claims) == 2
        for claim in claims:
            await queue.complete(claim)
        assert await count(queue) == 1
        clock.advance(20)
        assert await count(queue) == 1
        clock.advance(20)
        assert await count(queue) == 0

    @pytest.mark.door
    async def test_an_idle_claim_says_when_there_is_a_token_again(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_rate("call", "10/min", burst=1)
        await queue.add_many([NewTask("call") for _ in range(3)])
        await take(queue, lease=3600)
        clock.advance(2)
        claimed = await queue.store.claim(ClaimRequest(agent="ada"))
        assert (claimed.claims, claimed.next_due_in) == ([], 4.0)

    async def test_a_new_rate_begins_where_the_old_one_was(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_rate("call", "1/hour")
        await queue.add_many([NewTask("call") for _ in range(9)])
        assert await count(queue) == 1
        made = await queue.set_rate("call", "6/min")
        assert made is not None
        assert made.left == 0
        clock.advance(20)
        assert await count(queue) == 2
        assert await queue.set_rate("call", None) is None
        assert await queue.rates() == []
        assert await count(queue) == 6

    @pytest.mark.door
    @pytest.mark.routing
    async def test_racing_claims_share_the_tokens(self, queue: Queue, other: Queue) -> None:
        await queue.add_many([NewTask("call") for _ in range(20)])
        assert await count(other, 1) == 1
        await queue.set_rate("call", "4/hour")
        claims = await asyncio.gather(
            *((queue if number % 2 else other).claim(f"agent-{number}", limit=2) for number in range(10))
        )
        assert sum(map(len, claims)) == 4
        assert [rate.left for rate in await other.rates()] == [0]

    async def test_gates_and_why_say_when_it_goes_on(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_rate("call", "1/min")
        tasks = await queue.add_many([NewTask("call"), NewTask("call")])
        assert await queue.gates() == []
        await take(queue)
        [gate] = await queue.gates()
        assert (gate.gate, gate.kind, gate.reason) == ("rate:call", "rate", "its rate is 1/min")
        assert gate.until == from_micros(clock() + 60_000_000)
        told = await queue.why(tasks[1].id)
        assert told.explanation == (
            "It is ready, but no more tasks of type call are handed out just now (its rate is 1/min); the next one in"
            " 60 s."
        )
        assert [blocker.until for blocker in told.blockers] == [gate.until]

    async def test_rates_that_make_no_sense_are_refused(self, queue: Queue) -> None:
        for field, arguments in (
            ("rate", ("call", "fast")),
            ("rate", ("call", "0/min")),
            ("rate", ("call", "-1/min")),
            ("rate", ("call", "10")),
            ("rate", ("call", "10/fortnight")),
            ("rate", ("call", "1.5/min")),
            ("rate", ("call", 10)),
            ("burst", ("call", "10/min", 0)),
            ("burst", ("call", "10/min", 1.5)),
            ("type", ("", "10/min")),
        ):
            with pytest.raises(Invalid) as refused:
                await queue.set_rate(*arguments)
            assert refused.value.field == field, arguments
        assert await queue.rates() == []
