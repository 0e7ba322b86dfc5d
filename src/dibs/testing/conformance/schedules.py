"""Schedules: one task or dag for each tick, whoever keeps time and however often."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Conflict, DibsError, Invalid, NotFound
from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, finish, status, take

if TYPE_CHECKING:
    from dibs.model.task import Task
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

AUDIT = {"type": "audit", "payload": {"deep": True}}


async def made(queue: Queue, type: str = "audit") -> list[Task]:
    """What is there of a type, oldest tick first."""
    return sorted((await queue.find(type=type, limit=1000)).items, key=lambda task: task.key or "")


async def tick_by_tick(queue: Queue, clock: FakeClock, seconds: int, step: float = 1) -> None:
    """Let time pass as it does where somebody keeps it."""
    for _ in range(int(seconds / step)):
        await elapse(queue, clock, step)


class Schedules(Topic):
    @pytest.mark.routing
    async def test_a_task_is_made_for_every_tick(self, queue: Queue, clock: FakeClock) -> None:
        begun = clock.now
        schedule = await queue.add_schedule("audit", every="1m", task={**AUDIT, "priority": 20, "tags": ["x"]})
        assert (schedule.every, schedule.next_at, schedule.made) == (60.0, begun + timedelta(minutes=1), 0)
        await elapse(queue, clock, 59)
        assert await made(queue) == []
        await elapse(queue, clock, 1)
        [task] = await made(queue)
        assert (task.created_by, task.key) == ("cron:audit", "cron:audit:2026-01-01T00:01:00Z")
        assert (task.payload, task.priority, task.tags, task.status) == ({"deep": True}, 20, ("x",), Status.READY)
        await elapse(queue, clock, 60)
        await queue.run_duties()
        assert len(await made(queue)) == 2
        schedule = await queue.get_schedule("audit")
        assert (schedule.made, schedule.skipped, schedule.firing, schedule.error) == (2, 0, (), None)
        assert schedule.last_at == begun + timedelta(minutes=2)
        assert schedule.last_id == (await made(queue))[-1].id
        assert await queue.store.check() == []

    async def test_whoever_claims_keeps_time(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_schedule("audit", every=60, task=AUDIT)
        clock.advance(60)
        claim = await take(queue, "audit")
        assert claim.task.created_by == "cron:audit"

    async def test_cron_goes_by_its_time_zone(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_schedule("audit", cron="30 2 * * *", timezone="Europe/Berlin", task=AUDIT)
        runs = await queue.next_runs("audit", 2)
        assert [run.local for run in runs] == ["2026-01-01T02:30:00+01:00", "2026-01-02T02:30:00+01:00"]
        await elapse(queue, clock, 90 * 60)
        [task] = await made(queue)
        assert task.key == "cron:audit:2026-01-01T01:30:00Z"

    async def test_at_makes_one_and_ends(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_schedule("audit", at="90s", task=AUDIT)
        await elapse(queue, clock, 90)
        await elapse(queue, clock, 3600)
        assert len(await made(queue)) == 1
        schedule = await queue.get_schedule("audit")
        assert (schedule.made, schedule.next_at) == (1, None)
        assert await queue.next_runs("audit") == []

    async def test_a_dag_is_made_from_a_template(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_schedule(
            "report",
            every=60,
            dag={
                "title": "Report of {{schedule.tick}}",
                "tasks": [{"type": "gather", "ref": "a"}, {"type": "write", "after": ["a"], "tags": ["daily"]}],
                "on_failure": "continue",
                "budget": 2.5,
            },
        )
        await elapse(queue, clock, 60)
        await elapse(queue, clock, 1)
        [first] = await made(queue, "gather")
        [second] = await made(queue, "write")
        dag = await queue.get_dag(first.dag_id)
        assert (dag.title, dag.created_by) == ("Report of 2026-01-01T00:01:00+00:00", "cron:report")
        assert (dag.on_failure, second.dag_id, second.depends_on) == ("continue", dag.id, (first.id,))
        assert {first.created_by, second.created_by} == {"cron:report"}
        assert (await queue.get_schedule("report")).last_id == dag.id
        await finish(queue, "gather")
        await finish(queue, "write")
        await elapse(queue, clock, 59)
        assert len(await made(queue, "gather")) == 2

    async def test_a_template_knows_its_tick_and_leaves_other_braces_alone(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        payload = {"day": "{{schedule.tick}}", "whole": "{{schedule}}", "other": "{{name}}"}
        await queue.add_schedule("audit", every=60, task={"type": "audit", "payload": payload})
        await elapse(queue, clock, 60)
        [task] = await made(queue)
        tick = "2026-01-01T00:01:00+00:00"
        assert task.payload == {"day": tick, "whole": {"name": "audit", "tick": tick}, "other": "{{name}}"}

    @pytest.mark.door
    async def test_two_who_look_at_once_make_one(self, queue: Queue, other: Queue, clock: FakeClock) -> None:
        from dibs.duties.schedule import fire

        for number in range(5):
            await queue.add_schedule(f"audit-{number}", every=60, task=AUDIT)
        clock.advance(60)
        seen = [(place, await place.schedules()) for place in (queue, other) for _ in range(2)]
        results = await asyncio.gather(
            *(fire(place.store, place.project, schedule) for place, known in seen for schedule in known)
        )
        assert sum(count for count, _ in results) >= 5
        assert len({task.key for task in await made(queue)}) == 5
        assert len(await made(queue)) == 5
        assert [schedule.made for schedule in await other.schedules()] == [1] * 5

    async def test_who_read_an_old_version_makes_nothing(self, queue: Queue, clock: FakeClock) -> None:
        from dibs.duties.schedule import fire

        await queue.add_schedule("audit", every=60, task=AUDIT)
        old = await queue.get_schedule("audit")
        await queue.pause_schedule("audit")
        clock.advance(60)
        assert (await fire(queue.store, queue.project, old))[0] == 0
        assert await made(queue) == []

    async def test_a_tick_that_was_taken_by_somebody_who_died_is_made_by_the_next_once(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        from dibs.duties.schedule import make as make_taken
        from dibs.duties.schedule import take as take_ticks

        await queue.add_schedule("audit", every=60, task=AUDIT)
        clock.advance(60)
        taken = await queue.get_schedule("audit")
        assert await take_ticks(queue.store, queue.project, taken)
        # Killed before it was made.
        assert await made(queue) == []
        await elapse(queue, clock, 1)
        assert len(await made(queue)) == 1
        clock.advance(59)
        taken = await queue.get_schedule("audit")
        assert await take_ticks(queue.store, queue.project, taken)
        await make_taken(_Dying(queue.store), queue.project, taken)
        # Killed after it was made and before that was written; it has ended meanwhile.
        assert len(await made(queue)) == 2
        for _ in range(2):
            claim = await take(queue, "audit")
            await queue.fail(claim, "broken", retry=False)
        await elapse(queue, clock, 1)
        assert len(await made(queue)) == 2
        found = await queue.get_schedule("audit")
        assert (found.made, found.firing) == (2, ())

    async def test_a_dag_that_failed_before_its_tick_was_written_down_is_not_made_again(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        from dibs.duties.schedule import make as make_taken
        from dibs.duties.schedule import take as take_ticks

        await queue.add_schedule("audit", every=60, dag={"title": "Audit", "tasks": [AUDIT]})
        clock.advance(60)
        taken = await queue.get_schedule("audit")
        assert await take_ticks(queue.store, queue.project, taken)
        await make_taken(_Dying(queue.store), queue.project, taken)
        claim = await take(queue, "audit")
        await queue.fail(claim, "broken", retry=False)
        await elapse(queue, clock, 1)
        assert len(await made(queue)) == 1
        assert (await queue.get_schedule("audit")).made == 1

    async def test_missed_ticks_make_one_or_none_or_all(self, queue: Queue, clock: FakeClock) -> None:
        for missed in ("skip", "one", "all"):
            await queue.add_schedule(missed, every="10m", missed=missed, max_missed=4, task={"type": missed})
        clock.advance(timedelta(minutes=65))
        await elapse(queue, clock, 0)
        assert [len(await made(queue, missed)) for missed in ("skip", "one", "all")] == [0, 1, 4]
        assert [task.key for task in await made(queue, "one")] == ["cron:one:2026-01-01T01:00:00Z"]
        assert (await made(queue, "all"))[0].key == "cron:all:2026-01-01T00:30:00Z"
        await elapse(queue, clock, 300)
        assert [len(await made(queue, missed)) for missed in ("skip", "one", "all")] == [1, 2, 5]

    async def test_what_may_not_overlap_is_skipped_until_it_ended(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_schedule("audit", every=60, overlap="skip", task=AUDIT)
        await elapse(queue, clock, 60)
        await elapse(queue, clock, 60)
        assert len(await made(queue)) == 1
        assert (await queue.get_schedule("audit")).skipped == 1
        await finish(queue, "audit")
        await elapse(queue, clock, 60)
        assert len(await made(queue)) == 2

    async def test_what_may_not_overlap_cancels_what_was_before(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_schedule("audit", every=60, overlap="cancel", task=AUDIT)
        await queue.add_schedule(
            "graph", every=60, overlap="cancel", dag={"title": "G", "tasks": [{"type": "node"}, {"type": "node"}]}
        )
        await elapse(queue, clock, 60)
        claim = await take(queue, "audit", lease="1h")
        await elapse(queue, clock, 60)
        first, second = await made(queue)
        assert [await status(queue, first), await status(queue, second)] == [Status.CANCELLED, Status.READY]
        assert first.cancel_reason == "schedule audit is due again"
        assert (await queue.renew(claim)).cancel
        assert sorted(task.status for task in await made(queue, "node")) == [Status.CANCELLED] * 2 + [Status.READY] * 2

    async def test_jitter_makes_each_tick_late_by_the_same_for_everybody(
        self, queue: Queue, other: Queue, clock: FakeClock
    ) -> None:
        await queue.add_schedule("audit", every="10m", jitter="5m", task=AUDIT)
        [run] = await other.next_runs("audit", 1)
        assert [run] == await queue.next_runs("audit", 1)
        late = run.due_at - run.tick
        assert timedelta(0) < late < timedelta(minutes=5)
        clock.advance(timedelta(minutes=10) + late - timedelta(seconds=1))
        await elapse(queue, clock, 0)
        assert await made(queue) == []
        await elapse(other, clock, 1)
        assert [task.key for task in await made(queue)] == ["cron:audit:2026-01-01T00:10:00Z"]

    async def test_a_pause_lasts_until_it_is_resumed_and_nothing_was_missed(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add_schedule("audit", every=60, task=AUDIT, missed="all")
        assert (await queue.pause_schedule("audit")).paused
        assert (await queue.pause_schedule("audit")).paused
        await elapse(queue, clock, 600)
        assert await made(queue) == []
        resumed = await queue.resume_schedule("audit")
        assert (resumed.paused, resumed.next_at) == (False, clock.now + timedelta(minutes=1))
        await elapse(queue, clock, 60)
        assert len(await made(queue)) == 1

    @pytest.mark.door
    async def test_a_schedule_is_added_once_and_replaced_if_that_is_said(self, queue: Queue, clock: FakeClock) -> None:
        first = await queue.add_schedule("audit", every=60, task=AUDIT)
        assert await queue.add_schedule("audit", every="1m", task=NewTask("audit", {"deep": True})) == first
        with pytest.raises(Conflict) as refused:
            await queue.add_schedule("audit", every=30, task=AUDIT)
        assert (refused.value.code, refused.value.field) == ("exists", "name")
        assert await queue.schedules() == [first]
        await elapse(queue, clock, 60)
        changed = await queue.add_schedule("audit", every=30, task=AUDIT, replace=True)
        assert (changed.every, changed.made, changed.created_at) == (30.0, 1, first.created_at)
        await elapse(queue, clock, 30)
        assert len(await made(queue)) == 2

    async def test_a_schedule_is_removed_once(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_schedule("audit", every=60, task=AUDIT)
        assert (await queue.remove_schedule("audit")).name == "audit"
        await elapse(queue, clock, 600)
        assert await made(queue) == []
        for verb in (queue.remove_schedule, queue.get_schedule, queue.pause_schedule, queue.next_runs):
            with pytest.raises(NotFound) as refused:
                await verb("audit")
            assert refused.value.field == "name"
        await queue.add_schedule("audit", every=60, task=AUDIT)
        await elapse(queue, clock, 60)
        assert len(await made(queue)) == 1

    async def test_what_cannot_be_made_is_told_and_stops_nobody(self, queue: Queue, clock: FakeClock) -> None:
        gone = await queue.add("gone")
        await queue.add_schedule("broken", every=60, task={"type": "audit", "after": ["task_that_is_not_there"]})
        await queue.add_schedule("sound", every=60, task=AUDIT)
        await elapse(queue, clock, 60)
        assert len(await made(queue)) == 1
        broken = await queue.get_schedule("broken")
        assert broken.error is not None
        assert "task_that_is_not_there" in broken.error
        assert (broken.made, broken.firing) == (0, ())
        assert gone.id != broken.last_id

    async def test_those_of_another_project_are_its_own(self, queue: Queue, clock: FakeClock) -> None:
        from dibs.queue import Queue

        there = Queue(queue.store, project="other")
        await queue.add_schedule("audit", every=60, task=AUDIT)
        await there.add_schedule("audit", every=45, task={"type": "theirs"})
        assert [schedule.every for schedule in await queue.schedules()] == [60.0]
        assert [schedule.every for schedule in await there.schedules()] == [45.0]
        await there.pause_schedule("audit")
        assert not (await queue.get_schedule("audit")).paused
        await there.resume_schedule("audit")
        # Whoever keeps time keeps it for all.
        await elapse(queue, clock, 60)
        assert len(await made(queue)) == 1
        assert await made(queue, "theirs") == []
        [theirs] = await made(there, "theirs")
        assert theirs.project == "other"

    async def test_schedules_are_told_by_name(self, queue: Queue) -> None:
        for name in ("b", "a", "c-1", "c"):
            await queue.add_schedule(name, every=60, task=AUDIT)
        assert [schedule.name for schedule in await queue.schedules()] == ["a", "b", "c", "c-1"]

    async def test_where_there_are_none_one_document_is_read(self, queue: Queue, clock: FakeClock) -> None:
        from dibs.duties.desk import Desk
        from dibs.duties.schedule import schedule

        counting = Counting(queue.store)
        desk = Desk(counting, draw=lambda: 0.5)
        assert await schedule(desk) == 0
        assert counting.calls == ["documents"]
        await queue.add_schedule("audit", every=60, task=AUDIT)
        counting.calls.clear()
        assert await schedule(desk) == 0
        assert counting.calls == ["documents"]

    async def test_schedules_that_make_no_sense_are_refused_and_nothing_is_kept(self, queue: Queue) -> None:
        right: dict[str, Any] = {"every": 60, "task": AUDIT}
        wrongs: list[tuple[str, dict[str, Any]]] = [
            ("name", {"name": "a/b"}),
            ("every", {"every": 0}),
            ("cron", {"every": None}),
            ("cron", {"every": None, "cron": "* *"}),
            ("timezone", {"timezone": "Europe/Berlin"}),
            ("missed", {"missed": "maybe"}),
            ("overlap", {"overlap": "maybe"}),
            ("jitter", {"jitter": "1d"}),
            ("paused", {"paused": "yes"}),
            ("replace", {"replace": 1}),
            ("task", {"task": None}),
            ("dag", {"dag": {"title": "x", "tasks": [AUDIT]}}),
            ("task", {"task": "audit"}),
            ("type", {"task": {"payload": 1}}),
            ("priority", {"task": {"type": "a", "priority": 101}}),
            ("key", {"task": {"type": "a", "key": "x"}}),
            ("created_by", {"task": {"type": "a", "created_by": "me"}}),
            ("colour", {"task": {"type": "a", "colour": "red"}}),
            ("type", {"task": {"type": "{{schedule.name}}"}}),
            ("timeout", {"task": {"type": "a", "timeout": "soon"}}),
            ("task", {"task": {"type": "a", "payload": "x" * 60_000}}),
            ("tasks", {"task": None, "dag": {"title": "x", "tasks": []}}),
            ("title", {"task": None, "dag": {"tasks": [AUDIT]}}),
            ("on_failure", {"task": None, "dag": {"title": "x", "tasks": [AUDIT], "on_failure": "panic"}}),
        ]
        for field, wrong in wrongs:
            parts: dict[str, Any] = {"name": "audit", **right, **wrong}
            with pytest.raises(DibsError) as refused:
                await queue.add_schedule(parts.pop("name"), **parts)
            assert isinstance(refused.value, Invalid), wrong
            assert refused.value.field == field, wrong
        assert await queue.schedules() == []
        with pytest.raises(Invalid):
            await queue.next_runs("audit", 0)


class _Dying:
    """A store whose user is killed before the last word is written."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def write_document(self, *args: Any) -> int:
        return 0


class Counting:
    """A store that remembers what it was asked."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name not in ("now", "clock"):
            self.calls.append(name)
        return getattr(self._store, name)
