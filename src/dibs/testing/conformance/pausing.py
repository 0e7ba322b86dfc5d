"""Pauses: nothing more of a type or lane, to an agent, or at all is handed out, and no task is touched for it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import DibsError, NotFound
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.stores.values import ClaimRequest
from dibs.testing.conformance.topic import Topic, elapse, events, nothing, status, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def due_in(queue: Queue, **options: Any) -> float | None:
    """What a claim that finds nothing says about when to ask again."""
    claimed = await queue.store.claim(ClaimRequest(agent="ada", **options))
    assert claimed.claims == []
    return claimed.next_due_in


async def lane_of(queue: Queue, type: str) -> int:
    """The number of the one lane of a type."""
    [lane] = [lane.id for lane in (await queue.stats()).lanes if lane.type == type]
    return lane


async def gate_events(queue: Queue) -> list[tuple[str, str | None, dict[str, Any]]]:
    return [(event.type, event.reason, event.data) for event in await events(queue) if event.type.startswith("gate.")]


class Pausing(Topic):
    async def test_a_paused_type_is_not_handed_out_and_others_are(self, queue: Queue) -> None:
        await queue.add("code", priority=0)
        await queue.add("research")
        closure = await queue.pause("code", reason="the build is broken", by="human:grace")
        assert (closure.gate, closure.kind, closure.type) == ("type:code", "pause", "code")
        assert (await take(queue)).task.type == "research"
        assert await nothing(queue)
        assert await queue.resume("code")
        assert (await take(queue)).task.type == "code"

    async def test_pausing_touches_no_task(self, queue: Queue, clock: FakeClock) -> None:
        tasks = await queue.add_many([NewTask("code", number) for number in range(300)])
        last = await queue.store.last_seq()
        clock.advance(1)
        await queue.pause("code")
        assert await nothing(queue)
        found = [task for task in await queue.store.get([task.id for task in tasks]) if task]
        assert {(task.status, task.updated_at) for task in found} == {(Status.READY, tasks[0].created_at)}
        told = [event.type for event in await events(queue, after=last)]
        assert [type for type in told if not type.startswith("agent.")] == ["gate.closed"]

    async def test_what_is_being_worked_on_goes_on(self, queue: Queue) -> None:
        await queue.add("code")
        claim = await take(queue)
        await queue.pause(everything=True)
        await queue.renew(claim, progress=0.5)
        await queue.complete(claim, "done")
        assert await status(queue, claim.task) == Status.COMPLETED

    async def test_a_repeated_claim_answers_as_before(self, queue: Queue) -> None:
        await queue.add("code")
        claim = await take(queue, claim_id="once")
        await queue.pause("code")
        [again] = await queue.claim("ada", claim_id="once")
        assert (again.task.id, again.fence) == (claim.task.id, claim.fence)

    async def test_a_paused_agent_gets_nothing_and_others_do(self, queue: Queue) -> None:
        await queue.add("code")
        await queue.pause(agent="ada")
        assert await nothing(queue, agent="ada")
        await take(queue, agent="bob")
        assert [event.agent for event in await events(queue) if event.type == "gate.closed"] == ["ada"]

    async def test_everything_can_be_paused(self, queue: Queue) -> None:
        await queue.add("code")
        await queue.add("research")
        await queue.pause(everything=True)
        assert await nothing(queue)
        assert await nothing(queue, agent="bob")
        assert await queue.resume(everything=True)
        assert len(await queue.claim("ada", limit=5)) == 2

    async def test_a_paused_lane_leaves_the_other_lanes_of_its_type(self, queue: Queue) -> None:
        await queue.add("code", priority=0)
        lane = await lane_of(queue, "code")
        gpu = await queue.add("code", requires=["gpu"])
        closure = await queue.pause(lane=lane)
        assert (closure.gate, closure.lane) == (f"lane:{lane}", lane)
        claim = await take(queue, capabilities=["gpu"])
        assert claim.task.id == gpu.id
        assert await nothing(queue, capabilities=["gpu"])
        assert await queue.resume(lane=lane)
        await take(queue)

    async def test_a_lane_that_does_not_exist_cannot_be_paused(self, queue: Queue) -> None:
        await queue.add("code")
        with pytest.raises(NotFound) as caught:
            await queue.pause(lane=9_999)
        assert caught.value.field == "lane"
        assert await queue.gates() == []
        await take(queue)

    async def test_tasks_added_later_wait_too_also_in_a_new_lane(self, queue: Queue) -> None:
        await queue.pause("code")
        await queue.add("code")
        await queue.add("code", requires=["gpu"], boost=5)
        assert await nothing(queue, capabilities=["gpu"])
        await queue.resume("code")
        assert len(await queue.claim("ada", capabilities=["gpu"], limit=5)) == 2

    @pytest.mark.door
    @pytest.mark.routing
    async def test_other_processes_know_at_once(self, queue: Queue, other: Queue) -> None:
        await queue.add_many([NewTask("code") for _ in range(4)])
        await take(queue)
        await take(other)
        await other.pause("code")
        assert await nothing(queue)
        await queue.resume("code")
        await take(other)
        await take(queue)

    async def test_several_pauses_must_all_end(self, queue: Queue) -> None:
        await queue.add("code")
        await queue.pause("code")
        await queue.pause(everything=True)
        await queue.resume(everything=True)
        assert await nothing(queue)
        assert await queue.resume("code")
        await take(queue)

    @pytest.mark.door
    async def test_a_pause_ends_by_itself_at_its_instant(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("code")
        closure = await queue.pause("code", until="90s")
        assert (closure.since, closure.until) == (clock.now, clock.now + timedelta(seconds=90))
        assert await due_in(queue) == 90
        clock.advance(60)
        assert await nothing(queue)
        assert await due_in(queue) == 30
        clock.advance(30)
        # By the store alone: no duty has run since.
        assert len((await queue.store.claim(ClaimRequest(agent="ada"))).claims) == 1
        assert [(type, reason) for type, reason, _ in await gate_events(queue)] == [
            ("gate.closed", None),
            ("gate.opened", "until"),
        ]
        assert await queue.gates() == []

    async def test_the_end_of_a_pause_is_noted_by_the_duty_too(self, queue: Queue, clock: FakeClock) -> None:
        await queue.pause("code", until="10s")
        await elapse(queue, clock, 11)
        assert [type for type, _, _ in await gate_events(queue)] == ["gate.closed", "gate.opened"]
        assert not await queue.resume("code")

    async def test_a_lane_opens_when_the_last_of_its_pauses_ends(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("code")
        await queue.pause("code", until="20s")
        await queue.pause(agent="ada", until="50s")
        assert await due_in(queue) == 50
        await queue.pause(everything=True)
        assert await due_in(queue) is None
        await queue.resume(everything=True)
        clock.advance(50)
        await take(queue)

    async def test_what_agents_cannot_serve_is_no_reason_to_ask_again(self, queue: Queue) -> None:
        await queue.add("code")
        await queue.pause("code", until="20s")
        assert await due_in(queue, types=("research",)) is None

    async def test_pausing_again_replaces_the_end_and_keeps_the_beginning(self, queue: Queue, clock: FakeClock) -> None:
        first = await queue.pause("code", until="1m", reason="one")
        clock.advance(5)
        second = await queue.pause("code", reason="two")
        assert (second.since, second.until, second.reason) == (first.since, None, "two")
        assert await queue.pause("code", reason="two") == second
        assert len(await gate_events(queue)) == 2
        assert await queue.gates() == [second]

    async def test_resuming_what_was_not_paused_says_so(self, queue: Queue) -> None:
        assert not await queue.resume("code")
        assert not await queue.resume(everything=True)
        assert await gate_events(queue) == []

    async def test_gates_lists_what_is_closed_and_how_to_open_it(self, queue: Queue, clock: FakeClock) -> None:
        await queue.pause("code", reason="broken", by="human:grace", until="1h")
        await queue.pause(agent="ada")
        await queue.open_breaker("research")
        found = await queue.gates()
        assert [(closure.gate, closure.kind, closure.help) for closure in found] == [
            ("agent:ada", "pause", "dibs resume --agent ada"),
            ("type:code", "pause", "dibs resume --type code"),
            ("breaker:research", "breaker", "dibs breaker close research"),
        ]
        code = found[1]
        assert (code.by, code.reason, code.until) == ("human:grace", "broken", clock.now + timedelta(hours=1))
        told = [data for _, _, data in await gate_events(queue)]
        assert told[0]["gate"] == "type:code"
        assert told[0]["by"] == "human:grace"
        assert told[0]["until"].startswith((clock.now + timedelta(hours=1)).isoformat()[:19])

    async def test_why_names_the_gate_and_what_opens_it(self, queue: Queue) -> None:
        task = await queue.add("code")
        await nothing(queue, "research")
        lane = await lane_of(queue, "code")
        for options, help in (
            ({"type": "code"}, "dibs resume --type code"),
            ({"lane": lane}, f"dibs resume --lane {lane}"),
            ({"everything": True}, "dibs resume --everything"),
        ):
            await queue.pause(**options, until="1h")
            [blocker] = (await queue.why(task.id)).blockers
            assert (blocker.kind, blocker.help, blocker.until is not None) == ("gate", help, True)
            await queue.resume(**options)
        await nothing(queue)
        assert (await queue.why(task.id)).blockers[0].kind != "gate"

    async def test_why_tells_that_all_who_could_do_it_are_paused(self, queue: Queue) -> None:
        await nothing(queue, agent="ada")
        task = await queue.add("code")
        assert (await queue.why(task.id)).blockers == []
        await queue.pause(agent="ada")
        [blocker] = (await queue.why(task.id)).blockers
        assert (blocker.kind, blocker.help) == ("gate", "dibs resume --agent ada")

    @pytest.mark.parametrize(
        ("field", "options"),
        [
            ("type", {}),
            ("agent", {"type": "code", "agent": "ada"}),
            ("everything", {"type": "code", "everything": True}),
            ("everything", {"everything": "yes"}),
            ("type", {"type": " "}),
            ("type", {"type": "a\0"}),
            ("lane", {"lane": 0}),
            ("lane", {"lane": "code"}),
            ("agent", {"agent": "x" * 201}),
            ("reason", {"type": "code", "reason": "x" * 4_001}),
            ("by", {"type": "code", "by": ""}),
            ("until", {"type": "code", "until": "tomorrow"}),
            ("until", {"type": "code", "until": 0}),
            ("until", {"type": "code", "until": "2020-01-01T00:00:00+00:00"}),
        ],
        ids=str,
    )
    def test_a_pause_that_makes_no_sense_is_refused_by_field(self, field: str, options: dict[str, Any]) -> None:
        async def check(_: Topic, queue: Queue) -> None:
            with pytest.raises(DibsError) as caught:
                await queue.pause(**options)
            assert (caught.value.field, caught.value.exit_code) == (field, 2)
            assert await queue.gates() == []
            assert await queue.store.last_seq() == 0

        self.run(check)
