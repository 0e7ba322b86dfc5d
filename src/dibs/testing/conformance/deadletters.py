"""Dead letters: seen in groups, decided about one by one or in bulk, and let go of afterwards."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import DibsError, IllegalTransition, Invalid, KeyReused, NotFound
from dibs.model.review import Resolution
from dibs.model.status import DagStatus, Status
from dibs.model.task import NewTask, Task
from dibs.testing.conformance.topic import Topic, elapse, events, finish, kill, status, story, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

WEEK = 7 * 86_400


async def bury(queue: Queue, type: str, error: str, **options: Any) -> Task:
    """A task of this type that died of this error."""
    usage = {name: options.pop(name) for name in ("cost", "reason") if name in options}
    task = await queue.add(type, **options)
    await queue.fail(await take(queue, type), error, retry=False, **usage)
    return await queue.get(task.id)


class DeadLetters(Topic):
    @pytest.mark.routing
    async def test_failures_that_are_alike_are_one_group(self, queue: Queue, clock: FakeClock) -> None:
        first = await bury(queue, "fetch", "cannot open /tmp/a1/x.txt after 3 tries", cost=0.25)
        clock.advance(60)
        second = await bury(queue, "fetch", "cannot open /tmp/b2/x.txt after 7 tries", cost=0.5)
        other = await bury(queue, "fetch", "the key has expired")
        await bury(queue, "parse", "cannot open /tmp/a1/x.txt after 3 tries")
        [most, *rest] = await queue.dead_letters()
        assert (most.type, most.count, most.unreviewed, most.poison_pills) == ("fetch", 2, 2, 0)
        assert (most.error, most.reason) == ("cannot open /tmp/b2/x.txt after 7 tries", "error")
        assert (most.cost_usd, most.unpriced) == (0.75, 0)
        assert (most.first_at, most.last_at) == (first.dead_lettered_at, second.dead_lettered_at)
        assert most.task_ids == [second.id, first.id]
        assert [(group.type, group.count, group.cost_usd, group.unpriced) for group in rest] == [
            ("fetch", 1, None, 1),
            ("parse", 1, None, 1),
        ]
        assert rest[0].task_ids == [other.id]
        assert (await queue.history(second.id))[-1].fingerprint == most.fingerprint

    async def test_live_completed_and_cancelled_tasks_are_in_no_group(self, queue: Queue) -> None:
        await queue.add("live", run_after="1h")
        stopped = await queue.add("stopped")
        await queue.cancel(stopped)
        await queue.add("done")
        await finish(queue, "done")
        assert await queue.dead_letters() == []
        assert await queue.dead_letter_ids() == []

    async def test_a_lease_that_ended_is_grouped_by_that(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", max_attempts=1)
        await take(queue)
        await elapse(queue, clock, 61)
        assert await status(queue, task) == Status.DEAD_LETTERED
        [group] = await queue.dead_letters()
        assert (group.fingerprint, group.count) == ("expired", 1)
        assert await queue.dead_letter_ids(fingerprint="expired") == [task.id]

    async def test_poison_pills_are_counted(self, queue: Queue) -> None:
        task = await queue.add("job", max_attempts=5, retry="immediate")
        for agent in ("ada", "bob", "ada"):
            await queue.fail(await take(queue, agent=agent), "boom")
        await bury(queue, "job", "boom")
        assert (await queue.get(task.id)).poison_pill
        [group] = await queue.dead_letters()
        assert (group.count, group.poison_pills) == (2, 1)

    async def test_filters_pick_dead_letters(self, queue: Queue, clock: FakeClock) -> None:
        a = await bury(queue, "a", "Broken ÄRROR", tags=["t"], user="grace")
        clock.advance(3600)
        b = await bury(queue, "b", "100% of_it", title="Über", payload={"k": "needle"})
        dag = await queue.add_dag("One", [NewTask("c")])
        await kill(queue, "c")
        c = dag.tasks[0]
        assert await queue.dead_letter_ids() == [c.id, b.id, a.id]
        for wanted, expected in (
            ({"type": "a"}, [a]),
            ({"tag": "t"}, [a]),
            ({"tag": "none"}, []),
            ({"user": "grace"}, [a]),
            ({"dag": dag.id}, [c]),
            ({"dag": a.dag_id}, [a]),
            ({"text": "ärror"}, [a]),
            ({"text": "0% of_"}, [b]),
            ({"text": "0_"}, []),
            ({"text": "NEEDLE"}, [b]),
            ({"text": "über"}, [b]),
            ({"since": "30m"}, [c, b]),
            ({"since": timedelta(minutes=30), "type": "b"}, [b]),
            ({"until": clock.now - timedelta(minutes=30)}, [a]),
            ({"since": a.dead_lettered_at, "until": b.dead_lettered_at}, [a]),
            ({"reviewed": True}, []),
            ({"reviewed": False}, [c, b, a]),
        ):
            assert await queue.dead_letter_ids(**wanted) == [task.id for task in expected], wanted
            groups = await queue.dead_letters(**wanted)
            assert sum(group.count for group in groups) == len(expected), wanted

    @pytest.mark.door
    async def test_ids_come_a_page_at_a_time(self, queue: Queue) -> None:
        ids = [(await bury(queue, "job", "no")).id for _ in range(5)]
        assert await queue.dead_letter_ids(limit=2) == [ids[4], ids[3]]
        assert await queue.dead_letter_ids(limit=2, before=ids[3]) == [ids[2], ids[1]]
        assert await queue.dead_letter_ids(limit=2, before=ids[1]) == [ids[0]]
        with pytest.raises(NotFound) as caught:
            await queue.dead_letter_ids(before="task_00000000000000000000000000")
        assert caught.value.field == "before"

    async def test_a_decision_is_recorded_with_author_time_and_note(self, queue: Queue, clock: FakeClock) -> None:
        task = await bury(queue, "job", "no")
        clock.advance(10)
        kept = await queue.review(task.id, "kept", by="human:grace", note="for the auditors")
        assert (kept.status, kept.dead_lettered_at) == (Status.DEAD_LETTERED, task.dead_lettered_at)
        [review] = kept.reviews
        assert (review.resolution, review.by, review.note, review.to) == (
            Resolution.KEPT,
            "human:grace",
            "for the auditors",
            None,
        )
        assert (review.at, review.fence) == (clock.now, 1)
        assert (await queue.get(task.id)).reviews == kept.reviews
        assert (await queue.find(status="dead_lettered")).items[0].reviews == kept.reviews
        told = (await events(queue))[-1]
        assert (told.type, told.task_id, told.reason) == ("task.reviewed", task.id, "kept")
        assert told.data == {"by": "human:grace", "note": "for the auditors"}

    async def test_a_reviewed_dead_letter_is_told_apart_until_it_dies_again(self, queue: Queue) -> None:
        one, two = await bury(queue, "job", "no"), await bury(queue, "job", "no")
        await queue.review(one.id, "escalated", by="grace", to="oncall")
        [group] = await queue.dead_letters()
        assert (group.count, group.unreviewed) == (2, 1)
        assert await queue.dead_letter_ids(reviewed=False) == [two.id]
        assert await queue.dead_letter_ids(reviewed=True) == [one.id]
        await queue.retry(one.id)
        await kill(queue, "job")
        assert await queue.dead_letter_ids(reviewed=False) == [two.id, one.id]
        assert [review.to for review in (await queue.get(one.id)).reviews] == ["oncall"]

    async def test_a_retry_by_review_is_a_retry_with_an_author(self, queue: Queue) -> None:
        task = await bury(queue, "job", "no")
        revived = await queue.review(task.id, "retried", by="grace")
        assert (revived.status, revived.attempts, revived.error) == (Status.READY, 0, None)
        assert (await story(queue, task.id))[-2:] == ["ready", "reviewed"]
        claim = await take(queue)
        assert [review.resolution for review in claim.task.reviews] == ["retried"]
        await queue.complete(claim)
        done = await queue.get(task.id)
        assert (done.status, done.reviews[0].by) == (Status.COMPLETED, "grace")

    async def test_a_retry_by_review_may_wait_or_change_the_payload(self, queue: Queue, clock: FakeClock) -> None:
        late, other = await bury(queue, "job", "no"), await bury(queue, "job", "no", payload={"n": 1})
        assert (await queue.review(late.id, "retried", by="grace", delay="5m")).status == Status.SCHEDULED
        changed = await queue.review(other.id, "retried", by="grace", payload={"n": 2})
        assert (changed.payload, changed.reviews[0].resolution) == ({"n": 2}, "retried_modified")
        await elapse(queue, clock, 301)
        assert await status(queue, late) == Status.READY

    async def test_a_dropped_dead_letter_is_cancelled(self, queue: Queue, clock: FakeClock) -> None:
        task = await bury(queue, "job", "no", key="k")
        clock.advance(5)
        dropped = await queue.review(task.id, "dropped", by="grace", note="not needed")
        assert (dropped.status, dropped.reason, dropped.cancel_reason) == (Status.CANCELLED, "dropped", "not needed")
        assert (dropped.cancelled_at, dropped.dead_lettered_at) == (clock.now, None)
        assert (dropped.error, dropped.attempts) == ("no", 1)
        assert (await story(queue, task.id))[-2:] == ["cancelled", "reviewed"]
        assert (await queue.get_dag(task.dag_id)).status == DagStatus.CANCELLED
        assert await queue.dead_letters() == []
        assert (await queue.stats()).by_status == {"cancelled": 1}
        again = await queue.add("job", key="k")
        assert again.id != task.id
        with pytest.raises(KeyReused):
            await queue.retry(task.id)

    async def test_a_dropped_dead_letter_can_still_be_retried(self, queue: Queue) -> None:
        parent = await queue.add("parent")
        child = await queue.add("child", after=[parent])
        await kill(queue, "parent")
        await queue.review(parent.id, "dropped", by="grace")
        assert await status(queue, child) == Status.CANCELLED
        assert (await queue.get_dag(parent.dag_id)).status == DagStatus.FAILED
        await queue.retry(parent.id)
        await finish(queue, "parent")
        await finish(queue, "child")
        assert (await queue.get_dag(parent.dag_id)).status == DagStatus.COMPLETED
        assert await queue.store.check() == []

    async def test_a_dag_completes_without_what_was_dropped(self, queue: Queue) -> None:
        dag = await queue.add_dag("Two", [NewTask("a"), NewTask("b")], on_failure="continue")
        await kill(queue, "a")
        await queue.review(dag.tasks[0].id, "dropped", by="grace")
        assert (await queue.get_dag(dag.id)).status == DagStatus.RUNNING
        await finish(queue, "b")
        assert (await queue.get_dag(dag.id)).status == DagStatus.COMPLETED

    async def test_only_dead_letters_are_decided_about(self, queue: Queue) -> None:
        task = await queue.add("job")
        for resolution in ("retried", "dropped", "kept"):
            with pytest.raises(IllegalTransition, match="not dead-lettered"):
                await queue.review(task.id, resolution, by="grace")
        await queue.cancel(task.id)
        with pytest.raises(IllegalTransition):
            await queue.review(task.id, "retried", by="grace")
        with pytest.raises(NotFound):
            await queue.review("task_00000000000000000000000000", "kept", by="grace")
        assert (await queue.get(task.id)).reviews == ()

    @pytest.mark.door
    async def test_many_are_decided_about_alike_and_each_is_answered(self, queue: Queue) -> None:
        ids = [(await bury(queue, "job", "no")).id for _ in range(3)]
        live = await queue.add("live")
        answers = await queue.review_many([*ids, live.id, "task_unknown"], "retried", by="grace", note="outage is over")
        assert [answer.status if isinstance(answer, Task) else type(answer) for answer in answers] == [
            *[Status.READY] * 3,
            IllegalTransition,
            NotFound,
        ]
        assert await queue.dead_letters() == []
        assert {(await queue.get(id)).reviews[0].note for id in ids} == {"outage is over"}
        assert await queue.review_many([], "retried", by="grace") == []

    async def test_one_that_cannot_come_back_does_not_harm_the_others(self, queue: Queue) -> None:
        taken, free = await bury(queue, "job", "no", key="k"), await bury(queue, "job", "no")
        owner = await queue.add("job", key="k")
        refused, revived = await queue.review_many([taken.id, free.id], "retried", by="grace")
        assert isinstance(refused, KeyReused)
        assert isinstance(revived, Task)
        assert await status(queue, taken) == Status.DEAD_LETTERED
        assert (await queue.get(taken.id)).reviews == ()
        assert await story(queue, taken.id) == ["added", "ready", "claimed", "started", "dead_lettered"]
        assert await status(queue, owner) == Status.READY

    @pytest.mark.door
    async def test_more_than_one_transaction_holds_are_decided_about(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", max_attempts=2)] * 230)
        for number, claim in enumerate(await queue.claim("ada", limit=230)):
            await queue.fail(claim, f"row {number} is bad", retry=False)
        [group] = await queue.dead_letters()
        assert (group.count, len(group.task_ids)) == (230, 5)
        ids = await queue.dead_letter_ids(fingerprint=group.fingerprint)
        assert all(isinstance(answer, Task) for answer in await queue.review_many(ids[::-1], "dropped", by="grace"))
        assert (await queue.stats()).by_status == {"cancelled": 230}

    async def test_the_newest_fifty_decisions_are_kept(self, queue: Queue) -> None:
        task = await bury(queue, "job", "no", payload={"big": 12345678901234567890})
        for number in range(52):
            await queue.review(task.id, "kept", by="grace", note=str(number))
        found = await queue.get(task.id)
        assert [review.note for review in found.reviews] == [str(number) for number in range(2, 52)]
        assert found.payload == {"big": 12345678901234567890}

    async def test_a_kept_dead_letter_goes_a_week_after_the_decision(self, queue: Queue, clock: FakeClock) -> None:
        kept, escalated, open_ = [await bury(queue, "job", "no") for _ in range(3)]
        clock.advance(2 * WEEK)
        await queue.review(kept.id, "kept", by="grace")
        await queue.review(escalated.id, "escalated", by="grace", to="oncall")
        clock.advance(WEEK - 10)
        assert await queue.prune() == 0
        clock.advance(20)
        assert await queue.prune() == 1
        with pytest.raises(NotFound):
            await queue.get(kept.id)
        for task in (escalated, open_):
            assert await status(queue, task) == Status.DEAD_LETTERED
        assert await queue.store.check() == []

    async def test_a_dropped_dead_letter_goes_a_week_after_it_was_dropped(self, queue: Queue, clock: FakeClock) -> None:
        task = await bury(queue, "job", "no")
        clock.advance(2 * WEEK)
        await queue.review(task.id, "dropped", by="grace")
        assert await queue.prune() == 0
        clock.advance(WEEK + 1)
        assert await queue.prune() == 1

    async def test_a_dag_goes_once_all_its_dead_letters_are_let_go(self, queue: Queue, clock: FakeClock) -> None:
        dag = await queue.add_dag("Two", [NewTask("a"), NewTask("b")], on_failure="continue")
        await kill(queue, "a")
        await kill(queue, "b")
        await queue.review(dag.tasks[0].id, "kept", by="grace")
        clock.advance(WEEK + 1)
        assert await queue.prune() == 0
        await queue.review(dag.tasks[1].id, "kept", by="grace")
        clock.advance(WEEK + 1)
        assert await queue.prune() == 2
        with pytest.raises(NotFound):
            await queue.get_dag(dag.id)

    async def test_a_decision_that_makes_no_sense_is_refused_by_field(self, queue: Queue) -> None:
        task = await bury(queue, "job", "no")
        before = await queue.store.last_seq()
        senseless: list[tuple[str, dict[str, Any]]] = [
            ("resolution", {"resolution": "ignored"}),
            ("resolution", {"resolution": 7}),
            ("by", {"by": ""}),
            ("by", {"by": "a\0"}),
            ("note", {"note": "x" * 4001}),
            ("note", {"note": "\0"}),
            ("to", {"resolution": "escalated"}),
            ("to", {"resolution": "escalated", "to": " "}),
            ("to", {"to": "oncall"}),
            ("delay", {"delay": 5}),
            ("delay", {"resolution": "retried", "delay": -1}),
            ("payload", {"payload": 1}),
            ("payload", {"resolution": "retried_modified"}),
            ("payload", {"resolution": "retried", "payload": "\0"}),
            ("id", {"task_id": ""}),
        ]
        for field, options in senseless:
            with pytest.raises(Invalid) as caught:
                await queue.review(**{"task_id": task.id, "resolution": "kept", "by": "grace", **options})
            assert caught.value.field == field, options
        for field, wanted in (
            ("type", {"type": ""}),
            ("fingerprint", {"fingerprint": "\0"}),
            ("since", {"since": "yesterday"}),
            ("until", {"until": "2026-01-01T00:00:00"}),
            ("reviewed", {"reviewed": "yes"}),
            ("dag", {"dag": 7}),
        ):
            for verb in (queue.dead_letters, queue.dead_letter_ids):
                with pytest.raises(DibsError) as refused:
                    await verb(**wanted)
                assert refused.value.field == field, wanted
        with pytest.raises(Invalid) as caught:
            await queue.dead_letter_ids(limit=0)
        assert caught.value.field == "limit"
        assert await queue.store.last_seq() == before
        assert (await queue.get(task.id)).reviews == ()
