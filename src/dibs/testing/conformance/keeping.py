"""Work that a command has to judge: written down before that begins, so that only the judgement is made again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dibs import keeping, settling
from dibs.errors import LeaseLost
from dibs.testing.conformance.topic import Topic, elapse, take

if TYPE_CHECKING:
    from dibs.model.claim import Claim
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

EXPECTS = {"validation": "command", "argv": ["true"]}


async def made(queue: Queue, output: Any, **options: Any) -> Claim:
    """A claim whose work is done and is being judged."""
    claim = await take(queue, lease=10, **options)
    await keep(queue, claim, output)
    return claim


async def keep(queue: Queue, claim: Claim, output: Any) -> None:
    await keeping.keep(queue.store, claim, settling.completed(claim, output, decision={"decision": "yes"}))


class Keeping(Topic):
    async def test_what_a_killed_agent_made_reaches_the_next_claim(self, queue: Queue, clock: FakeClock) -> None:
        task = await queue.add("job", {"a": 1, "b": 2}, expects=EXPECTS, retry="immediate")
        claim = await made(queue, {"n": 1})
        assert claim.made is None
        await elapse(queue, clock, 11)
        again = await take(queue)
        assert again.made is not None
        assert (again.made.output, again.made.decision) == ({"n": 1}, {"decision": "yes"})
        assert (again.made.fence, again.made.agent) == (1, "ada")
        assert keeping.is_here(again.made)
        await queue.complete(again, again.made.output)
        ended = await queue.get(task.id)
        assert (ended.status, ended.output, ended.attempts, ended.crashes) == ("completed", {"n": 1}, 2, 1)

    async def test_of_what_was_made_the_last_is_kept(self, queue: Queue) -> None:
        await queue.add("job", expects=EXPECTS, retry="immediate")
        claim = await made(queue, 1)
        await keep(queue, claim, 2)
        assert [entry.kind for entry in await queue.journal(claim.task.id)] == ["made"]
        await queue.release(claim)
        again = await take(queue)
        assert again.made is not None
        assert again.made.output == 2

    async def test_what_was_refused_is_made_again(self, queue: Queue) -> None:
        await queue.add("job", expects={"validation": "command", "argv": ["false"]}, retry="immediate")
        await queue.complete(await take(queue), 1)
        again = await take(queue)
        assert again.previous_attempts[-1].outcome == "rejected"
        assert again.made is None

    async def test_who_gave_it_back_untouched_left_it_as_it_was(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", expects=EXPECTS, retry="immediate")
        await queue.release(await made(queue, 1))
        await queue.release(await take(queue))
        await elapse(queue, clock, 400)
        again = await take(queue)
        assert again.made is not None
        await queue.fail(again, "no")
        assert (await take(queue)).made is None

    async def test_another_payload_is_done_anew(self, queue: Queue) -> None:
        for options, kept in (({}, True), ({"payload": 2}, False), ({"keep_steps": False}, False)):
            task = await queue.add("job", 1, expects=EXPECTS)
            await queue.release(await made(queue, "done"))
            await queue.cancel(task.id)
            await queue.retry(task.id, **options)
            assert ((await take(queue)).made is not None) is kept, options

    async def test_only_who_holds_it_writes_down_what_was_made(self, queue: Queue, clock: FakeClock) -> None:
        await queue.add("job", expects=EXPECTS, retry="immediate")
        claim = await made(queue, 1)
        await elapse(queue, clock, 11)
        with pytest.raises(LeaseLost):
            await keep(queue, claim, 2)
        again = await take(queue)
        assert again.made is not None
        assert again.made.output == 1
