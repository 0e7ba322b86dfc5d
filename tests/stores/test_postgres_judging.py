"""Work that is judged while something else happens to it: whatever the order, it is decided, once, and nobody waits.

Each test steps two sessions of a real server through every order of their transactions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs import drafting, settling
from dibs.duties import Desk, conclude_one
from dibs.errors import DibsError, IllegalTransition, LeaseLost
from dibs.model.claim import Settled
from dibs.rules import validating
from dibs.stores.values import Ask, Insertion
from tests.stores.test_postgres_races import completing, every_order, finish, statuses

if TYPE_CHECKING:
    from dibs.model.claim import Claim
    from dibs.queue import Queue

JUDGED = {"validation": "judge", "rubric": "It is good."}


async def handed_in(queue: Queue) -> tuple[Claim, str]:
    """Work that was handed in and whose judge's task was added, which it does not wait for yet."""
    task = await queue.add("parent", expects=JUDGED)
    [claim] = await queue.claim("ada")
    done = settling.checked(claim, settling.completed(claim, 1), draw=lambda: 0.5)
    await queue.store.settle([done])
    id = validating.judge_id(task.id, claim.fence, 0)
    [draft] = drafting.drafts([validating.order(claim.task, 0)], project="default", now=0, new_id=lambda _: id)
    draft.task.parent_id = task.id
    await queue.store.insert(Insertion(drafts=[draft]))
    return claim, id


async def judging(queue: Queue) -> Claim:
    [claim] = await queue.claim("bob", capabilities=["judge"])
    return claim


def passing(claim: Claim) -> Any:
    async def verb(queue: Queue) -> Any:
        [answer] = await queue.store.settle([settling.completed(claim, {"verdict": "pass"})])
        return answer

    return verb


def waiting_for(claim: Claim, judge_id: str) -> Any:
    async def verb(queue: Queue) -> Any:
        try:
            return await queue.store.await_verdict(claim.task.id, claim.fence, judge_id)
        except DibsError as error:
            return error

    return verb


def deciding(claim: Claim, refusal: str | None) -> Any:
    async def verb(queue: Queue) -> Any:
        [answer] = await queue.store.settle([settling.concluded(claim, refusal, draw=lambda: 0.5)])
        return answer

    return verb


async def go_on(queue: Queue, claim: Claim) -> None:
    await conclude_one(Desk(queue.store, draw=lambda: 0.5), claim.task.id)


def test_a_verdict_that_comes_before_anybody_waits_for_it_is_not_missed(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        claim, judge_id = await handed_in(queue)
        return claim, judge_id, await judging(queue)

    def verbs(prepared: Any) -> Any:
        claim, judge_id, judge = prepared
        return passing(judge), waiting_for(claim, judge_id)

    async def check(queue: Queue, prepared: Any, answers: list[Any]) -> None:
        claim, _, _ = prepared
        assert isinstance(answers[0], Settled)
        assert answers[1] in (True, False)
        assert await queue.store.handed_in(10) == [claim.task.id]
        await go_on(queue, claim)
        assert await statuses(queue, claim.task) == ["completed"]
        assert await queue.store.check() == []

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_a_cancel_leaves_no_judge_to_work_for_nothing(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        return await handed_in(queue)

    def verbs(prepared: Any) -> Any:
        claim, judge_id = prepared
        return lambda queue: queue.store.cancel(claim.task.id, None), waiting_for(claim, judge_id)

    async def check(queue: Queue, prepared: Any, answers: list[Any]) -> None:
        claim, judge_id = prepared
        while await queue.store.spread():
            pass
        if isinstance(answers[1], LeaseLost):
            # Whoever wanted to wait for it ends it, as `conclude_one` does.
            await queue.store.cancel(judge_id, None)
        assert await statuses(queue, claim.task, await queue.get(judge_id)) == ["cancelled", "cancelled"]
        assert await queue.store.handed_in(10) == []
        assert await queue.store.check() == []

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_what_is_decided_twice_at_once_is_decided_once(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        claim, judge_id = await handed_in(queue)
        await queue.store.await_verdict(claim.task.id, claim.fence, judge_id)
        await queue.store.settle([settling.completed(await judging(queue), {"verdict": "pass"})])
        after = await queue.add("child", after=[claim.task.id])
        return claim, after

    def verbs(prepared: Any) -> Any:
        return deciding(prepared[0], None), deciding(prepared[0], None)

    async def check(queue: Queue, prepared: Any, answers: list[Any]) -> None:
        claim, after = prepared
        assert sorted(isinstance(answer, Settled) for answer in answers) == [False, True]
        assert any(isinstance(answer, LeaseLost) for answer in answers)
        assert await statuses(queue, claim.task, after) == ["completed", "ready"]
        [attempt] = await queue.history(claim.task.id)
        assert attempt.number == 1
        await finish(queue, after)
        assert await queue.store.check() == []

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_work_is_cancelled_or_completed_and_never_both(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        claim, judge_id = await handed_in(queue)
        await queue.store.await_verdict(claim.task.id, claim.fence, judge_id)
        await queue.store.settle([settling.completed(await judging(queue), {"verdict": "pass"})])
        return claim

    def verbs(claim: Any) -> Any:
        return deciding(claim, None), lambda queue: queue.store.cancel(claim.task.id, None)

    async def check(queue: Queue, claim: Any, answers: list[Any]) -> None:
        task = await queue.get(claim.task.id)
        if isinstance(answers[0], Settled):
            assert (task.status, answers[1]) == ("completed", [])
        else:
            assert (task.status, answers[1]) == ("cancelled", [task.id])
        assert task.output == 1
        assert await queue.store.check() == []

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_a_person_is_asked_or_it_is_decided(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        return (await handed_in(queue))[0]

    def verbs(claim: Any) -> Any:
        ask = Ask(
            task_id=claim.task.id,
            fence=claim.fence,
            id=f"q_{claim.task.id}",
            name="n",
            digest="d",
            question="Good?",
            kind="validation",
        )

        async def asking(queue: Queue) -> Any:
            try:
                return await queue.store.ask(ask)
            except DibsError as error:
                return error

        return asking, deciding(claim, "no")

    async def check(queue: Queue, claim: Any, answers: list[Any]) -> None:
        asked, decided = answers
        assert isinstance(asked, LeaseLost) != isinstance(decided, LeaseLost)
        assert await statuses(queue, claim.task) == ["retrying" if isinstance(decided, Settled) else "waiting"]
        assert await queue.store.check() == []
        await queue.cancel(claim.task.id)

    every_order(postgres_url, prepare, verbs, check, at_least=4)


def test_an_agent_that_says_it_again_is_answered_by_what_became_of_it(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> Any:
        return (await handed_in(queue))[0]

    def verbs(claim: Any) -> Any:
        return completing(claim), deciding(claim, None)

    async def check(queue: Queue, claim: Any, answers: list[Any]) -> None:
        # It says another thing than it handed in: that it is completed, which is not for it to say.
        assert isinstance(answers[0], IllegalTransition)
        assert isinstance(answers[1], Settled)
        assert await statuses(queue, claim.task) == ["completed"]
        assert await queue.store.check() == []

    every_order(postgres_url, prepare, verbs, check, at_least=4)
