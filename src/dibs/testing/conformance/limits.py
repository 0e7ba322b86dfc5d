"""A task's own limits: what all its attempts together may use, and what becomes of one that used more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs.model.status import Status
from dibs.testing.conformance.topic import Topic, status, take

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock


class Limits(Topic):
    async def test_a_renewal_tells_an_attempt_that_it_is_over_the_limit_of_its_task(self, queue: Queue) -> None:
        await queue.add("job", max_cost=0.5, max_tokens=100, max_turns=3, retry="immediate")
        claim = await take(queue)
        assert (await queue.renew(claim, cost=0.5, tokens_in=60, tokens_out=40, turns=3)).limits == {}
        assert (await queue.renew(claim, turns=4)).limits == {"exceeded": "max_turns"}
        assert (await queue.renew(claim, tokens_out=41)).limits == {"exceeded": "max_tokens"}
        assert (await queue.renew(claim, cost=0.51)).limits == {"exceeded": "max_cost"}
        assert (await queue.renew(claim)).limits == {"exceeded": "max_cost"}, "until it stops"

    async def test_what_earlier_attempts_used_counts(self, queue: Queue) -> None:
        await queue.add("job", max_cost=0.5, retry="immediate")
        await queue.fail(await take(queue), "no", cost=0.3)
        claim = await take(queue)
        assert (await queue.renew(claim, cost=0.2)).limits == {}
        assert (await queue.renew(claim, cost=0.25)).limits == {"exceeded": "max_cost"}

    @pytest.mark.parametrize("told", ["at the end", "before"])
    def test_work_that_used_more_than_it_may_is_no_success(self, told: str) -> None:
        async def check(_: Topic, queue: Queue, clock: FakeClock) -> None:
            task = await queue.add("job", max_cost=0.5)
            child = await queue.add("child", after=[task])
            claim = await take(queue)
            options: dict[str, Any] = {"cost": 0.75} if told == "at the end" else {}
            if told == "before":
                await queue.renew(claim, cost=0.75)
            settled = await queue.complete(claim, {"found": 1}, **options)
            assert (settled.outcome, settled.status) == ("failed", "dead_lettered")
            again = await queue.complete(claim, {"found": 1}, **options)
            assert again == settled
            ended = await queue.get(task.id)
            assert (ended.status, ended.reason) == (Status.DEAD_LETTERED, "budget_exceeded")
            assert ended.error is not None
            assert "max_cost of $0.50" in ended.error
            assert (ended.output, ended.cost_usd) == ({"found": 1}, 0.75)
            assert await status(queue, child) is Status.CANCELLED

        self.run(check)

    async def test_a_failure_over_the_limit_is_not_tried_again(self, queue: Queue) -> None:
        task = await queue.add("job", max_turns=2)
        await queue.fail(await take(queue), "no", turns=3)
        ended = await queue.get(task.id)
        assert (ended.status, ended.reason, ended.error) == (Status.DEAD_LETTERED, "budget_exceeded", "no")
