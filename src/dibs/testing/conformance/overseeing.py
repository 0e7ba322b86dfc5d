"""A queue from above: the strip, lanes as they flow, costs by day, dags in a row, what happened lately."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Invalid, NotFound
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, finish, kill, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

DAY_S = 86_400


class Overseeing(Topic):
    async def test_an_empty_queue_has_nothing_to_tell(self, queue: Queue) -> None:
        seen = await queue.overview()
        assert (seen.questions.count, seen.dead_letters.count, seen.stalled, seen.open_breakers) == (0, 0, [], [])
        assert (seen.paused, seen.pace.spent_usd, seen.pace.per_hour_usd, seen.oldest_ready_at) == (
            [],
            None,
            None,
            None,
        )
        assert (seen.tasks, seen.agents) == ({"ready": 0, "held": 0}, 0)

    @pytest.mark.door
    async def test_the_overview_says_what_needs_somebody(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("asking", approval=True)
        await queue.add("dead")
        await kill(queue, "dead")
        await queue.add("slow")
        slow = await take(queue, "slow", lease=60)
        await queue.add("ready")
        await queue.pause(type="ready")
        await queue.open_breaker("slow", reason="by hand")
        assert (await queue.overview()).stalled == []
        clock.advance(41)
        seen = await queue.overview()
        assert (seen.questions.count, seen.questions.more, seen.dead_letters.count) == (1, False, 1)
        assert seen.stalled == [slow.task.id]
        assert seen.open_breakers == ["slow"]
        assert seen.paused == ["type:ready"]
        assert seen.tasks == {"ready": 1, "held": 1}
        assert seen.oldest_ready_at is not None
        assert seen.agents == 1
        await queue.renew(slow)
        assert (await queue.overview()).stalled == []

    @pytest.mark.routing
    async def test_the_pace_is_that_of_the_last_hour(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_budget("global", 10)
        clock.advance(DAY_S - clock() // 1_000_000 % DAY_S + 60)
        for cost in (1.0, 2.0, None):
            await queue.add("paid")
            await queue.complete(await take(queue, "paid"), cost=cost, model=None if cost else "m")
            clock.advance(3_000)
        pace = (await queue.overview()).pace
        assert (pace.spent_usd, pace.unpriced) == (3.0, 1)
        assert pace.per_hour_usd is None
        await queue.add("paid")
        await queue.complete(await take(queue, "paid"), cost=0.5)
        pace = (await queue.overview()).pace
        assert (pace.spent_usd, pace.per_hour_usd) == (3.5, 0.5)
        assert (pace.scope, pace.limit_usd, pace.left_usd) == ("global", 10, 6.5)
        assert pace.cap_in_s == pytest.approx(13 * 3600)

    @pytest.mark.door
    async def test_costs_are_added_up_by_day(self, queue: Queue, clock: FakeClock) -> None:
        clock.advance(1.5 * DAY_S - clock() // 1_000_000 % DAY_S)
        dag = await queue.add_dag("One", [NewTask("code", ref="a"), NewTask("test", ref="b")])
        await queue.complete(await take(queue, "code", agent="ada"), cost=1.0, tokens_in=10, model="big")
        clock.advance(DAY_S)
        await queue.complete(await take(queue, "test", agent="bob"), cost=0.5, tokens_out=5)
        await queue.add("code")
        await queue.complete(await take(queue, "code", agent="bob"), model="big")
        await queue.add("code")
        await finish(queue, "code")

        async def spent(by: str, **days: Any) -> list[tuple[Any, ...]]:
            found = await queue.costs(by, **days)
            days_seen = sorted({one.at for one in found})
            return [(days_seen.index(one.at), one.name, one.attempts, one.cost_usd, one.unpriced) for one in found]

        assert await spent("type") == [(0, "code", 1, 1.0, 0), (1, "code", 1, None, 1), (1, "test", 1, 0.5, 0)]
        assert await spent("agent") == [(0, "ada", 1, 1.0, 0), (1, "bob", 2, 0.5, 1)]
        assert await spent("model") == [(0, "big", 1, 1.0, 0), (1, "big", 1, None, 1), (1, None, 1, 0.5, 0)]
        assert await spent("dag") == [(0, dag.id, 1, 1.0, 0), (1, dag.id, 1, 0.5, 0), (1, None, 1, None, 1)]
        assert await spent("type", since="1h") == [(0, "code", 1, None, 1), (0, "test", 1, 0.5, 0)]
        assert await spent("type", until="1d") == [(0, "code", 1, 1.0, 0)]
        first = (await queue.costs("type"))[0]
        assert (first.tokens_in, first.tokens_out, first.at.hour) == (10, None, 0)
        for wrong, field in (
            ({"by": "day"}, "by"),
            ({"since": "1h", "until": "9d"}, "since"),
            ({"since": 0.5j}, "since"),
        ):
            with pytest.raises(Invalid) as refused:
                await queue.costs(**wrong)
            assert refused.value.field == field

    async def test_lanes_tell_how_they_flow(self, queue: Queue, clock: FakeClock) -> None:
        clock.advance(60 - clock() // 1_000_000 % 60)
        for _ in range(3):
            await queue.add("code")
        clock.advance(10)
        for _ in range(2):
            await finish(queue, "code")
        clock.advance(60)
        await queue.add("test")
        await finish(queue, "test")
        lanes = {lane.type: lane for lane in await queue.lanes(minutes=3)}
        assert (lanes["code"].ready, lanes["test"].ready) == (1, 0)
        assert (lanes["code"].per_minute, lanes["test"].per_minute) == ([0, 2, 0], [0, 0, 1])
        assert (lanes["code"].wait_p50_s, lanes["code"].wait_p95_s) == (10, 10)
        assert lanes["test"].wait_p50_s == 0
        assert lanes["test"].agents == ["ada"]
        assert [lane.type for lane in await queue.lanes()] == ["code"]
        clock.advance(600)
        [lane] = await queue.lanes(minutes=3)
        assert (lane.per_minute, lane.wait_p50_s) == ([0, 0, 0], None)
        for wrong in (0, 1_441, "x"):
            with pytest.raises(Invalid) as refused:
                await queue.lanes(minutes=wrong)  # type: ignore[arg-type]
            assert refused.value.field == "minutes"

    async def test_a_lane_that_was_retired_still_tells_what_was_completed_lately(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add("code")
        claim = await take(queue, "code", lease="1d")
        await queue.prune()
        clock.advance(0.9 * DAY_S)
        await queue.renew(claim, lease="1d")
        clock.advance(0.9 * DAY_S)
        await queue.complete(claim)
        await queue.prune()
        [lane] = await queue.lanes(minutes=60)
        assert (lane.type, (lane.per_minute or [])[-1:]) == ("code", [1])

    async def test_dags_are_listed_without_their_tasks(self, queue: Queue, clock: FakeClock) -> None:
        ids = []
        for number in range(3):
            clock.advance(1)
            dag = await queue.add_dag(f"Dag {number}", [NewTask("a", ref="a"), NewTask("b", after=["a"])], user="grace")
            ids.append(dag.id)
        await queue.add("alone")
        await queue.complete(await take(queue, "a"), cost=0.25)
        page = await queue.dags(limit=2)
        assert [dag.id for dag in page.items] == [ids[2], ids[1]]
        rest = await queue.dags(limit=2, cursor=page.cursor)
        [oldest] = rest.items
        assert (oldest.id, oldest.title, oldest.status, oldest.user) == (ids[0], "Dag 0", "running", "grace")
        assert (oldest.counts, oldest.cost_usd, oldest.tasks, oldest.edges) == (
            {"ready": 1, "completed": 1},
            0.25,
            [],
            [],
        )
        assert rest.cursor is None
        assert [dag.id for dag in (await queue.dags(status="running")).items] == [ids[0]]
        assert [dag.id for dag in (await queue.dags(status=["pending", "running"], text="DAG 1")).items] == [ids[1]]
        await queue.cancel(ids[2])
        assert [dag.id for dag in (await queue.dags("cancelled")).items] == [ids[2]]
        for wrong, field in (({"status": "gone"}, "status"), ({"status": 7}, "status"), ({"limit": 0}, "limit")):
            with pytest.raises(Invalid) as refused:
                await queue.dags(**wrong)
            assert refused.value.field == field

    async def test_a_dag_that_appears_later_is_listed(self, queue: Queue) -> None:
        first = await queue.add("a")
        assert (await queue.dags()).items == []
        await queue.add("b", after=[first.id])
        [dag] = (await queue.dags()).items
        assert (dag.id, dag.counts) == (first.dag_id, {"pending": 1, "ready": 1})

    async def test_attempts_of_a_dag_come_together(self, queue: Queue, clock: FakeClock) -> None:
        dag = await queue.add_dag("One", [NewTask("a", ref="a", retry="immediate"), NewTask("b", after=["a"])])
        await queue.fail(await take(queue, "a"), "it broke")
        await finish(queue, "a")
        found = await queue.dag_attempts(dag.id)
        assert [each.task_id for each in found] == [task.id for task in dag.tasks]
        assert [[attempt.outcome for attempt in each.attempts] for each in found] == [["failed", "completed"], []]
        assert found[0].attempts == await queue.history(dag.tasks[0].id)
        with pytest.raises(NotFound):
            await queue.dag_attempts("dag_nobody")

    @pytest.mark.door
    async def test_recent_events_come_last_first(self, queue: Queue) -> None:
        first = await queue.add("a")
        second = await queue.add("a")
        await finish(queue, "a")
        every = (await queue.recent_events()).items
        assert [event.seq for event in every] == list(range(every[0].seq, 0, -1))
        about = await queue.recent_events(task=first.id)
        assert [event.type for event in about.items][:2] == ["task.completed", "task.started"]
        assert about.before is None
        added = await queue.recent_events(types=["task.added"], limit=1)
        assert [event.task_id for event in added.items] == [second.id]
        rest = await queue.recent_events(types="task.added", before=added.before)
        assert [event.task_id for event in rest.items] == [first.id]
        assert (await queue.recent_events(dag=second.dag_id, types=["task.ready"])).items[0].task_id == second.id
        assert (await queue.recent_events(types=["task.cancelled"])).items == []
        for wrong, field in (({"limit": 0}, "limit"), ({"before": 0}, "before"), ({"types": 7}, "types")):
            with pytest.raises(Invalid) as refused:
                await queue.recent_events(**wrong)  # type: ignore[arg-type]
            assert refused.value.field == field

    async def test_old_costs_are_days_apart(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("a")
        await queue.complete(await take(queue, "a"), cost=1.0)
        clock.advance(3 * DAY_S)
        await queue.add("a")
        await queue.complete(await take(queue, "a"), cost=2.0)
        first, last = await queue.costs()
        assert last.at - first.at == timedelta(days=3)
