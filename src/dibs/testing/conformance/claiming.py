"""Claiming: who gets what, what a claim carries, and that nothing is handed out twice."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Invalid, LeaseLost
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, finish, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Claiming(Topic):
    async def test_a_claim_starts_the_work_and_grants_a_lease(self, queue: Queue, clock: FakeClock) -> None:
        added = await queue.add("job")
        clock.advance(3)
        claim = await take(queue, agent="ada", lease=90)
        assert (claim.task.id, claim.agent, claim.fence) == (added.id, "ada", 1)
        assert claim.lease_expires_at == clock.now + timedelta(seconds=90)
        task = await queue.get(added.id)
        assert (task.status, task.agent, task.fence) == (Status.RUNNING, "ada", 1)
        assert task.claimed_at == task.started_at == clock.now
        assert task.lease_expires_at == claim.lease_expires_at
        assert await story(queue, task.id) == ["added", "ready", "claimed", "started"]

    async def test_a_claim_without_start_waits_for_start(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        claim = await take(queue, start=False)
        task = await queue.get(claim.task.id)
        assert (task.status, task.started_at) == (Status.CLAIMED, None)
        clock.advance(2)
        await queue.start(claim)
        task = await queue.get(task.id)
        assert (task.status, task.started_at) == (Status.RUNNING, clock.now)
        await queue.start(claim)
        assert (await story(queue, task.id)).count("started") == 1

    @pytest.mark.door
    async def test_nothing_ready_gives_an_empty_list(self, queue: Queue) -> None:
        assert await queue.claim("ada") == []

    async def test_a_held_task_is_not_handed_out_again(self, queue: Queue) -> None:
        await queue.add("job")
        await take(queue)
        assert await nothing(queue, agent="bob")

    async def test_a_limit_is_kept(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job") for _ in range(5)])
        assert len(await queue.claim("ada", limit=3)) == 3
        assert len(await queue.claim("ada", limit=3)) == 2

    async def test_only_the_types_asked_for(self, queue: Queue) -> None:
        await queue.add_many([NewTask("a"), NewTask("b"), NewTask("c")])
        claims = await queue.claim("ada", types=["a", "c"], limit=10)
        assert sorted(claim.task.type for claim in claims) == ["a", "c"]

    async def test_every_required_capability_is_needed(self, queue: Queue) -> None:
        await queue.add("job", requires=["web", "code"])
        assert await nothing(queue)
        assert await nothing(queue, capabilities=["web"])
        await take(queue, capabilities=["code", "mail", "web"])

    async def test_an_assigned_task_waits_for_its_assignee(self, queue: Queue) -> None:
        await queue.add("job", assignee="bob")
        assert await nothing(queue, agent="ada")
        await take(queue, agent="bob")

    async def test_an_agent_must_offer_one_of_the_models(self, queue: Queue) -> None:
        await queue.add("job", models=["large", "small"])
        assert await nothing(queue, models=["tiny"])
        assert (await take(queue, models=["small", "tiny"])).model == "small"

    async def test_the_first_preferred_model_is_chosen(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", models=["large", "small"]) for _ in range(2)])
        assert (await take(queue, models=["small", "large"])).model == "large"
        assert (await take(queue)).model == "large"

    async def test_a_task_without_models_suits_everybody(self, queue: Queue) -> None:
        await queue.add("job")
        assert (await take(queue, models=["small"])).model is None

    async def test_fallback_models_take_over_after_the_second_failed_attempt(self, queue: Queue) -> None:
        await queue.add("job", models=["large"], fallback_models=["tiny"], max_attempts=5, retry="immediate")
        for error in ("first", "second"):
            assert await nothing(queue, models=["tiny"])
            claim = await take(queue, models=["large"])
            assert claim.model == "large"
            await queue.fail(claim, error)
        assert await nothing(queue, models=["large"])
        assert (await take(queue, models=["tiny"])).model == "tiny"

    async def test_the_fence_counts_claims_and_nothing_resets_it(self, queue: Queue) -> None:
        task = await queue.add("job", retry="immediate", max_attempts=2)
        await queue.release(await take(queue))
        for fence in (2, 3):
            claim = await take(queue)
            assert claim.fence == fence
            await queue.fail(claim, "no")
        await queue.retry(task.id)
        assert (await take(queue)).fence == 4

    async def test_inputs_are_keyed_by_ref_else_id(self, queue: Queue) -> None:
        one = await queue.add("one")
        two, _ = await queue.add_many([NewTask("two", ref="second"), NewTask("join", after=[one, "second"])])
        await finish(queue, "one", {"n": 1})
        await finish(queue, "two", [2])
        assert (await take(queue, "join")).inputs == {one.id: {"n": 1}, "second": [2]}
        assert two.ref == "second"

    async def test_previous_attempts_are_the_last_ten_oldest_first(self, queue: Queue) -> None:
        await queue.add("job", max_attempts=20, retry="immediate")
        for number in range(12):
            await queue.fail(await take(queue, agent="ada"), f"error {chr(97 + number)}")
        previous = (await take(queue)).previous_attempts
        assert [attempt.number for attempt in previous] == list(range(3, 13))
        assert [attempt.error for attempt in previous] == [f"error {chr(97 + number)}" for number in range(2, 12)]

    async def test_progress_and_note_start_afresh_with_each_claim(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.renew(claim, progress=0.7, note="nearly")
        await queue.release(claim)
        task = (await take(queue)).task
        task = await queue.get(task.id)
        assert (task.progress, task.note) == (None, None)

    async def test_a_claim_id_of_another_agent_returns_nothing_of_theirs(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job") for _ in range(3)])
        first = await queue.claim("ada", limit=2, claim_id="once")
        assert await queue.claim("bob", limit=2, claim_id="once") == []
        again = await queue.claim("ada", limit=2, claim_id="once")
        assert [claim.task.id for claim in again] == [claim.task.id for claim in first]

    async def test_a_claim_carries_the_context_of_its_task(self, queue: Queue) -> None:
        context = {"files": ["a.py"], "goal": "fix"}
        await queue.add("job", context=context, retry="immediate")
        await queue.add("plain")
        claim = await take(queue, "job", claim_id="once")
        assert (claim.context, claim.task.context) == (context, context)
        (same,) = await queue.claim("ada", types=["job"], claim_id="once")
        assert same.context == context
        await queue.fail(claim, "no")
        assert (await take(queue, "job")).context == context
        assert (await take(queue, "plain")).context is None

    @pytest.mark.door
    @pytest.mark.routing
    async def test_repeating_a_claim_id_returns_the_same_claims(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", number) for number in range(4)])
        first = await queue.claim("ada", limit=2, claim_id="once")
        again = await queue.claim("ada", limit=2, claim_id="once")
        assert [(claim.task.id, claim.fence) for claim in again] == [(claim.task.id, claim.fence) for claim in first]
        assert [claim.task.payload for claim in again] == [0, 1]
        assert len(await queue.claim("ada", limit=10, claim_id="twice")) == 2

    async def test_a_repeated_claim_leaves_out_what_is_no_longer_held(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job"), NewTask("job")])
        done, held = await queue.claim("ada", limit=2, claim_id="once")
        await queue.complete(done)
        again = await queue.claim("ada", limit=2, claim_id="once")
        assert [claim.task.id for claim in again] == [held.task.id]

    @pytest.mark.door
    async def test_an_empty_claim_may_find_something_when_repeated(self, queue: Queue) -> None:
        assert await queue.claim("ada", claim_id="early") == []
        await queue.add("job")
        assert len(await queue.claim("ada", claim_id="late")) == 1

    async def test_a_task_with_one_attempt_is_handed_out_alone(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", 1), NewTask("job", 2, max_attempts=1), NewTask("job", 3)])
        batches = [[claim.task.payload for claim in await queue.claim("ada", limit=3)] for _ in range(3)]
        assert batches == [[1], [2], [3]]

    @pytest.mark.door
    async def test_a_waiting_claim_is_woken_by_an_add(self, queue: Queue) -> None:
        waiting = asyncio.create_task(queue.claim("ada", wait=60))
        await asyncio.sleep(0.05)
        task = await queue.add("job")
        async with asyncio.timeout(50):
            claims = await waiting
        assert [claim.task.id for claim in claims] == [task.id]

    @pytest.mark.door
    @pytest.mark.routing
    async def test_a_waiting_claim_is_woken_by_another_client(self, queue: Queue, other: Queue) -> None:
        waiting = asyncio.create_task(queue.claim("ada", wait=60))
        await asyncio.sleep(0.05)
        task = await other.add("job")
        async with asyncio.timeout(50):
            claims = await waiting
        assert [claim.task.id for claim in claims] == [task.id]

    @pytest.mark.door
    @pytest.mark.routing
    async def test_two_clients_never_get_the_same_task(self, queue: Queue, other: Queue) -> None:
        tasks = await queue.add_many([NewTask("job") for _ in range(60)])

        async def drain(client: Queue, agent: str) -> list[str]:
            taken: list[str] = []
            while claims := await client.claim(agent, limit=7):
                taken += [claim.task.id for claim in claims]
            return taken

        one, two = await asyncio.gather(drain(queue, "ada"), drain(other, "bob"))
        assert sorted(one + two) == sorted(task.id for task in tasks)

    async def test_a_plain_task_and_fence_will_do_for_a_claim(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.renew((claim.task.id, claim.fence))
        await queue.complete((claim.task.id, claim.fence), "done")
        assert (await queue.get(claim.task.id)).output == "done"

    async def test_starting_after_the_end_is_refused(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.complete(claim)
        with pytest.raises(LeaseLost):
            await queue.start(claim)
        assert await status(queue, claim.task) == Status.COMPLETED

    @pytest.mark.parametrize("lease", [0, 0.5, 86_401, -1, float("nan"), "soon"])
    def test_a_lease_out_of_bounds_is_refused(self, lease: object) -> None:
        async def check(_: Topic, queue: Queue) -> None:
            await queue.add("job")
            with pytest.raises(Invalid) as caught:
                await queue.claim("ada", lease=lease)
            assert caught.value.field == "lease"
            await take(queue)

        self.run(check)
