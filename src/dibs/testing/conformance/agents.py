"""Agents: registered or just heard of, limited, drained, unregistered, lost; and who could take what."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Invalid, NotFound
from dibs.model.agent import AgentStatus
from dibs.model.task import NewTask
from dibs.stores.values import ClaimRequest
from dibs.testing.conformance.topic import Topic, elapse, events, nothing, take

if TYPE_CHECKING:
    from dibs.model.views import Agent
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Agents(Topic):
    # Hearing of them

    async def test_a_first_claim_registers_an_agent_once(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("job"), NewTask("job")])
        claim = await take(queue, "job", capabilities=["git"], models=["large"])
        clock.advance(30)
        await take(queue, "job")
        ada = await only(queue)
        assert (ada.id, ada.status, ada.type, ada.max_concurrent) == ("ada", AgentStatus.ACTIVE, None, None)
        assert (ada.types, ada.heard_at, ada.started_at) == (("job",), clock.now, claim.task.claimed_at)
        assert claim.task.id in ada.tasks
        assert len(ada.tasks) == 2
        assert ada.utilisation is None
        assert await told(queue) == ["registered"]

    async def test_an_empty_claim_registers_too(self, queue: Queue) -> None:
        assert await nothing(queue)
        assert (await only(queue)).tasks == []
        [event] = await events(queue)
        assert (event.type, event.agent, event.task_id, event.dag_id) == ("agent.registered", "ada", None, None)

    async def test_a_renewal_is_heard_of(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=600)
        clock.advance(3)
        await queue.renew(claim)
        assert (await only(queue)).heard_at == claim.task.claimed_at
        clock.advance(80)
        await queue.renew(claim)
        assert (await only(queue)).heard_at == clock.now
        await elapse(queue, clock, 80)
        assert (await only(queue)).status is AgentStatus.ACTIVE

    async def test_a_refused_renewal_is_not_heard_of(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue)
        before = (await only(queue)).heard_at
        clock.advance(30)
        await queue.store.renew([])
        with pytest.raises(NotFound):
            await queue.renew(("task_00000000000000000000000000", claim.fence))
        assert (await only(queue)).heard_at == before

    async def test_a_silent_agent_is_lost_once_and_active_when_it_is_heard_again(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        assert await nothing(queue)
        await elapse(queue, clock, 89)
        assert (await only(queue)).status is AgentStatus.ACTIVE
        await elapse(queue, clock, 7)
        await elapse(queue, clock, 60)
        assert (await only(queue)).status is AgentStatus.LOST
        assert await told(queue) == ["registered", "lost"]
        assert await nothing(queue)
        assert (await only(queue)).status is AgentStatus.ACTIVE
        assert await told(queue) == ["registered", "lost", "returned"]

    async def test_a_silent_agent_is_seen_to_be_lost_before_anybody_does_the_duties(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.register_agent("ada")
        await queue.register_agent("grace")
        await queue.unregister_agent("grace")
        clock.advance(90)
        assert [agent.status for agent in await queue.agents()] == ["active", "offline"]
        clock.advance(1)
        assert [agent.status for agent in await queue.agents()] == ["lost", "offline"]
        assert await told(queue) == ["registered"]

    @pytest.mark.door
    async def test_a_lost_agent_returns_with_a_renewal(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, lease=600)
        await elapse(queue, clock, 100)
        assert (await only(queue)).status is AgentStatus.LOST
        await queue.renew(claim)
        assert (await only(queue)).status is AgentStatus.ACTIVE
        assert await told(queue) == ["registered", "lost", "returned"]

    async def test_agents_long_gone_are_forgotten(self, queue: Queue, clock: FakeClock) -> None:
        await queue.register_agent("ada", max_concurrent=1)
        clock.advance(7 * 86_400 + 1)
        await queue.prune()
        assert await queue.agents() == []
        await queue.add_many([NewTask("job"), NewTask("job")])
        assert len(await queue.claim("ada", limit=2)) == 2

    # Registering

    async def test_a_registration_says_who_somebody_is(self, queue: Queue, clock: FakeClock) -> None:
        ada = await queue.register_agent(
            "ada",
            "coder",
            ["git"],
            ["large", "small"],
            3,
            version="1.2",
            host="box",
            pid=7,
            poll="5s",
            concurrency=2,
        )
        assert ada == await only(queue)
        assert (ada.type, ada.capabilities, ada.models, ada.max_concurrent) == (
            "coder",
            ("git",),
            ("large", "small"),
            3,
        )
        assert (ada.version, ada.host, ada.pid, ada.poll_s, ada.concurrency) == ("1.2", "box", 7, 5.0, 2)
        assert (ada.started_at, ada.heard_at, ada.status) == (clock.now, clock.now, AgentStatus.ACTIVE)
        assert (ada.tasks, ada.utilisation) == ([], 0.0)
        assert await told(queue) == ["registered"]

    @pytest.mark.routing
    async def test_registering_again_replaces_and_says_nothing(self, queue: Queue) -> None:
        await queue.register_agent("ada", "coder", ["git"], max_concurrent=3)
        ada = await queue.register_agent("ada", "writer")
        assert (ada.type, ada.capabilities, ada.max_concurrent) == ("writer", (), None)
        assert await told(queue) == ["registered"]

    async def test_what_is_left_out_can_be_kept(self, queue: Queue) -> None:
        await queue.register_agent("ada", "coder", ["git"], max_concurrent=3)
        ada = await queue.register_agent("ada", host="box", pid=7, keep=True)
        assert (ada.type, ada.capabilities, ada.max_concurrent, ada.host) == ("coder", ("git",), 3, "box")

    async def test_what_a_claim_does_not_offer_it_has_from_the_registration(self, queue: Queue) -> None:
        await queue.add("job", requires=["git"], models=["small", "large"])
        assert await nothing(queue, models=["tiny"])
        await queue.register_agent("ada", capabilities=["git"], models=["large"])
        assert await nothing(queue, models=["tiny"])
        assert await nothing(queue, capabilities=["web"])
        assert (await take(queue)).model == "large"
        assert (await only(queue)).capabilities == ("git",)

    async def test_tasks_assigned_to_a_type_are_for_agents_of_that_type(self, queue: Queue, other: Queue) -> None:
        await queue.add("job", assignee="coder")
        await queue.add("job", assignee="ada")
        await take(queue)
        assert await nothing(queue)
        await other.register_agent("ada", "coder")
        await take(queue)
        await queue.add("job", assignee="coder")
        await other.register_agent("ada", "writer")
        assert await nothing(queue)
        assert await nothing(queue, agent="bob")

    # Limits

    async def test_an_agent_never_holds_more_than_it_may(self, queue: Queue) -> None:
        await queue.register_agent("ada", max_concurrent=2)
        await queue.add_many([NewTask("job") for _ in range(5)])
        first, _ = await queue.claim("ada", limit=10)
        assert await nothing(queue)
        assert (await queue.store.claim(ClaimRequest(agent="ada"))).reason == "max_concurrent"
        assert (await only(queue)).utilisation == 1.0
        assert len(await queue.claim("bob", limit=2)) == 2
        await queue.complete(first)
        assert len(await queue.claim("ada", limit=10)) == 1

    @pytest.mark.door
    async def test_racing_claims_never_hold_more_than_the_agent_may(self, queue: Queue, other: Queue) -> None:
        await queue.register_agent("ada", max_concurrent=3)
        await queue.add_many([NewTask("job") for _ in range(30)])
        racing = [(queue, other)[number % 2].claim("ada", limit=1 + number % 3) for number in range(20)]
        taken = [claim for claims in await asyncio.gather(*racing) for claim in claims]
        assert len(taken) == 3
        assert len((await only(queue)).tasks) == 3

    @pytest.mark.parametrize("end", ["complete", "fail", "release", "cancel", "expire", "suspend"])
    def test_every_way_a_claim_ends_makes_room(self, end: str) -> None:
        async def test(self: Agents, queue: Queue, clock: FakeClock) -> None:
            await queue.register_agent("ada", max_concurrent=1)
            task = await queue.add("job")
            claim = await take(queue)
            await queue.add("other")
            assert await nothing(queue, "other")
            if end == "complete":
                await queue.complete(claim)
            elif end == "fail":
                await queue.fail(claim, "no")
            elif end == "release":
                await queue.release(claim)
            elif end == "cancel":
                await queue.cancel(task.id)
            elif end == "suspend":
                await queue.spawn(claim, [NewTask("child")], wait=True)
            else:
                await elapse(queue, clock, 70)
            await take(queue, "other")

        self.run(test)

    async def test_a_repeated_claim_is_answered_although_there_is_no_room(self, queue: Queue) -> None:
        await queue.register_agent("ada", max_concurrent=1)
        await queue.add("job")
        claim = await take(queue, claim_id="once")
        assert [again.task.id for again in await queue.claim("ada", claim_id="once")] == [claim.task.id]
        await queue.drain_agent("ada")
        assert [again.task.id for again in await queue.claim("ada", claim_id="once")] == [claim.task.id]

    async def test_a_lowered_limit_stops_new_claims_only(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job") for _ in range(5)])
        held = await queue.claim("ada", limit=3)
        await queue.register_agent("ada", max_concurrent=1)
        assert await nothing(queue)
        for claim in held[:2]:
            await queue.renew(claim)
            await queue.complete(claim)
        assert await nothing(queue)
        await queue.complete(held[2])
        await take(queue)

    # Draining and leaving

    async def test_a_draining_agent_gets_nothing_new(self, queue: Queue, other: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("job"), NewTask("job")])
        claim = await take(queue)
        ada = await other.drain_agent("ada")
        assert (ada.status, ada.tasks) == (AgentStatus.DRAINING, [claim.task.id])
        assert await nothing(queue)
        assert (await queue.store.claim(ClaimRequest(agent="ada"))).reason == "draining"
        await queue.renew(claim)
        await elapse(queue, clock, 6)
        assert await told(queue) == ["registered"]
        await queue.complete(claim)
        await elapse(queue, clock, 6)
        await elapse(queue, clock, 6)
        await other.drain_agent("ada")
        assert await told(queue) == ["registered", "drained"]
        assert await nothing(queue)
        await take(queue, agent="bob")

    async def test_an_idle_agent_is_drained_at_once(self, queue: Queue) -> None:
        assert await nothing(queue)
        assert (await queue.drain_agent("ada")).status is AgentStatus.DRAINING
        assert await told(queue) == ["registered", "drained"]

    async def test_registering_ends_a_drain(self, queue: Queue) -> None:
        await queue.add("job")
        await queue.register_agent("ada")
        await queue.drain_agent("ada")
        assert await nothing(queue)
        assert (await queue.register_agent("ada")).status is AgentStatus.ACTIVE
        assert await told(queue) == ["registered", "drained", "returned"]
        await take(queue)

    async def test_a_draining_agent_that_falls_silent_is_lost_and_still_draining_when_it_returns(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add_many([NewTask("job"), NewTask("job")])
        claim = await take(queue, lease=600)
        await queue.drain_agent("ada")
        await elapse(queue, clock, 100)
        assert (await only(queue)).status is AgentStatus.LOST
        await queue.renew(claim)
        assert (await only(queue)).status is AgentStatus.DRAINING
        assert await nothing(queue)

    async def test_an_unregistered_agent_is_offline_and_never_lost(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        await queue.register_agent("ada", host="box", pid=7)
        claim = await take(queue, lease=3600)
        gone = await queue.unregister_agent("ada", "the night is over")
        assert (gone.status, gone.reason, gone.tasks) == (AgentStatus.OFFLINE, "the night is over", [claim.task.id])
        await queue.unregister_agent("ada", "again")
        await elapse(queue, clock, 200)
        assert await told(queue) == ["registered", "unregistered"]
        assert (await events(queue))[-1].reason == "the night is over"
        await queue.complete(claim)

    async def test_an_offline_agent_returns_with_a_claim_as_what_it_was_registered(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.register_agent("ada", "coder", max_concurrent=1, host="box", pid=7)
        await queue.unregister_agent("ada")
        clock.advance(2)
        await queue.add_many([NewTask("job", assignee="coder"), NewTask("job")])
        assert len(await queue.claim("ada", limit=2)) == 1
        ada = await only(queue)
        assert (ada.status, ada.type, ada.max_concurrent) == (AgentStatus.ACTIVE, "coder", 1)
        assert (ada.host, ada.pid, ada.started_at) == (None, None, clock.now)
        assert await told(queue) == ["registered", "unregistered", "returned"]

    async def test_unregistering_ends_a_drain(self, queue: Queue) -> None:
        await queue.add("job")
        await queue.register_agent("ada")
        await queue.drain_agent("ada")
        await queue.unregister_agent("ada")
        await take(queue)
        assert (await only(queue)).status is AgentStatus.ACTIVE

    # Reading

    async def test_agents_are_listed_by_name_with_what_they_hold(self, queue: Queue) -> None:
        tasks = await queue.add_many([NewTask("job") for _ in range(4)])
        await queue.claim("bob", limit=1)
        await queue.claim("ada", limit=2)
        await queue.register_agent("eve")
        assert [(agent.id, agent.tasks) for agent in await queue.agents()] == [
            ("ada", [tasks[1].id, tasks[2].id]),
            ("bob", [tasks[0].id]),
            ("eve", []),
        ]
        assert (await queue.stats()).agents == await queue.agents()

    async def test_lanes_say_who_can_serve_them(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("plain")
        await queue.add("gpu", requires=["gpu"])
        await queue.add("mine", assignee="coder")
        await queue.claim("ada", types=["nothing"])
        await queue.register_agent("bob", "coder")
        await queue.register_agent("cleo")
        await queue.drain_agent("cleo")
        await queue.register_agent("dan")
        await queue.unregister_agent("dan")
        lanes = {lane.type: lane for lane in await queue.lanes()}
        assert {type: lane.agents for type, lane in lanes.items()} == {"plain": ["bob"], "gpu": [], "mine": ["bob"]}
        assert (lanes["gpu"].ready, lanes["gpu"].oldest_ready_at) == (1, clock.now)
        clock.advance(100)
        assert [lane.agents for lane in await queue.lanes()] == [[], [], []]

    async def test_why_says_what_would_help(self, queue: Queue) -> None:
        task = await queue.add("job", requires=["gpu"])
        await queue.register_agent("bob", max_concurrent=1, capabilities=["web"])
        assert (await queue.why(task.id)).blockers[0].help == "start an agent with capability gpu"
        await queue.register_agent("ada", max_concurrent=1, capabilities=["gpu"])
        assert (await queue.why(task.id)).blockers == []
        await queue.add("job", priority=0)
        await take(queue)
        [full] = (await queue.why(task.id)).blockers
        assert (full.kind, "ada (1 of 1)" in full.detail) == ("gate", True)
        await queue.drain_agent("ada")
        [drains] = (await queue.why(task.id)).blockers
        assert "draining" in drains.detail
        await queue.unregister_agent("ada")
        assert (await queue.why(task.id)).blockers[0].help == "start an agent with capability gpu"

    # Mistakes

    async def test_an_agent_that_nobody_knows_is_not_found(self, queue: Queue) -> None:
        for refused in (queue.drain_agent("ada"), queue.unregister_agent("ada")):
            with pytest.raises(NotFound) as caught:
                await refused
            assert caught.value.field == "agent"
        assert await queue.agents() == []

    @pytest.mark.parametrize(
        ("field", "options"),
        [
            ("agent", {"agent": ""}),
            ("agent", {"agent": "a\x00"}),
            ("agent", {"agent": 7}),
            ("type", {"type": ""}),
            ("type", {"type": "x" * 201}),
            ("capabilities", {"capabilities": "git"}),
            ("capabilities", {"capabilities": [7]}),
            ("models", {"models": [""]}),
            ("max_concurrent", {"max_concurrent": 0}),
            ("max_concurrent", {"max_concurrent": "2"}),
            ("max_concurrent", {"max_concurrent": True}),
            ("budget", {"budget": -1.0}),
            ("version", {"version": "\ud800"}),
            ("host", {"host": 1}),
            ("pid", {"pid": -1}),
            ("poll", {"poll": "soon"}),
            ("concurrency", {"concurrency": 0}),
            ("keep", {"keep": "yes"}),
        ],
    )
    def test_a_registration_that_makes_no_sense_changes_nothing(self, field: str, options: dict[str, Any]) -> None:
        async def test(self: Agents, queue: Queue) -> None:
            await queue.register_agent("ada", max_concurrent=2)
            before = await queue.agents()
            with pytest.raises(Invalid) as caught:
                await queue.register_agent(**{"agent": "ada", **options})
            assert caught.value.field == field
            assert await queue.agents() == before
            assert await told(queue) == ["registered"]

        self.run(test)

    async def test_a_reason_must_be_text(self, queue: Queue) -> None:
        await queue.register_agent("ada")
        with pytest.raises(Invalid) as caught:
            await queue.unregister_agent("ada", 7)  # type: ignore[arg-type]
        assert caught.value.field == "reason"
        assert (await only(queue)).status is AgentStatus.ACTIVE


async def only(queue: Queue, id: str = "ada") -> Agent:
    """What is known of one agent."""
    return next(agent for agent in await queue.agents() if agent.id == id)


async def told(queue: Queue, agent: str = "ada") -> list[str]:
    """What happened to an agent: event types without their first word."""
    return [
        event.type.partition(".")[2]
        for event in await events(queue)
        if event.type.startswith("agent.") and event.agent == agent
    ]
