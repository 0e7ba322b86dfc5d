"""Questions to people: asked once, waited for without a lease, answered, given up, closed with their task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import Conflict, IllegalTransition, Invalid, LeaseLost, NotFound
from dibs.model.status import DagStatus, Outcome, Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, elapse, events, finish, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.model.claim import Claim
    from dibs.model.question import Question
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


async def asked(
    queue: Queue, question: str = "Which one?", schema: Any = None, **options: Any
) -> tuple[Claim, Question]:
    """A task that has asked, and its question."""
    await queue.add("job", title="A job")
    claim = await take(queue, "job")
    return claim, await queue.ask(claim, question, schema, **options)


class Asking(Topic):
    async def test_asking_ends_the_claim_and_the_task_waits_without_a_lease(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        claim, question = await asked(queue, "Which one?", {"enum": ["red", "blue"]}, assignee="grace")
        assert question.id.startswith("q_")
        assert (question.kind, question.status, question.task_id) == ("question", "open", claim.task.id)
        task = await queue.get(claim.task.id)
        assert (task.status, task.agent, task.lease_expires_at) == (Status.WAITING, None, None)
        assert (task.attempts, task.fence) == (0, 1)
        (attempt,) = await queue.history(task.id)
        assert (attempt.outcome, attempt.number) == (Outcome.SUSPENDED, 0)
        assert await nothing(queue)
        await elapse(queue, clock, 7200)
        assert await status(queue, task) == Status.WAITING
        (found,) = (await queue.find(status="waiting")).items
        assert found.id == task.id

    @pytest.mark.door
    @pytest.mark.routing
    async def test_an_answer_makes_the_task_ready_and_comes_with_the_next_claim(self, queue: Queue) -> None:
        claim, question = await asked(queue)
        answered = await queue.answer(question.id, {"pick": "red"}, by="human:grace")
        assert (answered.status, answered.answer, answered.answered_by) == ("answered", {"pick": "red"}, "human:grace")
        again = await take(queue)
        assert (again.task.id, again.fence, again.answers) == (claim.task.id, 2, {question.id: {"pick": "red"}})
        await queue.complete(again)
        assert (await queue.get(claim.task.id)).attempts == 1

    async def test_the_events_tell_who_waits_for_whom(self, queue: Queue) -> None:
        claim, question = await asked(queue)
        await queue.answer(question, "red", by="grace")
        assert (await story(queue, claim.task.id))[-3:] == ["waiting", "answered", "ready"]
        told = {event.type: event for event in await events(queue)}
        waiting, answered = told["task.waiting"], told["task.answered"]
        assert (waiting.agent, waiting.reason, waiting.data) == ("ada", "question", {"question": question.id})
        assert (answered.reason, answered.data) == ("question", {"question": question.id, "by": "grace"})

    async def test_a_task_that_asked_keeps_its_age(self, queue: Queue, clock: FakeClock) -> None:
        claim, question = await asked(queue)
        clock.advance(3600)
        await queue.answer(question.id, 1)
        assert (await take(queue)).task.ready_at == claim.task.ready_at

    async def test_the_time_a_question_takes_is_not_the_attempts(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", timeout=10)
        claim = await take(queue)
        question = await queue.ask(claim, "Which one?")
        await elapse(queue, clock, 60)
        await queue.answer(question.id, 1)
        again = await take(queue, lease=30)
        clock.advance(9)
        await queue.complete(again)

    async def test_asking_again_when_answered_returns_the_answer_and_keeps_the_claim(self, queue: Queue) -> None:
        _, question = await asked(queue, "Which one?")
        await queue.answer(question.id, "red")
        again = await take(queue)
        told = await queue.ask_under(again, "Which one?")
        assert (told.suspended, told.question.id, told.question.answer) == (False, question.id, "red")
        await queue.complete(again)
        assert await queue.inbox() == []

    @pytest.mark.door
    async def test_a_lost_reply_to_a_question_is_repeated_and_asks_once(self, queue: Queue) -> None:
        claim, question = await asked(queue)
        again = await queue.ask_under(claim, "Which one?")
        assert (again.suspended, again.question.id) == (True, question.id)
        assert len(await queue.inbox()) == 1
        assert len(await queue.history(claim.task.id)) == 1
        await queue.answer(question.id, "red")
        await take(queue)
        late = await queue.ask_under(claim, "Which one?")
        assert (late.suspended, late.question.answer) == (True, "red")
        assert await status(queue, claim.task) == Status.RUNNING

    async def test_a_killed_attempt_does_not_ask_twice(self, queue: Queue, clock: FakeClock) -> None:
        _, question = await asked(queue)
        await queue.answer(question.id, "red")
        await take(queue, lease=10)
        await elapse(queue, clock, 12)
        third = await take(queue)
        assert third.answers == {question.id: "red"}
        told = await queue.ask(third, "Which one?")
        assert (told.id, told.answer) == (question.id, "red")

    async def test_one_name_stands_for_one_question(self, queue: Queue) -> None:
        _, question = await asked(queue, "Which one?", name="colour")
        await queue.answer(question.id, "red")
        again = await take(queue)
        with pytest.raises(Conflict) as caught:
            await queue.ask(again, "Which colour?", name="colour")
        assert caught.value.code == "journal_mismatch"
        assert await status(queue, again.task) == Status.RUNNING
        other = await queue.ask(again, "Which one?", name="size")
        assert other.id != question.id
        await queue.answer(other.id, 7)
        assert (await take(queue)).answers == {question.id: "red", other.id: 7}

    async def test_only_the_holder_may_ask(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job")
        old = await take(queue, lease=10)
        await elapse(queue, clock, 12)
        with pytest.raises(LeaseLost):
            await queue.ask(old, "Which one?")
        held = await take(queue)
        with pytest.raises(LeaseLost):
            await queue.ask(old, "Which one?")
        with pytest.raises(NotFound):
            await queue.ask(("task_unknown", 1), "Which one?")
        await queue.complete(held)
        assert await queue.inbox() == []

    async def test_an_attempt_over_its_timeout_asks_nothing(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", timeout=10)
        claim = await take(queue)
        clock.advance(11)
        with pytest.raises(LeaseLost, match="over its timeout"):
            await queue.ask(claim, "Which one?")
        assert await queue.inbox() == []

    async def test_who_has_asked_settles_nothing_under_the_old_fence(self, queue: Queue) -> None:
        claim, _ = await asked(queue)
        with pytest.raises(LeaseLost):
            await queue.renew(claim)
        with pytest.raises((LeaseLost, IllegalTransition)):
            await queue.complete(claim)
        with pytest.raises(LeaseLost):
            await queue.ask(claim, "And which size?")
        assert await status(queue, claim.task) == Status.WAITING

    async def test_what_an_attempt_used_before_it_asked_is_kept(self, queue: Queue) -> None:
        await queue.add("job")
        claim = await take(queue)
        await queue.renew(claim, cost=0.4)
        await queue.ask(claim, "Which one?")
        assert (await queue.get(claim.task.id)).cost_usd == 0.4

    # Answering

    async def test_the_inbox_shows_open_questions_oldest_first(self, queue: Queue, clock: FakeClock) -> None:
        _, first = await asked(queue, "One?", assignee="grace")
        clock.advance(1)
        _, second = await asked(queue, "Two?")
        clock.advance(1)
        _, third = await asked(queue, "Three?", {"type": "integer"}, assignee="linus")
        found = await queue.inbox()
        assert [question.id for question in found] == [first.id, second.id, third.id]
        assert (found[0].type, found[0].title, found[0].question) == ("job", "A job", "One?")
        assert found[2].schema == {"type": "integer"}
        assert [question.id for question in await queue.inbox(assignee="grace")] == [first.id, second.id]
        assert [question.id for question in await queue.inbox(limit=1)] == [first.id]
        await queue.answer(second.id, None)
        assert [question.id for question in await queue.inbox()] == [first.id, third.id]

    async def test_the_same_answer_again_is_answered_the_same(self, queue: Queue) -> None:
        claim, question = await asked(queue)
        first = await queue.answer(question.id, {"b": 1, "a": [1, 2]}, by="grace")
        again = await queue.answer(question.id, {"a": [1, 2], "b": 1}, by="linus")
        assert (again.answer, again.answered_by, again.answered_at) == (first.answer, "grace", first.answered_at)
        with pytest.raises(IllegalTransition):
            await queue.answer(question.id, {"a": [2, 1], "b": 1})
        assert (await story(queue, claim.task.id)).count("answered") == 1

    async def test_an_answer_must_be_what_was_asked_for(self, queue: Queue) -> None:
        claim, question = await asked(queue, "How many?", {"type": "integer", "minimum": 1})
        for wrong in ("three", 0, 1.5, True, None):
            with pytest.raises(Invalid) as caught:
                await queue.answer(question.id, wrong)
            assert caught.value.field == "value"
        assert await status(queue, claim.task) == Status.WAITING
        await queue.answer(question.id, 3)
        assert (await take(queue)).answers == {question.id: 3}

    async def test_an_answer_to_nothing_is_not_found(self, queue: Queue) -> None:
        with pytest.raises(NotFound) as caught:
            await queue.answer("q_unknown", 1)
        assert caught.value.field == "question_id"

    @pytest.mark.parametrize(
        ("field", "options"),
        [
            ("question", {"question": " "}),
            ("question", {"question": 5}),
            ("schema", {"schema": "string"}),
            ("schema", {"schema": {"type": "text"}}),
            ("schema", {"schema": {"$ref": "#/$defs/x"}}),
            ("schema", {"schema": {"description": "\0"}}),
            ("assignee", {"assignee": ""}),
            ("timeout", {"timeout": 0}),
            ("timeout", {"timeout": "soon"}),
            ("timeout", {"default": 3}),
            ("default", {"default": object(), "timeout": 60}),
            ("default", {"default": "three", "timeout": 60, "schema": {"type": "integer"}}),
            ("name", {"name": "\0"}),
        ],
        ids=lambda value: value if isinstance(value, str) else "-".join(value),
    )
    def test_a_question_that_makes_no_sense_is_refused_by_field(self, field: str, options: dict[str, Any]) -> None:
        async def check(_: Topic, queue: Queue) -> None:
            await queue.add("job")
            claim = await take(queue)
            with pytest.raises(Invalid) as caught:
                await queue.ask(claim, **{"question": "Which one?", **options})
            assert caught.value.field == field
            assert await queue.inbox() == []
            await queue.complete(claim)

        self.run(check)

    async def test_an_answer_that_makes_no_sense_is_refused_by_field(self, queue: Queue) -> None:
        claim, question = await asked(queue)
        for field, attempt in (
            ("value", queue.answer(question.id, object())),
            ("value", queue.answer(question.id, "a\0")),
            ("by", queue.answer(question.id, 1, by=" ")),
            ("question_id", queue.answer("", 1)),
            ("limit", queue.inbox(limit=0)),
            ("assignee", queue.inbox(assignee="\0")),
        ):
            with pytest.raises(Invalid) as caught:
                await attempt
            assert caught.value.field == field
        assert await status(queue, claim.task) == Status.WAITING

    # Time

    async def test_a_question_nobody_answers_is_answered_with_its_default(self, queue: Queue, clock: FakeClock) -> None:
        claim, question = await asked(queue, timeout="1h", default="blue")
        await elapse(queue, clock, 3599)
        assert await status(queue, claim.task) == Status.WAITING
        await elapse(queue, clock, 2)
        again = await take(queue)
        assert again.answers == {question.id: "blue"}
        kept = await queue.get_question(question.id)
        assert (kept.status, kept.answered_by) == ("answered", "timeout")
        with pytest.raises(IllegalTransition):
            await queue.answer(question.id, "red")

    async def test_without_a_default_a_question_nobody_answers_is_the_tasks_end(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        claim, question = await asked(queue, "Which one?", timeout=60)
        child = await queue.add("later", after=[claim.task])
        await elapse(queue, clock, 61)
        task = await queue.get(claim.task.id)
        assert (task.status, task.reason, task.attempts) == (Status.DEAD_LETTERED, "timeout", 0)
        assert question.id in (task.error or "")
        assert "Which one?" in (task.error or "")
        assert await status(queue, child) == Status.CANCELLED
        assert (await queue.get_question(question.id)).status == "closed"
        assert await queue.inbox() == []
        assert len(await queue.history(task.id)) == 1
        (told,) = [event for event in await events(queue) if event.type == "task.dead_lettered"]
        assert (told.reason, told.data) == ("timeout", {"question": question.id})

    async def test_a_retry_asks_again_with_time_of_its_own(self, queue: Queue, clock: FakeClock) -> None:
        claim, question = await asked(queue, timeout=60)
        await elapse(queue, clock, 61)
        await queue.retry(claim.task.id)
        again = await take(queue)
        told = await queue.ask_under(again, "Which one?", timeout=60)
        assert (told.suspended, told.question.id, told.question.status) == (True, question.id, "open")
        await elapse(queue, clock, 59)
        await queue.answer(question.id, "red")
        assert (await take(queue)).answers == {question.id: "red"}

    async def test_a_late_answer_counts_until_somebody_looked_at_the_clock(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        claim, question = await asked(queue, timeout=60)
        clock.advance(61)
        await queue.answer(question.id, "red")
        await queue.run_duties()
        assert await status(queue, claim.task) == Status.READY

    async def test_many_questions_lapse_at_once(self, queue: Queue, clock: FakeClock) -> None:
        dag = await queue.add_dag("Own", [NewTask("job", number) for number in range(4)] + [NewTask("last")])
        for number in range(4):
            claim = await take(queue, "job")
            await queue.ask(claim, "Which one?", timeout=60, default="red" if number % 2 else None)
        await elapse(queue, clock, 61)
        assert [task.status for task in (await queue.get_dag(dag.id)).tasks] == [
            Status.DEAD_LETTERED,
            Status.CANCELLED,
            Status.DEAD_LETTERED,
            Status.CANCELLED,
            Status.CANCELLED,
        ]
        assert (await queue.get_dag(dag.id)).status == DagStatus.FAILED

    # Ends

    async def test_whatever_ends_the_task_closes_its_question(self, queue: Queue, clock: FakeClock) -> None:
        by_request, one = await asked(queue)
        await queue.cancel(by_request.task.id)
        parent = await queue.add("parent")
        late = await queue.add("job", deadline=30, on_deadline="cancel")
        two = await queue.ask(await take(queue, "job"), "Which one?")
        await queue.link(late.id, after=[parent])
        assert await status(queue, late) == Status.WAITING
        await elapse(queue, clock, 31)
        dependent, three = await asked(queue)
        await queue.link(dependent.task.id, after=[parent])
        await queue.cancel(parent.id)
        for task, question in ((by_request.task, one), (late, two), (dependent.task, three)):
            assert await status(queue, task) == Status.CANCELLED
            assert (await queue.get_question(question.id)).status == "closed"
            with pytest.raises(IllegalTransition):
                await queue.answer(question.id, 1)
            assert await status(queue, task) == Status.CANCELLED
        assert await queue.inbox() == []

    async def test_a_dag_that_is_cancelled_closes_the_questions_of_its_tasks(self, queue: Queue) -> None:
        dag = await queue.add_dag("Own", [NewTask("job"), NewTask("other", approval=True)])
        await queue.ask(await take(queue, "job"), "Which one?")
        assert len(await queue.inbox()) == 2
        await queue.cancel(dag.id)
        assert await queue.inbox() == []
        assert (await queue.get_dag(dag.id)).status == DagStatus.CANCELLED

    async def test_a_link_to_a_waiting_task_counts_when_it_is_answered(self, queue: Queue) -> None:
        claim, question = await asked(queue)
        parent = await queue.add("parent")
        task = await queue.link(claim.task.id, after=[parent])
        assert (task.status, task.blocked_by) == (Status.WAITING, (parent.id,))
        await queue.answer(question.id, 1)
        assert await status(queue, task) == Status.PENDING
        await finish(queue, "parent", "out")
        again = await take(queue, "job")
        assert (again.inputs, again.answers) == ({parent.id: "out"}, {question.id: 1})

    async def test_a_retry_without_its_steps_forgets_the_answers(self, queue: Queue) -> None:
        claim, question = await asked(queue)
        await queue.answer(question.id, "red")
        await queue.fail(await take(queue), "no", retry=False)
        await queue.retry(claim.task.id)
        kept = await take(queue)
        assert kept.answers == {question.id: "red"}
        await queue.fail(kept, "no", retry=False)
        await queue.retry(claim.task.id, keep_steps=False)
        anew = await take(queue)
        assert anew.answers == {}
        told = await queue.ask_under(anew, "Which one?")
        assert told.suspended
        assert told.question.id != question.id
        assert (await queue.get_question(question.id)).answer == "red"

    async def test_questions_go_with_their_task(self, queue: Queue, clock: FakeClock) -> None:
        claim, question = await asked(queue)
        await queue.cancel(claim.task.id)
        clock.advance(8 * 86_400)
        assert await queue.prune() == 1
        with pytest.raises(NotFound):
            await queue.answer(question.id, 1)

    async def test_why_names_the_question(self, queue: Queue) -> None:
        claim, question = await asked(queue, "Which one?", timeout=60, assignee="grace")
        why = await queue.why(claim.task.id)
        (blocker,) = why.blockers
        assert (blocker.kind, blocker.ids) == ("question", [question.id])
        assert blocker.until == question.expires_at
        assert "Which one?" in blocker.detail
        assert blocker.help == f"answer question {question.id}: dibs answer {question.id} VALUE"

    @pytest.mark.door
    async def test_another_client_answers(self, queue: Queue, other: Queue) -> None:
        _, question = await asked(queue)
        (found,) = await other.inbox()
        await other.answer(found.id, "red")
        assert (await take(queue)).answers == {question.id: "red"}

    async def test_a_store_with_questions_is_sound(self, queue: Queue) -> None:
        await asked(queue)
        parent = await queue.add("parent")
        await queue.add("held", after=[parent], approval=True)
        assert await queue.store.check() == []
