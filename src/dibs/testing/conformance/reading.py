"""Reading: find with its filters and pages, why, stats, wait."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Invalid, NotFound
from dibs.model.status import DagStatus, Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, finish, kill, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def found(queue: Queue, **filters: Any) -> list[object]:
    return [task.payload for task in (await queue.find(**filters)).items]


class Finding(Topic):
    async def test_newest_come_first(self, queue: Queue, clock: FakeClock) -> None:
        for number in range(3):
            await queue.add("job", number)
            clock.advance(1)
        assert await found(queue) == [2, 1, 0]

    async def test_nothing_is_found_where_there_is_nothing(self, queue: Queue) -> None:
        fields = ("type", "tag", "user", "agent", "text", "dag")
        filters: list[dict[str, Any]] = [{}, *({field: "a"} for field in fields)]
        for statuses in (None, *Status, list(Status)):
            for wanted in filters:
                page = await queue.find(status=statuses, **wanted)
                assert (page.items, page.cursor) == ([], None)

    async def test_each_filter_narrows(self, queue: Queue) -> None:
        dag = await queue.add_dag("One", [NewTask("a", "in dag")])
        alone = await queue.add("b", "tagged", tags=["red", "hot"], user="grace", title="Find the Needle")
        await queue.add("c", {"text": "deep haystack"})
        await finish(queue, "a")
        held = await take(queue, "b", agent="bob")
        assert await found(queue, type="a") == ["in dag"]
        assert await found(queue, status="completed") == ["in dag"]
        assert await found(queue, status=["completed", "running"]) == ["tagged", "in dag"]
        assert await found(queue, tag="hot") == ["tagged"]
        assert await found(queue, tag="ho") == []
        assert await found(queue, dag=dag.id) == ["in dag"]
        assert await found(queue, dag=alone.dag_id) == ["tagged"]
        assert await found(queue, agent="bob") == ["tagged"]
        assert await found(queue, user="grace") == ["tagged"]
        assert await found(queue, text="needle") == ["tagged"]
        assert await found(queue, text="haystack") == [{"text": "deep haystack"}]
        assert await found(queue, type="a", tag="hot") == []
        assert held.agent == "bob"

    @pytest.mark.door
    async def test_text_is_taken_literally(self, queue: Queue) -> None:
        await queue.add("job", "100% sure")
        await queue.add("job", "1000 sure_")
        assert await found(queue, text="0% s") == ["100% sure"]
        assert await found(queue, text="e_") == ["1000 sure_"]

    @pytest.mark.door
    @pytest.mark.routing
    async def test_pages_cover_everything_once(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", number) for number in range(25)])
        seen: list[object] = []
        cursor: str | None = None
        for _ in range(20):
            page = await queue.find(limit=10, cursor=cursor)
            assert len(page.items) <= 10
            seen += [task.payload for task in page.items]
            cursor = page.cursor
            if cursor is None:
                break
        assert seen == list(reversed(range(25)))

    async def test_pages_are_steady_while_tasks_are_added(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", number) for number in range(4)])
        first = await queue.find(limit=2)
        await queue.add("job", "new")
        second = await queue.find(limit=2, cursor=first.cursor)
        assert [task.payload for task in first.items + second.items] == [3, 2, 1, 0]

    @pytest.mark.door
    async def test_a_cursor_with_filters_goes_on_with_them(self, queue: Queue) -> None:
        await queue.add_many([NewTask("ab"[number % 2], number) for number in range(9)])
        first = await queue.find(type="a", limit=3)
        rest = await queue.find(type="a", limit=3, cursor=first.cursor)
        assert [task.payload for task in first.items + rest.items] == [8, 6, 4, 2, 0]

    async def test_bad_questions_are_refused(self, queue: Queue) -> None:
        for field, question in {
            "cursor": {"cursor": "no such place"},
            "status": {"status": "asleep"},
            "limit": {"limit": 0},
        }.items():
            with pytest.raises(Invalid) as caught:
                await queue.find(**question)  # type: ignore[arg-type]
            assert caught.value.field == field

    async def test_payloads_and_outputs_are_included(self, queue: Queue) -> None:
        await queue.add("job", {"n": 1})
        await finish(queue, "job", {"m": 2})
        (task,) = (await queue.find()).items
        assert (task.payload, task.output) == ({"n": 1}, {"m": 2})
        assert task == await queue.get(task.id)

    async def test_an_unknown_task_is_not_found(self, queue: Queue) -> None:
        unknown = "task_00000000000000000000000000"
        for question in (queue.get(unknown), queue.history(unknown), queue.why(unknown), queue.wait(unknown)):
            with pytest.raises(NotFound):
                await question


class Explaining(Topic):
    async def test_a_pending_task_names_what_it_waits_for(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        why = await queue.why((await queue.add("child", after=[parent])).id)
        assert (why.status, [blocker.kind for blocker in why.blockers]) == ("pending", ["dependency"])
        assert why.blockers[0].ids == [parent.id]
        assert why.explanation

    async def test_a_scheduled_task_says_until_when(self, queue: Queue, clock: FakeClock) -> None:
        why = await queue.why((await queue.add("later", run_after="1h")).id)
        (blocker,) = why.blockers
        assert (why.status, blocker.kind) == ("scheduled", "schedule")
        assert blocker.until == clock.now + timedelta(hours=1)

    async def test_a_retrying_task_says_until_when_and_what_failed(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        settled = await queue.fail(await take(queue), "no luck", retry_after=60)
        why = await queue.why(settled.task_id)
        (blocker,) = why.blockers
        assert (why.status, blocker.kind, blocker.until) == ("retrying", "retry", clock.now + timedelta(minutes=1))
        assert "no luck" in blocker.detail

    async def test_a_held_task_says_by_whom(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue, agent="bob")
        why = await queue.why(claim.task.id)
        (blocker,) = why.blockers
        assert (why.status, blocker.kind, blocker.until) == ("running", "lease", claim.lease_expires_at)
        assert "bob" in why.explanation

    async def test_a_ready_task_that_somebody_can_take_has_no_blocker(self, queue: Queue) -> None:
        assert await queue.claim("ada") == []
        assert (await queue.why((await queue.add("job")).id)).blockers == []

    async def test_a_ready_task_that_nobody_can_take_says_what_is_missing(self, queue: Queue) -> None:
        assert await queue.claim("ada", models=["small"]) == []
        for options, kind in (
            ({"requires": ["web"]}, "capability"),
            ({"assignee": "bob"}, "assignee"),
            ({"models": ["large"]}, "model"),
        ):
            why = await queue.why((await queue.add("job", **options)).id)
            assert (why.status, [blocker.kind for blocker in why.blockers]) == ("ready", [kind])

    async def test_an_ended_task_says_how(self, queue: Queue) -> None:
        done = await queue.add("done")
        await finish(queue, "done")
        dead = await queue.add("dead")
        child = await queue.add("child", after=[dead])
        await kill(queue, "dead")
        for task, state in ((done, "completed"), (dead, "dead_lettered"), (child, "cancelled")):
            why = await queue.why(task.id)
            assert (why.status, [blocker.kind for blocker in why.blockers]) == (state, ["final"])
        assert dead.id in (await queue.why(child.id)).explanation


class Counting(Topic):
    @pytest.mark.door
    async def test_stats_count_by_status_and_type(self, queue: Queue) -> None:
        await queue.add_many([NewTask("a"), NewTask("a"), NewTask("b", run_after="1h"), NewTask("c")])
        await finish(queue, "c")
        await take(queue, "a")
        stats = await queue.stats()
        counted = {status: count for status, count in stats.by_status.items() if count}
        assert counted == {"ready": 1, "running": 1, "scheduled": 1, "completed": 1}
        assert stats.by_type["a"] == {"ready": 1, "running": 1}

    async def test_stats_count_what_is_ready_by_tier(self, queue: Queue, clock: FakeClock) -> None:
        assert (await queue.stats()).by_tier == {}
        await queue.add_many([NewTask("a", priority=level, boost=0) for level in (0, 9, 10, 40, 50, 59, 70, 80, 100)])
        await queue.add("b", priority=62, boost=1)
        await queue.add("b", priority=5, run_after="1h")
        await queue.add("c", priority=5, boost=0, locks=["one"])
        await queue.add("c", priority=5, boost=0, locks=["one"])
        await take(queue, "c")
        assert await queue.claim("somebody", types=["c"]) == []  # and the other one is parked
        expected = {"critical": 2, "high": 1, "normal": 3, "low": 2, "background": 2}
        assert (await queue.stats()).by_tier == expected
        clock.advance(timedelta(minutes=5))
        assert (await queue.stats()).by_tier == {**expected, "normal": 4, "low": 1}

    async def test_stats_show_lanes_and_what_is_due(self, queue: Queue, clock: FakeClock) -> None:
        began = clock.now
        await queue.add("a", requires=["web"])
        clock.advance(5)
        await queue.add("a", requires=["web"])
        await queue.add("b", run_after="1h")
        stats = await queue.stats()
        (lane,) = [lane for lane in stats.lanes if lane.ready]
        assert (lane.type, lane.requires, lane.ready) == ("a", ("web",), 2)
        assert lane.oldest_ready_at == stats.oldest_ready_at == began
        assert stats.next_due_at == clock.now + timedelta(hours=1)

    async def test_stats_show_the_agents_heard_of_lately(self, queue: Queue, clock: FakeClock) -> None:
        assert await queue.claim("ada", capabilities=["web"], models=["large"], types=["job"]) == []
        (agent,) = (await queue.stats()).agents
        assert (agent.id, agent.capabilities, agent.models) == ("ada", ("web",), ("large",))
        assert (agent.types, agent.heard_at) == (("job",), clock.now)
        clock.advance(timedelta(days=2))
        assert (await queue.stats()).agents == []

    async def test_an_empty_queue_has_empty_stats(self, queue: Queue) -> None:
        stats = await queue.stats()
        assert not any(stats.by_status.values())
        assert (stats.by_type, stats.lanes, stats.agents) == ({}, [], [])
        assert (stats.oldest_ready_at, stats.next_due_at, stats.cost_usd) == (None, None, None)


class Waiting(Topic):
    async def test_waiting_for_what_has_ended_returns_at_once(self, queue: Queue) -> None:
        task = await queue.add("job")
        await finish(queue, "job", "out")
        assert (await queue.wait(task.id)).output == "out"
        assert (await queue.wait(task.dag_id)).status == DagStatus.COMPLETED

    @pytest.mark.door
    async def test_waiting_ends_with_the_task(self, queue: Queue, other: Queue) -> None:
        task = await queue.add("job")
        waiting = asyncio.create_task(queue.wait(task.id, timeout=60))
        await asyncio.sleep(0.05)
        await kill(other, "job")
        async with asyncio.timeout(50):
            assert (await waiting).status == Status.DEAD_LETTERED

    @pytest.mark.door
    async def test_waiting_ends_with_the_dag(self, queue: Queue) -> None:
        dag = await queue.add_dag("Two", [NewTask("a", ref="a"), NewTask("b", after=["a"])])
        waiting = asyncio.create_task(queue.wait(dag.id, timeout=60))
        await finish(queue, "a")
        await finish(queue, "b")
        async with asyncio.timeout(50):
            assert (await waiting).status == DagStatus.COMPLETED

    @pytest.mark.door
    async def test_waiting_has_an_end_of_its_own(self, queue: Queue) -> None:
        task = await queue.add("job")
        with pytest.raises(TimeoutError):
            await queue.wait(task.id, timeout=0.05)
