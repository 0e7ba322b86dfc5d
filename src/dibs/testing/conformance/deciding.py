"""Dead letters that somebody else shall decide about: each is a question, and the answer is a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import DibsError, IllegalTransition, Invalid
from dibs.model.status import Status
from dibs.testing.conformance.escalating import add, fail, sound
from dibs.testing.conformance.topic import Topic, events, status, story, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Deciding(Topic):
    async def test_an_escalated_dead_letter_is_a_question_in_somebodys_inbox(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        task = await add(queue, max_attempts=1)
        await fail(queue)
        handed = await queue.review(task.id, "escalated", by="grace", to="team:payments", note="ask them")
        [question] = await queue.inbox(assignee="team:payments")
        assert (question.kind, question.task_id, question.asked_at) == ("decision", task.id, clock.now)
        assert question.question == "It was given up: no a - retry, drop or keep it?"
        assert handed.reviews[-1].question == question.id
        assert await status(queue, task) == Status.DEAD_LETTERED
        told = (await events(queue))[-1]
        assert told.data == {"by": "grace", "note": "ask them", "to": "team:payments", "question": question.id}
        await sound(queue)

    async def test_answered_with_retry_it_lives_again_and_its_claim_has_the_answer(self, queue: Queue) -> None:
        task = await add(queue, max_attempts=1)
        await fail(queue)
        await queue.review(task.id, "escalated", by="grace", to="ada", question="Is the card valid?")
        [question] = await queue.inbox()
        assert question.question == "Is the card valid?"
        answer = {"do": "retry", "note": "use the other card"}
        await queue.answer(question.id, answer, by="ada")
        assert (await story(queue, task.id))[-3:] == ["answered", "ready", "reviewed"]
        claim = await take(queue)
        assert claim.answers == {question.id: answer}
        last = claim.task.reviews[-1]
        assert (last.resolution, last.by, last.note, last.question) == ("retried", "ada", "use the other card", None)
        await sound(queue)

    async def test_answered_with_drop_it_is_cancelled(self, queue: Queue) -> None:
        task = await add(queue, max_attempts=1)
        await fail(queue)
        await queue.review(task.id, "escalated", by="grace", to="ada")
        [question] = await queue.inbox()
        answered = await queue.answer(question.id, "drop", by="ada")
        assert (answered.status, answered.answer) == ("answered", "drop")
        dropped = await queue.get(task.id)
        assert (dropped.status, dropped.reason) == (Status.CANCELLED, "dropped")
        assert [(each.resolution, each.by) for each in dropped.reviews] == [("escalated", "grace"), ("dropped", "ada")]
        # The reply was lost, so it is said again.
        assert (await queue.answer(question.id, "drop")).status == "answered"
        with pytest.raises(IllegalTransition):
            await queue.answer(question.id, "retry")
        await sound(queue)

    async def test_answered_with_a_note_it_stays_as_it_is(self, queue: Queue, clock: FakeClock) -> None:
        task = await add(queue, max_attempts=1)
        await fail(queue)
        await queue.review(task.id, "escalated", by="grace", to="ada")
        [question] = await queue.inbox()
        await queue.answer(question.id, "the page is gone", by="ada")
        kept = await queue.get(task.id)
        assert (kept.status, kept.reviews[-1].resolution) == (Status.DEAD_LETTERED, "kept")
        assert kept.reviews[-1].note == "the page is gone"
        assert await queue.dead_letter_ids(reviewed=False) == []
        clock.advance(8 * 86_400)
        assert await queue.prune() == 1

    async def test_any_other_decision_closes_the_question(self, queue: Queue) -> None:
        kept, handed_on, retried, revived = [await add(queue, max_attempts=1) for _ in range(4)]
        await fail(queue, 4)
        for task in (kept, handed_on, retried, revived):
            await queue.review(task.id, "escalated", by="grace", to="ada")
        await queue.review(kept.id, "kept", by="grace")
        await queue.review(handed_on.id, "escalated", by="grace", to="boss")
        await queue.review(retried.id, "retried", by="grace")
        await queue.retry(revived.id)
        [left] = await queue.inbox()
        assert (left.task_id, left.assignee) == (handed_on.id, "boss")
        closed = [question for question in await queue.questions_of(kept.id) if question.status == "closed"]
        with pytest.raises(IllegalTransition):
            await queue.answer(closed[0].id, "retry")
        await sound(queue)

    async def test_a_retry_that_is_refused_leaves_the_question_open(self, queue: Queue) -> None:
        task = await add(queue, max_attempts=1, key="k")
        await fail(queue)
        await queue.review(task.id, "escalated", by="grace", to="ada")
        await add(queue, key="k")
        [question] = await queue.inbox()
        before = await queue.store.last_seq()
        with pytest.raises(DibsError) as caught:
            await queue.answer(question.id, "retry")
        assert caught.value.code == "key_reused"
        assert await queue.inbox() == [question]
        assert await queue.store.last_seq() == before
        await sound(queue)

    @pytest.mark.parametrize(
        "value", [7, "", None, {"do": "burn"}, {"note": "hm"}, {"do": "retry", "delay": 5}, ["drop"]]
    )
    def test_an_answer_that_decides_nothing_is_refused(self, value: Any) -> None:
        async def check(self: Topic, queue: Queue) -> None:
            task = await add(queue, max_attempts=1)
            await fail(queue)
            await queue.review(task.id, "escalated", by="grace", to="ada")
            [question] = await queue.inbox()
            with pytest.raises(Invalid) as caught:
                await queue.answer(question.id, value)
            assert caught.value.field == "value"
            assert await queue.inbox() == [question]

        self.run(check)

    async def test_only_what_is_escalated_is_asked_about(self, queue: Queue) -> None:
        task = await add(queue, max_attempts=1)
        await fail(queue)
        for resolution, question, to in (("kept", "why?", None), ("escalated", " ", "ada")):
            with pytest.raises(Invalid) as caught:
                await queue.review(task.id, resolution, by="grace", question=question, to=to)
            assert caught.value.field == "question"
        assert (await queue.get(task.id)).reviews == ()
        assert await queue.inbox() == []
