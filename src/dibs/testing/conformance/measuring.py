"""Metrics: how it has been going, by type, agent, model and day."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from dibs.errors import Invalid
from dibs.model.metrics import Metrics
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, finish, kill, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Measuring(Topic):
    async def test_an_empty_queue_has_no_groups(self, queue: Queue) -> None:
        for by in ("type", "agent", "model", "day"):
            assert await queue.metrics(by) == []

    @pytest.mark.door
    @pytest.mark.routing
    async def test_types_count_what_was_created_and_how_it_ended(self, queue: Queue) -> None:
        await queue.add_many([NewTask("a"), NewTask("a"), NewTask("a"), NewTask("b"), NewTask("b")])
        await finish(queue, "a")
        await kill(queue, "a")
        stopped = await queue.add("b")
        await queue.cancel(stopped.id)
        first, second = await queue.metrics()
        assert (first.name, first.created, first.completed, first.failed) == ("a", 3, 1, 1)
        assert (first.dead_lettered, first.cancelled, first.error_rate) == (1, 0, 0.5)
        assert (second.name, second.created, second.completed, second.cancelled) == ("b", 3, 0, 1)
        assert second.error_rate is None

    async def test_agents_count_the_claims_they_ended(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", retry="immediate") for _ in range(3)])
        await queue.complete(await take(queue, agent="ada"))
        await queue.fail(await take(queue, agent="bob"), "no")
        stopped = await take(queue, agent="bob")
        await queue.cancel(stopped.task.id)
        with pytest.raises(Exception, match="cancelled"):
            await queue.complete(stopped)
        ada, bob = await queue.metrics("agent")
        assert (ada.name, ada.created, ada.completed, ada.failed, ada.cancelled) == ("ada", None, 1, 0, 0)
        assert (bob.name, bob.created, bob.completed, bob.failed, bob.cancelled) == ("bob", None, 0, 1, 1)
        assert (ada.error_rate, bob.error_rate) == (0, 1)

    async def test_models_are_those_that_were_used_and_none_comes_last(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job", models=["small"]), NewTask("job"), NewTask("job")])
        for told in ({}, {"model": "large", "cost": 0.5}, {}):
            await queue.complete(await take(queue, models=["small"]), **told)  # type: ignore[arg-type]
        found = await queue.metrics("model")
        assert [(one.name, one.completed, one.cost_usd) for one in found] == [
            ("large", 1, 0.5),
            ("small", 1, None),
            (None, 1, None),
        ]

    async def test_days_are_those_on_which_it_happened(self, queue: Queue, clock: FakeClock) -> None:
        began = clock.now
        await queue.add_many([NewTask("job"), NewTask("job")])
        clock.advance(86_400)
        await finish(queue, "job")
        today, tomorrow = await queue.metrics("day")
        assert (today.name, today.created, today.completed) == (began.date().isoformat(), 2, 0)
        assert (tomorrow.name, tomorrow.created, tomorrow.completed) == (clock.now.date().isoformat(), 0, 1)

    @pytest.mark.door
    async def test_waiting_is_from_ready_to_the_first_start_and_running_from_there_to_the_end(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add_many([NewTask("job", retry="immediate") for _ in range(20)])
        for seconds in range(20):
            clock.advance(1)
            claim = await take(queue, "job", lease=3600)
            clock.advance(seconds)
            await queue.complete(claim)
        (one,) = await queue.metrics()
        waits = [n + sum(range(n - 1)) for n in range(1, 21)]
        assert (one.wait_p50_s, one.wait_p95_s) == (waits[9], waits[18])
        assert (one.run_p50_s, one.run_p95_s) == (9, 18)

    async def test_a_retry_does_not_count_as_waiting(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", retry="immediate")
        clock.advance(2)
        await queue.fail(await take(queue, "job"), "no")
        clock.advance(500)
        await finish(queue, "job")
        (one,) = await queue.metrics()
        assert (one.wait_p50_s, one.wait_p95_s) == (2, 2)

    async def test_what_was_claimed_and_never_started_neither_waited_nor_ran(self, queue: Queue) -> None:
        await queue.add("job")
        await queue.release(await take(queue, "job", start=False))
        (one,) = await queue.metrics()
        assert (one.wait_p50_s, one.run_p50_s, one.completed, one.failed) == (None, None, 0, 0)

    async def test_an_expired_lease_is_a_failure_that_says_nothing_of_run_times(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.add("job")
        await take(queue, "job", lease=10)
        await elapse(queue, clock, 60)
        (one,) = await queue.metrics()
        assert (one.failed, one.error_rate, one.run_p50_s) == (1, 1, None)

    async def test_a_rate_limit_is_no_failure(self, queue: Queue) -> None:
        await queue.add("job")
        await queue.fail(await take(queue, "job"), "429 too many requests")
        (one,) = await queue.metrics()
        assert (one.failed, one.error_rate, one.unpriced) == (0, None, 0)

    async def test_what_is_held_shows_who_was_not_heard_of(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("job") for _ in range(2)])
        quiet, loud = await take(queue, agent="quiet"), await take(queue, agent="loud")
        clock.advance(20)
        await queue.renew(loud)
        clock.advance(5)
        (one,) = await queue.metrics("type")
        assert (one.held, one.renewal_delay_s) == (2, 25)
        agents = {each.name: (each.held, each.renewal_delay_s) for each in await queue.metrics("agent")}
        assert agents == {"loud": (1, 5), "quiet": (1, 25)}
        await queue.complete(quiet)
        await queue.complete(loud)
        (one,) = await queue.metrics("type")
        assert (one.held, one.renewal_delay_s) == (0, None)
        assert [each.held for each in await queue.metrics("day")] == [None]

    @pytest.mark.door
    async def test_usage_is_added_up_and_what_has_no_price_is_counted(self, queue: Queue) -> None:
        await queue.add_many([NewTask("job") for _ in range(4)])
        for told in (
            {"cost": 0.5, "tokens_in": 10, "tokens_out": 1, "turns": 1},
            {"cost": 0.25, "tokens_in": 5},
            {"tokens_in": 7},
            {},
        ):
            await queue.complete(await take(queue, "job"), **told)
        (one,) = await queue.metrics()
        assert (one.cost_usd, one.unpriced) == (0.75, 1)
        assert (one.tokens_in, one.tokens_out, one.turns) == (22, 1, 1)

    async def test_whoever_had_a_model_and_told_nothing_is_unpriced_unless_it_gave_the_work_back(
        self, queue: Queue
    ) -> None:
        await queue.add("job", models=["small"])
        await queue.release(await take(queue, models=["small"]))
        assert [one.unpriced for one in await queue.metrics("model")] == [0]
        await queue.complete(await take(queue, models=["small"]))
        assert [one.unpriced for one in await queue.metrics("model")] == [1]

    async def test_only_what_happened_since_then_counts(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add_many([NewTask("old"), NewTask("old")])
        await finish(queue, "old")
        await queue.cancel((await queue.add("old")).id)
        clock.advance(3600)
        await finish(queue, "old")
        await queue.add("new")
        for since in ("30m", 1800, timedelta(minutes=30), clock.now, clock.now.isoformat()):
            new, old = await queue.metrics(since=since)
            assert (new.name, new.created, old.name) == ("new", 1, "old")
            assert (old.created, old.completed, old.cancelled) == (0, 1, 0)

    async def test_a_task_that_died_twice_counts_twice(self, queue: Queue) -> None:
        task = await queue.add("job")
        await kill(queue, "job")
        await queue.retry(task.id)
        await kill(queue, "job")
        assert await queue.metrics() == [
            Metrics(
                name="job",
                created=1,
                failed=2,
                dead_lettered=2,
                error_rate=1.0,
                wait_p50_s=0.0,
                wait_p95_s=0.0,
                run_p50_s=0.0,
                run_p95_s=0.0,
                held=0,
            )
        ]

    async def test_another_project_is_not_counted(self, queue: Queue) -> None:
        await queue.add("job")
        queue.project = "elsewhere"
        assert await queue.metrics() == []

    async def test_bad_questions_about_how_it_went_are_refused(self, queue: Queue) -> None:
        for field, question in {"by": {"by": "colour"}, "since": {"since": "yesterday"}}.items():
            with pytest.raises(Invalid) as caught:
                await queue.metrics(**question)
            assert caught.value.field == field
        for since in (True, -1, [1], "2026-01-01T00:00:00"):
            with pytest.raises(Invalid) as caught:
                await queue.metrics(since=since)
            assert caught.value.field == "since"
