"""Whatever two clients do at the same time with a question, it is answered once or closed, and its task goes one way.

Each test steps two sessions of a real server through every order of their transactions.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dibs import settling
from dibs.errors import IllegalTransition, LeaseLost
from dibs.model.claim import Settled
from dibs.model.ids import new_id
from dibs.model.question import Question
from dibs.model.task import NewTask, Task
from dibs.stores.values import Ask, Asked
from tests.servers import clients

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dibs.model.claim import Claim
    from dibs.queue import Queue


every_order = partial(clients.every_order, at_least=4)


async def held(queue: Queue) -> Claim:
    await queue.add("job")
    [claim] = await queue.claim("ada")
    return claim


def wish(claim: Claim, **options: Any) -> Ask:
    return Ask(
        task_id=claim.task.id,
        fence=claim.fence,
        id=new_id("q"),
        name="one",
        digest="d",
        question="Which one?",
        **options,
    )


async def asked(queue: Queue, **options: Any) -> Question:
    return (await queue.store.ask(wish(await held(queue), **options))).question


def answering(question: Question, value: bytes) -> Callable[[Queue], Awaitable[Any]]:
    return lambda queue: queue.store.answer(question.id, value, "grace")


async def finish(queue: Queue) -> None:
    """Leave nothing for the next run."""
    for claim in await queue.claim("ada", limit=100):
        await queue.complete(claim)


def test_of_two_answers_one_counts(postgres_url: str) -> None:
    def verbs(question: Question) -> Any:
        return answering(question, b'"red"'), answering(question, b'"blue"')

    async def check(queue: Queue, question: Question, answers: list[Any]) -> None:
        [won] = [answer for answer in answers if isinstance(answer, Question)]
        assert sum(isinstance(answer, IllegalTransition) for answer in answers) == 1
        [claim] = await queue.claim("ada")
        assert claim.answers == {question.id: won.answer}
        await queue.complete(claim)

    every_order(postgres_url, asked, verbs, check)


def test_the_same_answer_twice_is_answered_twice(postgres_url: str) -> None:
    def verbs(question: Question) -> Any:
        return answering(question, b'"red"'), answering(question, b'"red"')

    async def check(queue: Queue, _: Question, answers: list[Any]) -> None:
        assert [answer.answer for answer in answers] == ["red", "red"]
        await finish(queue)

    every_order(postgres_url, asked, verbs, check)


def test_a_task_that_is_cancelled_while_it_is_answered_is_cancelled(postgres_url: str) -> None:
    def verbs(question: Question) -> Any:
        return answering(question, b'"red"'), lambda queue: queue.store.cancel(question.task_id, None)

    async def check(queue: Queue, question: Question, answers: list[Any]) -> None:
        assert (await queue.get(question.task_id)).status == "cancelled"
        found = await queue.get_question(question.id)
        assert found.status == ("answered" if isinstance(answers[0], Question) else "closed")

    every_order(postgres_url, asked, verbs, check)


def test_a_question_that_is_answered_while_its_time_ends_does_one_or_the_other(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Question:
        return await asked(queue, timeout_s=0.0)

    def verbs(question: Question) -> Any:
        return answering(question, b'"red"'), lambda queue: queue.store.lapse(10)

    async def check(queue: Queue, question: Question, answers: list[Any]) -> None:
        # Who finds the task's row taken leaves it for the next time.
        await queue.store.lapse(10)
        task = await queue.get(question.task_id)
        if isinstance(answers[0], Question):
            assert task.status == "ready"
            await finish(queue)
        else:
            assert isinstance(answers[0], IllegalTransition)
            assert task.status == "dead_lettered"

    every_order(postgres_url, prepare, verbs, check)


def test_who_asks_while_the_task_is_cancelled_has_asked_or_not(postgres_url: str) -> None:
    def verbs(claim: Claim) -> Any:
        return lambda queue: queue.store.ask(wish(claim)), lambda queue: queue.store.cancel(claim.task.id, None)

    async def check(queue: Queue, claim: Claim, answers: list[Any]) -> None:
        assert (await queue.get(claim.task.id)).status == "cancelled"
        assert isinstance(answers[0], Asked | LeaseLost)
        assert await queue.inbox() == []

    every_order(postgres_url, held, verbs, check)


def test_who_asks_twice_at_once_asks_once(postgres_url: str) -> None:
    def verbs(claim: Claim) -> Any:
        return lambda queue: queue.store.ask(wish(claim)), lambda queue: queue.store.ask(wish(claim))

    async def check(queue: Queue, claim: Claim, answers: list[Any]) -> None:
        assert [answer.suspended for answer in answers] == [True, True]
        [question] = await queue.inbox()
        assert {answer.question.id for answer in answers} == {question.id}
        assert len(await queue.history(claim.task.id)) == 1
        await queue.cancel(claim.task.id)

    every_order(postgres_url, held, verbs, check)


def test_who_asks_and_completes_at_once_does_one_of_them(postgres_url: str) -> None:
    def verbs(claim: Claim) -> Any:
        async def completing(queue: Queue) -> Any:
            [answer] = await queue.store.settle([settling.completed(claim, 1)])
            return answer

        return lambda queue: queue.store.ask(wish(claim)), completing

    async def check(queue: Queue, claim: Claim, answers: list[Any]) -> None:
        status = (await queue.get(claim.task.id)).status
        if isinstance(answers[0], Asked):
            assert (status, isinstance(answers[1], IllegalTransition)) == ("waiting", True)
            await queue.cancel(claim.task.id)
        else:
            assert (status, isinstance(answers[1], Settled)) == ("completed", True)
            assert await queue.inbox() == []

    every_order(postgres_url, held, verbs, check)


def test_a_task_whose_parent_completes_while_it_is_approved_is_ready(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        parent, task = await queue.add_many([NewTask("parent", ref="a"), NewTask("job", after=["a"], approval=True)])
        [claim] = await queue.claim("ada")
        assert claim.task.id == parent.id
        [question] = await queue.inbox()
        return claim, task, question

    def verbs(prepared: Any) -> Any:
        claim, _, question = prepared
        return answering(question, b"true"), lambda queue: queue.store.settle([settling.completed(claim, 1)])

    async def check(queue: Queue, prepared: tuple[Claim, Task, Question], answers: list[Any]) -> None:
        assert (await queue.get(prepared[1].id)).status == "ready"
        await finish(queue)

    every_order(postgres_url, prepare, verbs, check)
