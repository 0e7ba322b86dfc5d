"""Many claims that end at once, each in its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.errors import DibsError, Invalid
from dibs.model.ended import Ended
from dibs.model.status import Status
from dibs.testing.conformance.topic import Topic, status

if TYPE_CHECKING:
    from dibs.model.claim import Claim
    from dibs.queue import Queue


async def taken(queue: Queue, count: int, **options: Any) -> list[Claim]:
    for number in range(count):
        await queue.add("code", {"n": number}, **options)
    return await queue.claim("ada", limit=count)


def ended(claim: Claim, outcome: str, **options: Any) -> Ended:
    return Ended(task_id=claim.task.id, fence=claim.fence, outcome=outcome, **options)


class Outcomes(Topic):
    @pytest.mark.door
    async def test_each_ends_in_its_own_way(self, queue: Queue) -> None:
        done, failed, given_back, lost = await taken(queue, 4)
        answers = await queue.settle_outcomes(
            [
                ended(done, "completed", output={"words": 3}, cost=0.5, decision={"because": "it fits"}),
                ended(failed, "failed", error="boom", retry=False, exit_code=3),
                ended(given_back, "released", delay=60),
                Ended(task_id=lost.task.id, fence=lost.fence + 1, outcome="completed"),
            ]
        )
        told = [answer.code if isinstance(answer, DibsError) else answer.status for answer in answers]
        assert told == ["completed", "dead_lettered", "retrying", "lease_lost"]
        task = await queue.get(done.task.id)
        assert (task.output, task.cost_usd, task.decision) == ({"words": 3}, 0.5, {"because": "it fits"})
        assert (await queue.get(failed.task.id)).exit_code == 3
        assert await status(queue, lost.task) == Status.RUNNING

    @pytest.mark.door
    async def test_saying_it_again_is_answered_the_same(self, queue: Queue) -> None:
        claims = await taken(queue, 2)
        said = [ended(claims[0], "completed", output=1), ended(claims[1], "failed", error="boom")]
        first = await queue.settle_outcomes(said)
        assert await queue.settle_outcomes(said) == first
        [other] = await queue.settle_outcomes([ended(claims[0], "completed", output=2)])
        assert isinstance(other, DibsError)
        assert other.code == "illegal_transition"

    @pytest.mark.door
    async def test_claims_that_are_at_hand_need_not_be_looked_up(self, queue: Queue) -> None:
        claims = await taken(queue, 3)
        known = {(claim.task.id, claim.fence): claim for claim in claims}
        answers = await queue.settle_outcomes([ended(claim, "completed") for claim in claims], known=known)
        assert [getattr(answer, "status", None) for answer in answers] == ["completed"] * 3

    @pytest.mark.door
    async def test_what_is_wrong_with_one_does_not_harm_the_others(self, queue: Queue) -> None:
        claims = await taken(queue, 7)
        answers = await queue.settle_outcomes(
            [
                ended(claims[0], "vanished"),
                ended(claims[1], "failed"),
                ended(claims[2], "completed", cost=-1),
                ended(claims[3], "completed", judged="perhaps"),
                ended(claims[4], "completed", refusal="no"),
                ended(claims[5], "released", delay="soon"),
                ended(claims[6], "completed"),
            ]
        )
        fields = [answer.field if isinstance(answer, Invalid) else None for answer in answers]
        assert fields == ["outcome", "error", "cost", "judged", "judged", "delay", None]
        assert await status(queue, claims[6].task) == Status.COMPLETED
        assert {(await queue.get(claim.task.id)).status for claim in claims[:6]} == {Status.RUNNING}

    @pytest.mark.door
    async def test_an_output_that_is_not_what_was_expected_is_rejected(self, queue: Queue) -> None:
        expects = {"validation": "regex", "pattern": "^yes"}
        good, bad = await taken(queue, 2, expects=expects)
        answers = await queue.settle_outcomes(
            [ended(good, "completed", output="yes"), ended(bad, "completed", output="no")]
        )
        assert [getattr(answer, "outcome", None) for answer in answers] == ["completed", "rejected"]

    @pytest.mark.door
    async def test_no_more_than_a_thousand_are_taken_at_once(self, queue: Queue) -> None:
        with pytest.raises(Invalid) as refused:
            await queue.settle_outcomes([Ended(task_id="task_x", fence=1, outcome="completed")] * 1_001)
        assert refused.value.field == "outcomes"
        assert await queue.settle_outcomes([]) == []
