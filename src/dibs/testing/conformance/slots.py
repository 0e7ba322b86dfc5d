"""Slots of types: so many tasks of a type run at once, and no task is touched for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Invalid
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, nothing, take

if TYPE_CHECKING:
    from dibs.model.claim import Claim
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def held(queue: Queue, type: str = "render") -> tuple[int, int]:
    """How many slots a type has, and how many are taken."""
    found = next(each for each in await queue.type_slots() if each.type == type)
    return found.slots, found.held


async def types(queue: Queue, limit: int = 10) -> list[str]:
    """Claim; the types of what came."""
    return [claim.task.type for claim in await queue.claim("ada", limit=limit)]


class Slots(Topic):
    async def test_no_more_tasks_of_a_type_run_than_it_has_slots(self, queue: Queue) -> None:
        made = await queue.set_slots(type="render", slots=2)
        assert (made.type, made.slots, made.held) == ("render", 2, 0)
        tasks = await queue.add_many([NewTask("render") for _ in range(4)])
        first, _ = await take(queue), await take(queue, agent="bob")
        assert await nothing(queue)
        assert await held(queue) == (2, 2)
        waiting = await queue.get(tasks[2].id)
        assert (waiting.status, waiting.parked_on) == (Status.READY, None)
        await queue.complete(first)
        assert (await take(queue)).task.id == tasks[2].id
        assert await nothing(queue)
        assert await queue.store.check() == []

    async def test_one_claim_of_many_takes_as_many_as_there_are_slots_and_then_others(self, queue: Queue) -> None:
        await queue.set_slots(type="render", slots=2)
        await queue.add_many(
            [
                *(NewTask("render", priority=1) for _ in range(20)),
                *(NewTask("render", priority=1, requires=("gpu",)) for _ in range(20)),
                NewTask("other", priority=90),
                NewTask("last", priority=95),
            ]
        )
        claims = await queue.claim("ada", capabilities=("gpu",), limit=3)
        assert [claim.task.type for claim in claims] == ["render", "render", "other"]
        claims = await queue.claim("ada", capabilities=("gpu",), limit=3)
        assert [claim.task.type for claim in claims] == ["last"]
        assert await held(queue) == (2, 2)

    async def test_all_lanes_of_a_type_share_its_slots(self, queue: Queue) -> None:
        await queue.set_slots(type="render", slots=3)
        await queue.add_many([NewTask("render", boost=boost) for boost in (0.0, 0.1, 5.0) for _ in range(3)])
        assert len(await queue.claim("ada", limit=10)) == 3
        assert await types(queue) == []

    async def test_setting_it_counts_what_runs_already_and_lowering_it_stops_nothing(self, queue: Queue) -> None:
        await queue.add_many([NewTask("render") for _ in range(6)])
        claims = await queue.claim("ada", limit=3)
        assert (await queue.set_slots(type="render", slots=4)).held == 3
        assert await types(queue) == ["render"]
        assert (await queue.set_slots(type="render", slots=2)).held == 4
        await queue.renew(claims[0])
        for claim in claims[:2]:
            await queue.complete(claim)
            assert await nothing(queue)
        await queue.complete(claims[2])
        assert await types(queue) == ["render"]
        assert await held(queue) == (2, 2)

    async def test_without_slots_any_number_runs_again(self, queue: Queue) -> None:
        await queue.set_slots(type="render", slots=1)
        await queue.add_many([NewTask("render") for _ in range(5)])
        assert await types(queue) == ["render"]
        assert await queue.set_slots(type="render", slots=None) is None
        assert await queue.type_slots() == []
        assert len(await types(queue)) == 4

    @pytest.mark.parametrize(
        "way", ["complete", "fail", "release", "rate limit", "expire", "timeout", "cancel", "wait for children", "ask"]
    )
    def test_every_end_of_a_claim_gives_its_slot_back(self, way: str) -> None:
        async def check(_: Topic, queue: Queue, clock: FakeClock) -> None:
            await queue.set_slots(type="render", slots=1)
            task = await queue.add("render", timeout=20 if way == "timeout" else None, priority=1)
            claim = await take(queue, lease=30)
            await queue.add("render", provider="another")
            assert await nothing(queue)
            await _end(queue, clock, way, claim)
            assert await held(queue) == (1, 0)
            if way != "ask":
                await queue.cancel(task.id)
            assert (await take(queue)).task.id != task.id
            assert await queue.store.check() == []

        self.run(check)

    async def test_a_cancelled_task_keeps_its_slot_until_its_agent_has_stopped(self, queue: Queue) -> None:
        await queue.set_slots(type="render", slots=1)
        first, second = await queue.add_many([NewTask("render", priority=1), NewTask("render")])
        claim = await take(queue)
        await queue.cancel(first.id)
        assert await held(queue) == (1, 1)
        assert await nothing(queue)
        with pytest.raises(Exception, match="cancelled"):
            await queue.complete(claim)
        assert (await take(queue)).task.id == second.id

    async def test_racing_claims_share_the_slots(self, queue: Queue, other: Queue) -> None:
        await queue.set_slots(type="render", slots=3)
        await queue.add_many([NewTask("render") for _ in range(20)])
        claims = await asyncio.gather(
            *((queue if number % 2 else other).claim(f"agent-{number}", limit=2) for number in range(10))
        )
        assert sum(map(len, claims)) == 3
        assert await held(queue) == (3, 3)

    @pytest.mark.door
    @pytest.mark.routing
    async def test_slots_hold_at_once_for_every_client(self, queue: Queue, other: Queue) -> None:
        await queue.add_many([NewTask("render") for _ in range(4)])
        assert await types(other, 1) == ["render"]
        await queue.set_slots(type="render", slots=1)
        assert await types(other) == []
        await queue.set_slots(type="render", slots=2)
        assert await types(other) == ["render"]

    async def test_other_types_and_projects_pay_no_heed(self, queue: Queue) -> None:
        await queue.set_slots(type="render", slots=1)
        await queue.add_many([NewTask("render"), NewTask("render"), *(NewTask("code") for _ in range(3))])
        assert sorted(await types(queue)) == ["code", "code", "code", "render"]

    async def test_a_task_without_its_lock_takes_no_slot(self, queue: Queue) -> None:
        await queue.set_slots(type="render", slots=2)
        await queue.add("code", locks=["gpu"], priority=0)
        await take(queue)
        tasks = await queue.add_many(
            [NewTask("render", locks=["gpu"], priority=1), *(NewTask("render", priority=50) for _ in range(3))]
        )
        assert await types(queue) == ["render", "render"]
        assert (await queue.get(tasks[0].id)).parked_on == "gpu"

    async def test_many_without_their_lock_are_parked_before_one_gets_the_slot(self, queue: Queue) -> None:
        await queue.set_slots(type="render", slots=1)
        await queue.add("code", locks=["gpu"], priority=0)
        await take(queue)
        await queue.add_many([NewTask("render", locks=["gpu"], priority=1)] * 400 + [NewTask("render", priority=50)])
        assert [claim.task.locks for claim in await queue.claim("ada", limit=3)] == [()]

    async def test_full_types_are_not_looked_at_so_nothing_is_parked_for_them(self, queue: Queue) -> None:
        await queue.set_slots(type="render", slots=1)
        await queue.add_many([NewTask("render", locks=["gpu"]) for _ in range(3)])
        await take(queue)
        assert await nothing(queue, limit=5)
        assert all(task.parked_on is None for task in (await queue.find()).items)

    async def test_a_slot_and_a_solo_task(self, queue: Queue) -> None:
        await queue.set_slots(type="render", slots=1)
        await queue.add("render", max_attempts=1, priority=1)
        await take(queue)
        await queue.add_many([NewTask("render", max_attempts=1, priority=1), *(NewTask("code") for _ in range(3))])
        assert await types(queue) == ["code", "code", "code"]

    async def test_gates_lanes_and_why_tell_of_it(self, queue: Queue) -> None:
        await queue.set_slots(type="render", slots=1)
        tasks = await queue.add_many([NewTask("render"), NewTask("render"), NewTask("code")])
        assert await queue.gates() == []
        await take(queue)
        [gate] = await queue.gates()
        assert (gate.gate, gate.kind, gate.type) == ("slots:render", "slots", "render")
        assert gate.reason == "1 of 1 tasks of this type run"
        told = await queue.why(tasks[1].id)
        assert told.explanation == "It is ready, but 1 of 1 tasks of this type run."
        [blocker] = told.blockers
        assert (blocker.kind, blocker.ids) == ("gate", ["slots:render"])
        assert "dibs slots --type render 2" in (blocker.help or "")
        lanes = {lane.type: (lane.slots, lane.held) for lane in await queue.lanes()}
        assert lanes == {"render": (1, 1), "code": (None, None)}

    async def test_an_idle_claim_says_when_a_lease_may_free_a_slot(self, queue: Queue) -> None:
        from dibs.stores.values import ClaimRequest

        await queue.set_slots(type="render", slots=1)
        await queue.add_many([NewTask("render"), NewTask("render")])
        await take(queue, lease=30)
        claimed = await queue.store.claim(ClaimRequest(agent="bob"))
        assert (claimed.claims, claimed.next_due_in) == ([], 30.0)

    async def test_slots_that_make_no_sense_are_refused(self, queue: Queue) -> None:
        for field, arguments in (
            ("slots", {"type": "render", "slots": 0}),
            ("slots", {"type": "render", "slots": 1.5}),
            ("slots", {"type": "render", "slots": True}),
            ("type", {"type": "", "slots": 1}),
            ("type", {"type": "a\x00b", "slots": 1}),
            ("type", {"type": "render", "name": "gpu", "slots": 1}),
            ("name", {"slots": 1}),
            ("slots", {"name": "gpu"}),
        ):
            with pytest.raises(Invalid) as refused:
                await queue.set_slots(**arguments)
            assert refused.value.field == field, arguments
        assert await queue.type_slots() == []
        assert await queue.locks() == []


async def _end(queue: Queue, clock: FakeClock, way: str, claim: Claim) -> None:
    """Let a claim end in one of the ways there are."""
    if way == "complete":
        await queue.complete(claim)
    elif way == "fail":
        await queue.fail(claim, "no")
    elif way == "release":
        await queue.release(claim, delay=60)
    elif way == "rate limit":
        await queue.fail(claim, "no", reason="rate_limit", retry_after=0)
        await elapse(queue, clock, 1)
    elif way == "wait for children":
        await queue.spawn(claim, [NewTask("child", priority=99)], wait=True)
    elif way == "ask":
        await queue.ask(claim, "Which one?")
    else:
        if way == "cancel":
            await queue.cancel(claim.task.id)
        await elapse(queue, clock, 31)
