"""Escalation: what follows when a task keeps failing, rung by rung, in the commit of the failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import IllegalTransition, Invalid, KeyReused, NotFound
from dibs.model.status import DagStatus, Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, events, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.model.event import Event
    from dibs.model.task import Task
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def add(queue: Queue, **options: Any) -> Task:
    """A task that is tried again at once."""
    return await queue.add("job", **{"retry": "immediate", "max_attempts": 9, **options})


async def fail(queue: Queue, times: int = 1, *, error: str = "no", **options: Any) -> None:
    """Let ada fail at what there is. Other words each time: equal errors of two agents would make a poison pill."""
    for number in range(times):
        claim = await take(queue, **options)
        await queue.fail(claim, f"{error} {'abc'[number % 3]}")


async def steps(queue: Queue, task: Task) -> list[str]:
    """What was done about a task so far."""
    return [each.do for each in (await queue.get(task.id)).escalations]


async def escalated(queue: Queue) -> list[Event]:
    return [event for event in await events(queue) if event.type == "task.escalated"]


async def sound(queue: Queue) -> None:
    assert await queue.store.check() == []


class Escalating(Topic):
    async def test_a_rung_is_taken_once_with_the_failure_that_makes_it_due(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.set_escalation([{"after": 2, "do": "notify", "to": "team:ops"}], type="job")
        task = await add(queue)
        await fail(queue)
        assert await steps(queue, task) == []
        await fail(queue)
        [taken] = (await queue.get(task.id)).escalations
        assert (taken.after, taken.do, taken.to, taken.fence, taken.at) == (2, "notify", "team:ops", 2, clock.now)
        [told] = await escalated(queue)
        assert (told.task_id, told.agent, told.reason) == (task.id, "ada", "notify")
        assert told.data == {"after": 2, "failures": 2, "to": "team:ops"}
        assert (await story(queue, task.id))[-2:] == ["escalated", "ready"]
        await fail(queue, 2)
        assert len(await escalated(queue)) == 1
        await sound(queue)

    async def test_every_way_to_fail_climbs(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_escalation([{"after": 1, "do": "notify"}], type="*")
        failed = await queue.add("fails")
        await queue.fail(await take(queue), "no")
        timed_out = await queue.add("times out", timeout=5)
        await take(queue, "times out", lease=600)
        rejected = await queue.add("rejected", expects={"validation": "regex", "pattern": "yes"})
        await queue.complete(await take(queue, "rejected"), "no")
        expired = await queue.add("expires")
        await queue.renew(await take(queue, "expires", lease=5))
        await elapse(queue, clock, 6)
        for task in (failed, timed_out, rejected, expired):
            assert await steps(queue, task) == ["notify"], task.type
        assert (await story(queue, expired.id))[-3:] == ["expired", "escalated", "ready"]

    async def test_what_is_no_failure_does_not_climb(self, queue: Queue, clock: FakeClock) -> None:
        await queue.set_escalation([{"after": 1, "do": "ask", "to": "oncall"}], type="job")
        task = await add(queue)
        await queue.release(await take(queue))
        await queue.fail(await take(queue), "429 too many requests")
        await elapse(queue, clock, 4000)
        # Nobody said that this one began: it may never have run.
        await take(queue, lease=5, start=False)
        await elapse(queue, clock, 6)
        assert await steps(queue, task) == []
        await queue.complete(await take(queue))
        assert await steps(queue, task) == []

    async def test_reassigned_to_an_agent_only_that_agent_gets_it(self, queue: Queue) -> None:
        await queue.set_escalation([{"after": 1, "do": "reassign", "agent": "senior"}], type="job")
        task = await add(queue)
        await fail(queue)
        assert await nothing(queue)
        claim = await take(queue, agent="senior")
        assert claim.task.assignee == "senior"
        assert [(each.do, each.agent) for each in claim.task.escalations] == [("reassign", "senior")]
        assert (await queue.get(task.id)).assignee == "senior"
        [told] = await escalated(queue)
        assert told.data == {"after": 1, "failures": 1, "agent": "senior"}
        await queue.complete(claim)
        await sound(queue)

    async def test_reassigned_to_an_agent_it_falls_back_to_its_other_models_all_the_same(self, queue: Queue) -> None:
        await queue.set_escalation([{"after": 1, "do": "reassign", "agent": "senior"}], type="job")
        await add(queue, models=["large"], fallback_models=["tiny"])
        await fail(queue, models=["large"])
        await fail(queue, agent="senior", models=["large"])
        assert await nothing(queue, agent="senior", models=["large"])
        assert await nothing(queue, models=["tiny"])
        assert (await take(queue, agent="senior", models=["tiny"])).model == "tiny"

    async def test_reassigned_to_a_model_it_is_done_with_that_one(self, queue: Queue) -> None:
        await queue.set_escalation([{"after": 1, "do": "reassign", "model": "large"}], type="job")
        task = await add(queue, models=["small"], fallback_models=["tiny"], provider="acme")
        await fail(queue, models=["small"])
        assert await nothing(queue, models=["small", "tiny"])
        claim = await take(queue, models=["large", "small"])
        assert (claim.model, claim.task.models, claim.task.fallback_models) == ("large", ("large",), ())
        assert claim.task.provider is None
        await queue.fail(claim, "b")
        assert (await take(queue, models=["large"])).model == "large"
        assert (await queue.get(task.id)).models == ("large",)

    async def test_a_person_is_asked_instead_of_trying_again_and_the_next_attempt_has_the_answer(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        rung = {"after": 1, "do": "ask", "to": "grace", "question": "Which branch?"}
        await queue.set_escalation([rung], type="job")
        task = await add(queue, retry="fixed:5s")
        settled = await queue.fail(await take(queue), "no such branch")
        assert (settled.status, settled.retry_at) == (Status.WAITING, None)
        waiting = await queue.get(task.id)
        assert (waiting.status, waiting.agent, waiting.attempts) == (Status.WAITING, None, 1)
        assert (waiting.error, waiting.lease_expires_at) == ("no such branch", None)
        assert await story(queue, task.id) == ["added", "ready", "claimed", "started", "escalated", "waiting"]
        [question] = await queue.inbox(assignee="grace")
        assert (question.kind, question.assignee, question.question) == ("escalation", "grace", "Which branch?")
        assert waiting.escalations[0].question == question.id
        told = (await events(queue))[-1]
        assert (told.type, told.reason, told.agent) == ("task.waiting", "escalation", "ada")
        assert told.data == {"error": "no such branch", "question": question.id}
        await elapse(queue, clock, 3600)
        assert await nothing(queue)
        await queue.answer(question.id, "main", by="grace")
        claim = await take(queue)
        assert claim.answers == {question.id: "main"}
        assert [attempt.outcome for attempt in claim.previous_attempts] == ["failed"]
        await queue.complete(claim)
        await sound(queue)

    async def test_the_question_tells_what_happened_unless_another_is_written(self, queue: Queue) -> None:
        await queue.set_escalation([{"after": 1, "do": "ask", "to": "grace"}], type="job")
        await add(queue)
        await queue.fail(await take(queue), "no such file: ünï" + "x" * 300)
        [question] = await queue.inbox()
        shown = ("no such file: ünï" + "x" * 300)[:200]
        assert question.question == f"Failed attempts: 1. The last error: {shown} - how shall it go on?"

    async def test_where_nobody_answers_in_time_it_goes_on_with_the_default(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        rung = {"after": 1, "do": "ask", "to": "grace", "timeout": "10m", "default": {"b": 1, "a": [2]}}
        await queue.set_escalation([rung], type="job")
        task = await add(queue)
        await fail(queue)
        await elapse(queue, clock, 601)
        claim = await take(queue)
        assert list(claim.answers.values()) == [{"a": [2], "b": 1}]
        await queue.release(claim)
        await queue.set_escalation([{"after": 2, "do": "ask", "to": "grace", "timeout": 60}], type="job")
        await fail(queue)
        await elapse(queue, clock, 61)
        buried = await queue.get(task.id)
        assert (buried.status, buried.reason) == (Status.DEAD_LETTERED, "timeout")
        await sound(queue)

    async def test_a_question_comes_before_the_dead_letter_once(self, queue: Queue) -> None:
        await queue.set_escalation([{"after": 5, "do": "ask", "to": "grace"}], type="job")
        task = await add(queue, max_attempts=2)
        await fail(queue, 2)
        assert await status(queue, task) == Status.WAITING
        [question] = await queue.inbox()
        await queue.answer(question.id, "once more")
        claim = await take(queue)
        assert claim.answers == {question.id: "once more"}
        await queue.fail(claim, "c")
        assert await status(queue, task) == Status.DEAD_LETTERED
        assert (await queue.get(task.id)).attempts == 3
        await sound(queue)

    async def test_reassigning_gives_another_attempt_to_what_has_used_up_its_own(self, queue: Queue) -> None:
        await queue.set_escalation([{"after": 2, "do": "reassign", "agent": "senior"}], type="job")
        task = await add(queue, max_attempts=2)
        await fail(queue, 2)
        assert await status(queue, task) == Status.READY
        await fail(queue, agent="senior", error="other")
        assert await status(queue, task) == Status.DEAD_LETTERED

    @pytest.mark.parametrize(
        ("options", "failure"),
        [
            ({}, {"reason": "auth_failure"}),
            ({}, {"retry": False}),
            ({"max_attempts": 1}, {}),
        ],
    )
    def test_what_must_not_be_tried_again_is_not(self, options: dict[str, Any], failure: dict[str, Any]) -> None:
        async def check(self: Topic, queue: Queue) -> None:
            ladder = [
                {"after": 1, "do": "notify"},
                {"after": 1, "do": "reassign", "agent": "senior"},
                {"after": 2, "do": "ask", "to": "grace"},
            ]
            await queue.set_escalation(ladder, type="job")
            task = await add(queue, **options)
            await queue.fail(await take(queue), "no", **failure)
            assert await status(queue, task) == Status.DEAD_LETTERED
            assert await steps(queue, task) == ["notify"]
            assert await queue.inbox() == []

        self.run(check)

    async def test_a_poison_pill_is_one_whatever_the_ladder_says(self, queue: Queue) -> None:
        await queue.set_escalation([{"after": 3, "do": "ask", "to": "grace"}], type="job")
        task = await add(queue)
        for agent in ("ada", "bob", "ada"):
            await queue.fail(await take(queue, agent=agent), "boom")
        buried = await queue.get(task.id)
        assert (buried.status, buried.poison_pill, buried.escalations) == (Status.DEAD_LETTERED, True, ())

    async def test_failing_the_dag_ends_all_of_it_whatever_its_policy(self, queue: Queue) -> None:
        dag = await queue.add_dag(
            "One",
            [
                NewTask("job", ref="a", retry="immediate", max_attempts=9),
                NewTask("other", ref="b"),
                NewTask("last", after=["a"]),
                NewTask("tidy", after_ended=["a"]),
            ],
            on_failure="continue",
            escalation=[{"after": 2, "do": "fail_dag"}],
        )
        job, other, last, tidy = dag.tasks
        for error in "ab":
            await queue.fail(await take(queue, "job"), error)
        failed = await queue.get_dag(dag.id)
        assert (failed.status, failed.on_failure) == (DagStatus.FAILED, "continue")
        assert [task.status for task in failed.tasks] == [
            Status.DEAD_LETTERED,
            Status.CANCELLED,
            Status.CANCELLED,
            Status.READY,
        ]
        assert [(await queue.get(task.id)).reason for task in (other, last)] == ["dag_failed", "dependency_failed"]
        assert (await story(queue, job.id))[-2:] == ["escalated", "dead_lettered"]
        assert await status(queue, tidy) == Status.READY
        # A new life climbs anew, and the dag's own policy holds again.
        again = await queue.retry(job.id)
        assert again.escalations == ()
        assert (await queue.get_dag(dag.id)).status == DagStatus.RUNNING
        await queue.fail(await take(queue, "job"), "a", retry=False)
        assert (await queue.get_dag(dag.id)).status == DagStatus.RUNNING
        await sound(queue)

    async def test_a_task_by_itself_whose_dag_shall_fail_is_a_dead_letter(self, queue: Queue) -> None:
        await queue.set_escalation([{"after": 1, "do": "fail_dag"}], type="job")
        task = await add(queue)
        settled = await queue.fail(await take(queue), "no")
        assert settled.status == Status.DEAD_LETTERED
        assert await status(queue, task) == Status.DEAD_LETTERED
        assert await steps(queue, task) == ["fail_dag"]

    async def test_rungs_are_climbed_in_order_and_a_question_ends_the_step(self, queue: Queue) -> None:
        task = await add(queue)
        await fail(queue, 2)
        ladder = [
            {"after": 1, "do": "notify"},
            {"after": 1, "do": "reassign", "agent": "senior"},
            {"after": 2, "do": "ask", "to": "grace"},
            {"after": 3, "do": "notify", "to": "boss"},
            {"after": 4, "do": "fail_dag"},
        ]
        await queue.set_escalation(ladder, type="job")
        await fail(queue, error="other")
        assert await steps(queue, task) == ["notify", "reassign", "ask"]
        [question] = await queue.inbox()
        await queue.answer(question.id, "go on")
        await fail(queue, agent="senior", error="third")
        assert await steps(queue, task) == ["notify", "reassign", "ask", "notify", "fail_dag"]
        assert await status(queue, task) == Status.DEAD_LETTERED

    async def test_the_ladder_of_a_dag_wins_over_that_of_its_types(self, queue: Queue) -> None:
        await queue.set_escalation([{"after": 1, "do": "notify", "to": "every"}], type="*")
        await queue.set_escalation([{"after": 1, "do": "notify", "to": "type"}], type="job")
        dag = await queue.add_dag(
            "One", [NewTask("job", max_attempts=1)], escalation=[{"after": 1, "do": "notify", "to": "dag"}]
        )
        alone = await queue.add("job", max_attempts=1)
        other = await queue.add("other", max_attempts=1)
        for type in ("job", "job", "other"):
            await queue.fail(await take(queue, type), "no")
        for task, to in ((dag.tasks[0], "dag"), (alone, "type"), (other, "every")):
            assert [each.to for each in (await queue.get(task.id)).escalations] == [to]

    async def test_the_dag_of_a_task_by_itself_may_have_a_ladder(self, queue: Queue) -> None:
        task = await add(queue)
        await queue.set_escalation([{"after": 1, "do": "notify"}], dag=task.dag_id)
        await fail(queue)
        assert await steps(queue, task) == ["notify"]
        await queue.add("next", after=[task.id])
        await queue.set_escalation([{"after": 2, "do": "notify"}], dag=task.dag_id)
        await fail(queue, error="other")
        assert await steps(queue, task) == ["notify", "notify"]

    async def test_a_failure_that_is_told_twice_climbs_once(self, queue: Queue) -> None:
        await queue.set_escalation([{"after": 1, "do": "ask", "to": "grace"}], type="job")
        await add(queue)
        claim = await take(queue)
        first = await queue.fail(claim, "no")
        assert await queue.fail(claim, "no") == first
        assert first.status == Status.WAITING
        assert len(await queue.inbox()) == 1
        with pytest.raises(IllegalTransition):
            await queue.complete(claim)
        assert len(await escalated(queue)) == 1

    async def test_a_new_life_begins_at_the_foot_of_the_ladder(self, queue: Queue) -> None:
        await queue.set_escalation([{"after": 1, "do": "ask", "to": "grace"}], type="job")
        task = await add(queue)
        await fail(queue)
        await queue.cancel(task.id)
        assert await queue.inbox() == []
        assert (await queue.retry(task.id)).escalations == ()
        await fail(queue)
        [question] = await queue.inbox()
        assert await steps(queue, task) == ["ask"]
        await queue.answer(question.id, 1)
        await sound(queue)

    @pytest.mark.routing
    async def test_ladders_are_listed_replaced_and_cleared(self, queue: Queue, clock: FakeClock) -> None:
        assert await queue.escalations() == []
        dag = await queue.add_dag("One", [NewTask("job")], escalation=[{"after": 3, "do": "fail_dag"}])
        await queue.set_escalation([{"after": 1, "do": "notify"}], type="job")
        replaced = await queue.set_escalation(
            [{"after": 2, "do": "ask", "to": "grace", "timeout": "5m", "default": False}], type="job"
        )
        [rung] = replaced.rungs
        assert (rung.timeout_s, rung.default) == (300, False)
        assert await queue.get_escalation(type="job") == replaced
        assert [(each.type, each.dag) for each in await queue.escalations()] == [("job", None), (None, dag.id)]
        await queue.clear_escalation(type="job")
        for verb in (queue.get_escalation, queue.clear_escalation):
            with pytest.raises(NotFound) as caught:
                await verb(type="job")
            assert caught.value.field == "type"
        await queue.complete(await take(queue))
        clock.advance(8 * 86_400)
        await queue.prune()
        assert await queue.escalations() == []

    async def test_the_same_graph_with_another_ladder_is_another_graph(self, queue: Queue) -> None:
        ladder = [{"after": 1, "do": "notify"}]
        one = await queue.add_dag("One", [NewTask("job")], key="k", escalation=ladder)
        assert (await queue.add_dag("One", [NewTask("job")], key="k", escalation=ladder)).id == one.id
        with pytest.raises(KeyReused):
            await queue.add_dag("One", [NewTask("job")], key="k", escalation=[{"after": 2, "do": "notify"}])

    @pytest.mark.door
    async def test_another_process_goes_by_a_ladder_at_once(self, queue: Queue, other: Queue) -> None:
        task = await add(queue)
        claim = await take(other)
        await queue.set_escalation([{"after": 1, "do": "reassign", "agent": "senior"}], type="job")
        await other.fail(claim, "no")
        assert await nothing(other)
        assert (await take(other, agent="senior")).task.id == task.id

    @pytest.mark.parametrize(
        ("field", "ladder"),
        [
            ("escalation", None),
            ("escalation", []),
            ("escalation", {"after": 1, "do": "notify"}),
            ("after", [{"do": "notify"}]),
            ("do", [{"after": 1, "do": "shout"}]),
            ("to", [{"after": 1, "do": "ask"}]),
            ("agent", [{"after": 1, "do": "reassign"}]),
            ("question", [{"after": 1, "do": "notify", "question": "why?"}]),
            ("timeout", [{"after": 1, "do": "ask", "to": "grace", "default": 1}]),
            ("do", [{"after": 1, "do": "fail_dag"}, {"after": 2, "do": "notify"}]),
        ],
    )
    def test_a_bad_ladder_is_refused_and_nothing_changes(self, field: str, ladder: Any) -> None:
        async def check(self: Topic, queue: Queue) -> None:
            kept = await queue.set_escalation([{"after": 1, "do": "notify"}], type="job")
            with pytest.raises(Invalid) as caught:
                await queue.set_escalation(ladder, type="job")
            assert caught.value.field == field
            assert await queue.escalations() == [kept]
            if ladder is not None:
                with pytest.raises(Invalid) as caught:
                    await queue.add_dag("One", [NewTask("job")], escalation=ladder)
                assert caught.value.field == field
                assert (await queue.find()).items == []

        self.run(check)

    async def test_a_ladder_is_for_one_type_or_one_dag_that_exists(self, queue: Queue) -> None:
        ladder = [{"after": 1, "do": "notify"}]
        for field, whose in (("type", {}), ("dag", {"type": "a", "dag": "dag_x"}), ("type", {"type": " "})):
            with pytest.raises(Invalid) as caught:
                await queue.set_escalation(ladder, **whose)
            assert caught.value.field == field
        with pytest.raises(NotFound) as missing:
            await queue.set_escalation(ladder, dag="dag_00000000000000000000000000")
        assert missing.value.field == "dag"
        assert await queue.escalations() == []
