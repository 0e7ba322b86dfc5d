"""Work that others judge, wherever the store goes away: verbs that are said again end where they would have ended."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

import dibs
from dibs import drafting, settling
from dibs.model.status import Outcome, Status
from dibs.queue import Queue
from dibs.stores.memory import MemoryStore
from dibs.stores.values import Insertion
from dibs.testing import FakeClock
from tests.proofs.faulty import Faulty

JUDGED: dict[str, Any] = {"validation": ["judge", "human"], "rubric": "It rhymes.", "criteria": ["rhymes"]}
BAD = {"verdict": "fail", "criteria": {"rhymes": {"pass": False}}, "reason": "no"}
GOOD = {"verdict": "pass", "criteria": {"rhymes": {"pass": True}}}
MOST_CALLS = 200


async def _said(verb: Any, *args: Any, **options: Any) -> Any:
    while True:
        try:
            return await verb(*args, **options)
        except dibs.Unavailable:
            pass


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("verdict", [GOOD, BAD], ids=["pass", "fail"])
def test_a_fault_at_any_call_changes_nothing(when: str, verdict: dict[str, Any]) -> None:
    asyncio.run(_judge_with_faults(when, verdict))


async def _judge_with_faults(when: str, verdict: dict[str, Any]) -> None:
    for point in range(1, MOST_CALLS):
        clock = FakeClock()
        store = Faulty(MemoryStore(clock=clock), point, when)
        queue = Queue(store)
        task = await _said(queue.add, "poem", expects=JUDGED, key="poem", retry="immediate")
        [claim] = await _said(queue.claim, "ada", claim_id="one")
        done = await _said(queue.complete, claim, "a poem", cost=0.5)
        # The answer tells where the task is by then.
        assert (done.outcome, done.status) == ("submitted", "validating")
        clock.advance(2)
        [judge] = await _said(queue.claim, "bob", capabilities=["judge"], types=["judge"], claim_id="two")
        assert (await _said(queue.complete, judge, verdict)).outcome == "completed"
        clock.advance(2)
        await _said(queue.run_duties)
        if verdict is GOOD:
            [question] = await _said(queue.inbox)
            await _said(queue.answer, question.id, True)
            clock.advance(2)
            await _said(queue.run_duties)
        ended = await _said(queue.get, task.id)
        assert ended.status == ("completed" if verdict is GOOD else "ready")
        assert (ended.attempts, ended.cost_usd) == (1, 0.5)
        [attempt] = await _said(queue.history, task.id)
        assert attempt.outcome == ("completed" if verdict is GOOD else "rejected")
        assert await _said(store.check) == []
        if len(store.called) < point:
            return
    pytest.fail("there are more calls than were tried")


def test_a_cancel_that_comes_in_between_leaves_no_judge_behind() -> None:
    async def story() -> None:
        class Slow(MemoryStore):
            async def await_verdict(self, task_id: str, fence: int, judge_id: str) -> bool:
                # Somebody cancels the task before it is known who judges it.
                await self.cancel(task_id, None)
                return await super().await_verdict(task_id, fence, judge_id)

        queue = Queue(Slow())
        task = await queue.add("poem", expects=JUDGED)
        [claim] = await queue.claim("ada")
        settled = await queue.complete(claim, "a poem")
        assert (settled.outcome, settled.status) == ("submitted", "cancelled")
        assert (await queue.get(f"{task.id}_judge_1_0")).status == "cancelled"
        assert await queue.store.handed_in(10) == []

    asyncio.run(story())


def test_an_agent_with_the_longest_name_is_kept_from_judging_itself() -> None:
    async def story() -> None:
        name = "a" * 200
        queue = Queue(MemoryStore())
        await queue.add("poem", expects=JUDGED)
        [claim] = await queue.claim(name)
        await queue.complete(claim, "a poem")
        assert await queue.claim(name, capabilities=["judge"]) == []
        assert len(await queue.claim("b", capabilities=["judge"])) == 1

    asyncio.run(story())


def test_a_contract_of_a_later_version_is_left_to_one_that_knows_it() -> None:
    async def story() -> None:
        clock = FakeClock()
        queue = Queue(MemoryStore(clock=clock))
        [draft] = drafting.drafts([dibs.NewTask("poem")], project="default", now=0, new_id=lambda _: "task_1")
        draft.task.expects = {"validation": "oracle"}
        await queue.store.insert(Insertion(drafts=[draft]))
        [claim] = await queue.claim("ada")
        done = settling.completed(claim, "a poem")
        await queue.store.settle([replace(done, outcome=Outcome.SUBMITTED, next=Status.VALIDATING)])
        clock.advance(2)
        assert (await queue.run_duties())["conclude"] == 1
        assert (await queue.get("task_1")).status == "validating"

    asyncio.run(story())


def test_what_a_person_says_must_be_an_answer() -> None:
    async def story() -> None:
        queue = Queue(MemoryStore())
        task = await queue.add("poem", expects={"validation": "human"})
        [claim] = await queue.claim("ada")
        await queue.complete(claim, "a poem")
        [question] = await queue.inbox()
        for value in ("perhaps", {"approve": "yes"}, {"reason": "x"}, {"approve": True, "more": 1}):
            with pytest.raises(dibs.Invalid) as caught:
                await queue.answer(question.id, value)
            assert caught.value.field == "value"
        assert (await queue.get(task.id)).status == "waiting"

    asyncio.run(story())
