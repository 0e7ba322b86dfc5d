"""Events: every change of status, in the order of commits, numbered without gaps."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dibs.errors import DibsError
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, events, finish, kill, story, take

if TYPE_CHECKING:
    from dibs.model.event import Event
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Events(Topic):
    @pytest.mark.door
    @pytest.mark.routing
    async def test_numbers_are_dense_and_start_at_one(self, queue: Queue, other: Queue) -> None:
        assert await queue.store.last_seq() == 0
        await queue.add_many([NewTask("job") for _ in range(3)])
        await other.add("job")
        await asyncio.gather(finish(queue, "job"), finish(other, "job"))
        await kill(queue, "job")
        seqs = [event.seq for event in await events(queue)]
        assert seqs == list(range(1, len(seqs) + 1))
        assert await other.store.last_seq() == seqs[-1]
        assert await events(other) == await events(queue)

    @pytest.mark.door
    async def test_reading_goes_on_after_a_number(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job") for _ in range(5)])
        everything = await events(queue)
        assert await queue.read_events(after=4, limit=3) == everything[4:7]
        assert await queue.read_events(after=everything[-1].seq) == []

    async def test_a_whole_life_is_told(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", run_after="5s")
        await elapse(queue, clock, 6)
        await queue.release(await take(queue))
        await queue.fail(await take(queue), "no", retry_after=10)
        await elapse(queue, clock, 11)
        claim = await take(queue, lease=10, start=False)
        await queue.start(claim)
        await queue.renew(claim, progress=0.5)
        await elapse(queue, clock, 12)
        await queue.complete(await take(queue))
        assert await story(queue, task.id) == [
            *("added", "scheduled", "ready"),
            *("claimed", "started", "released", "ready"),
            *("claimed", "started", "retrying", "ready"),
            *("claimed", "started", "progress", "expired", "ready"),
            *("claimed", "started", "completed"),
        ]

    async def test_events_say_when_who_and_why(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", {"prompt": "hi"})
        clock.advance(5)
        await queue.fail(await take(queue, agent="bob"), "no luck", reason="moon_phase")
        told = {event.type: event for event in await events(queue) if event.task_id == task.id}
        assert {event.dag_id for event in told.values()} == {task.dag_id}
        assert told["task.claimed"].agent == "bob"
        failed = told["task.retrying"]
        assert (failed.agent, failed.reason, failed.at) == ("bob", "moon_phase", clock.now)
        assert (failed.data["payload"], failed.data["error"]) == ({"prompt": "hi"}, "no luck")

    async def test_a_completion_carries_payload_and_output(self, queue: Queue) -> None:
        task = await queue.add("job", {"prompt": "hi"})
        await finish(queue, "job", ["ho"])
        done = (await events(queue))[-1]
        assert (done.type, done.task_id, done.dag_id) == ("task.completed", task.id, task.dag_id)
        assert (done.data["payload"], done.data["output"]) == ({"prompt": "hi"}, ["ho"])

    @pytest.mark.door
    async def test_what_is_large_is_carried_by_reference(self, queue: Queue) -> None:
        task = await queue.add("job", "p" * 100_000)
        await finish(queue, "job", "o" * 100_000)
        done = (await events(queue))[-1]
        assert done.data["payload"] == {"ref": f"task:{task.id}:payload"}
        assert done.data["output"] == {"ref": f"task:{task.id}:output"}

    async def test_a_cancellation_says_why(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        await queue.add("child", after=[parent])
        await queue.cancel(parent.id, reason="enough")
        cancelled = [event for event in await events(queue) if event.type == "task.cancelled"]
        assert [event.reason for event in cancelled] == ["cancelled", "dependency_failed"]

    @pytest.mark.door
    @pytest.mark.routing
    async def test_listening_gives_the_past_and_then_what_happens(self, queue: Queue, other: Queue) -> None:
        first = await queue.add("job")
        heard: list[Event] = []

        async def listen() -> None:
            async for event in queue.events():
                heard.append(event)
                if event.type == "task.completed":
                    return

        listening = asyncio.create_task(listen())
        await asyncio.sleep(0.05)
        await finish(other, "job")
        async with asyncio.timeout(50):
            await listening
        assert [event.seq for event in heard] == list(range(1, 7))
        assert {event.task_id for event in heard if not event.type.startswith("agent.")} == {first.id}

    async def test_a_refused_verb_leaves_no_event(self, queue: Queue) -> None:
        await queue.add("job", key="k")
        before = await queue.store.last_seq()
        for refused in (
            queue.add("job", "other body", key="k"),
            queue.complete(("task_00000000000000000000000000", 1)),
            queue.add("job", dag="dag_00000000000000000000000000"),
        ):
            with pytest.raises(DibsError):
                await refused
        assert await queue.store.last_seq() == before
