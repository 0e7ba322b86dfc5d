"""Adding tasks: what is kept, when it becomes ready, and that a call happens wholly or not at all."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Invalid, NotFound
from dibs.model.ids import dag_of
from dibs.model.retry import Retry
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Adding(Topic):
    async def test_a_new_task_is_ready_and_has_the_documented_defaults(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("research", {"topic": "CORS"})
        assert task.status == Status.READY
        assert (task.type, task.payload) == ("research", {"topic": "CORS"})
        assert (task.priority, task.boost, task.max_attempts, task.on_deadline) == (50, 0.1, 3, "keep")
        assert (task.fence, task.attempts, task.crashes) == (0, 0, 0)
        assert task.created_at == task.ready_at == clock.now
        assert task.dag_id == dag_of(task.id)
        assert (task.output, task.error, task.agent, task.key, task.parent_id) == (None, None, None, None, None)

    async def test_what_was_asked_for_is_kept(self, queue: Queue, clock: FakeClock) -> None:
        wanted: dict[str, Any] = {
            "title": "Look it up\nproperly",
            "priority": 12.5,
            "boost": 5,
            "requires": ["web", "code"],
            "assignee": "ada",
            "models": ["large", "small"],
            "fallback_models": ["tiny"],
            "provider": "acme",
            "max_attempts": 7,
            "retry": Retry(strategy="linear", delay=3, cap=60, jitter=0.1),
            "timeout": "5m",
            "tags": ["b", "a"],
            "user": "grace",
            "created_by": "hopper",
            "context": {"goal": "know"},
            "deadline": clock.now + timedelta(hours=1),
            "on_deadline": "cancel",
        }
        task = await queue.get((await queue.add("research", [1], **wanted)).id)
        assert (task.title, task.priority, task.boost) == ("Look it up\nproperly", 12.5, 5)
        assert set(task.requires) == {"web", "code"}
        assert (task.assignee, task.models, task.fallback_models) == ("ada", ("large", "small"), ("tiny",))
        assert (task.provider, task.max_attempts, task.timeout) == ("acme", 7, 300)
        assert task.retry == Retry(strategy="linear", delay=3, cap=60, jitter=0.1)
        assert set(task.tags) == {"a", "b"}
        assert (task.user, task.created_by, task.context) == ("grace", "hopper", {"goal": "know"})
        assert (task.deadline, task.on_deadline) == (wanted["deadline"], "cancel")

    @pytest.mark.parametrize(
        "payload",
        [
            None,
            True,
            0,
            -1.5,
            "",
            "größer 🦊 \u2028",
            [],
            {},
            [[], {}, [None]],
            {"": {"a b": [1, 2.5, "x"]}},
            2**53 + 1,
            "x" * 100_000,
        ],
        ids=lambda payload: ascii(payload)[:12],
    )
    @pytest.mark.door
    def test_payloads_come_back_exactly(self, payload: Any) -> None:
        async def check(_: Topic, queue: Queue) -> None:
            task = await queue.add("echo", payload)
            assert (await queue.get(task.id)).payload == payload
            assert (await take(queue)).task.payload == payload

        self.run(check)

    async def test_a_task_for_later_is_scheduled_until_its_time(self, queue: Queue, clock: FakeClock) -> None:
        due = clock.now + timedelta(minutes=5)
        task = await queue.add("later", run_after=due)
        assert (task.status, task.run_after, task.ready_at) == (Status.SCHEDULED, due, None)
        assert await nothing(queue)
        await elapse(queue, clock, 298)
        assert await status(queue, task) == Status.SCHEDULED
        await elapse(queue, clock, 2)
        assert await status(queue, task) == Status.READY
        assert (await story(queue, task.id)) == ["added", "scheduled", "ready"]

    @pytest.mark.door
    async def test_run_after_takes_durations_and_iso_texts(self, queue: Queue, clock: FakeClock) -> None:
        due = clock.now + timedelta(minutes=90)
        for given in ("90m", 5400, due.isoformat(), timedelta(minutes=90)):
            assert (await queue.add("later", run_after=given)).run_after == due

    async def test_a_time_that_has_passed_means_now(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("late", run_after=clock.now - timedelta(seconds=1))
        assert task.status == Status.READY

    async def test_claiming_alone_is_enough_to_get_due_tasks(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("later", run_after="10s")
        assert await nothing(queue)
        clock.advance(11)
        assert (await take(queue)).task.id == task.id

    @pytest.mark.door
    async def test_many_tasks_keep_every_character_of_theirs(self, queue: Queue) -> None:
        odd = ("\\N", "\\.", "a\\", "a\tb", "a\nb", "'; --", '"', "{}", "é\u2028\U0001f600", "%s$1")
        specs = [NewTask(text, {"text": text, text: [text]}, user=text, title=text, tags=[text]) for text in odd]
        added = await queue.add_many(specs)
        for spec, task in zip(specs, added, strict=True):
            found = await queue.get(task.id)
            assert (found.type, found.payload, found.user) == (spec.type, spec.payload, spec.user)
            assert (found.title, found.tags) == (spec.title, (spec.type,))
            assert [each.id for each in (await queue.find(user=spec.user)).items] == [task.id]
            [claim] = await queue.claim("ada", types=[spec.type])
            assert (claim.task.id, claim.task.payload) == (task.id, spec.payload)

    @pytest.mark.routing
    async def test_many_tasks_come_back_in_the_order_given(self, queue: Queue) -> None:
        tasks = await queue.add_many([NewTask("count", number) for number in range(50)])
        assert [task.payload for task in tasks] == list(range(50))
        claims = await queue.claim("ada", limit=50)
        assert [claim.task.id for claim in claims] == [task.id for task in tasks]

    async def test_refs_may_point_forwards_and_backwards_inside_a_call(self, queue: Queue) -> None:
        last, first = await queue.add_many([NewTask("b", ref="last", after=["first"]), NewTask("a", ref="first")])
        assert (last.status, last.depends_on, last.ref) == (Status.PENDING, (first.id,), "last")
        assert first.status == Status.READY

    async def test_one_bad_task_means_none_is_added(self, queue: Queue) -> None:
        before = await queue.store.last_seq()
        with pytest.raises(NotFound) as caught:
            await queue.add_many([NewTask("good"), NewTask("bad", after=["task_00000000000000000000000000"])])
        assert caught.value.field == "after"
        assert (await queue.find()).items == []
        assert await queue.store.last_seq() == before

    async def test_an_unknown_dag_cannot_be_joined(self, queue: Queue) -> None:
        with pytest.raises(NotFound) as caught:
            await queue.add("stray", dag="dag_00000000000000000000000000")
        assert caught.value.field == "dag"
        assert (await queue.find()).items == []

    async def test_a_dependency_may_be_a_task_an_id_or_a_mix(self, queue: Queue) -> None:
        one, two = await queue.add("one"), await queue.add("two")
        task = await queue.add("three", after=[one, two.id])
        assert set(task.depends_on) == {one.id, two.id}

    async def test_a_ref_twice_in_one_call_is_refused(self, queue: Queue) -> None:
        with pytest.raises(Invalid) as caught:
            await queue.add_many([NewTask("a", ref="same"), NewTask("b", ref="same")])
        assert caught.value.field == "ref"

    async def test_tasks_added_after_a_long_silence_are_ready_at_once(self, queue: Queue, clock: FakeClock) -> None:
        await elapse(queue, clock, 86_400)
        task = await queue.add("fresh")
        assert task.ready_at == clock.now
        assert (await take(queue)).task.id == task.id

    @pytest.mark.door
    @pytest.mark.routing
    async def test_another_client_sees_what_was_added(self, queue: Queue, other: Queue) -> None:
        task = await queue.add("shared", {"n": 1})
        assert await other.get(task.id) == await queue.get(task.id)
        assert (await take(other)).task.id == task.id
        assert await nothing(queue)
