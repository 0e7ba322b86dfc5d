"""Work that others judge: handed in without a lease, decided once, and never done again because a judge was lost."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from dibs import drafting, settling
from dibs.duties import Desk, conclude_one
from dibs.errors import IllegalTransition, LeaseLost, NotFound
from dibs.model.status import Outcome, Status
from dibs.model.task import NewTask
from dibs.rules import questions, validating
from dibs.stores.values import Ask, Draft, Insertion
from dibs.testing.conformance.topic import Topic, elapse, events, nothing, status, story, take

if TYPE_CHECKING:
    from dibs.model.claim import Claim
    from dibs.queue import Queue
    from dibs.testing.clock import FakeClock

JUDGED: dict[str, Any] = {"validation": "judge", "rubric": "It rhymes.", "criteria": ["rhymes"]}
SEEN: dict[str, Any] = {"validation": "human", "assignee": "grace"}
BOTH: dict[str, Any] = {**JUDGED, "validation": ["decision-report", "llm-judge", "human"]}

GOOD = {"verdict": "pass", "criteria": {"rhymes": {"pass": True}}}
BAD = {"verdict": "fail", "criteria": {"rhymes": {"pass": False, "reason": "sea and tree do not"}}, "reason": "no poem"}


async def handed_in(queue: Queue, expects: dict[str, Any] = JUDGED, output: Any = "a poem", **options: Any) -> Claim:
    """A task whose work was handed in by ada."""
    await queue.add("poem", {"about": "tea"}, title="A poem", expects=expects, **options)
    claim = await take(queue, "poem")
    settled = await queue.complete(claim, output, decision={"decision": "tea", "reasoning": "asked for"})
    assert settled.outcome == Outcome.SUBMITTED
    return claim


async def handed_in_only(queue: Queue, expects: dict[str, Any]) -> Claim:
    """Work that was handed in by a process that was killed right after."""
    await queue.add("poem", expects=expects)
    claim = await take(queue, "poem")
    done = settling.checked(claim, settling.completed(claim, "a poem"), draw=lambda: 0.5)
    await queue.store.settle([done])
    return claim


def draft_of(queue: Queue, claim: Claim, judge_id: str) -> Draft:
    """What is inserted for its judge."""
    spec = validating.order(claim.task, 0)
    [draft] = drafting.drafts([spec], project="default", now=queue.store.now(), new_id=lambda _: judge_id)
    return draft


async def judge(queue: Queue, verdict: Any = GOOD, agent: str = "bob") -> Claim:
    """Somebody judges."""
    claim = await take(queue, "judge", agent=agent, capabilities=["judge"])
    await queue.complete(claim, verdict)
    return claim


class Validating(Topic):
    async def test_work_is_handed_in_and_nobody_holds_it(self, queue: Queue, clock: FakeClock) -> None:
        claim = await handed_in(queue)
        task = await queue.get(claim.task.id)
        assert (task.status, task.agent, task.lease_expires_at) == (Status.VALIDATING, "ada", None)
        assert (task.output, task.attempts, task.completed_at) == ("a poem", 0, None)
        assert task.decision == {"decision": "tea", "reasoning": "asked for"}
        (attempt,) = await queue.history(task.id)
        assert (attempt.outcome, attempt.number, attempt.agent) == (Outcome.SUBMITTED, 0, "ada")
        with pytest.raises(LeaseLost):
            await queue.renew(claim)
        assert [list(agent.tasks) for agent in await queue.agents()] == [[]]
        await elapse(queue, clock, 100_000)
        assert await status(queue, task) == Status.VALIDATING
        assert (await story(queue, task.id))[-1] == "validating"
        assert await nothing(queue, "poem")
        (found,) = (await queue.find(status="validating")).items
        assert (found.id, found.output) == (task.id, "a poem")
        assert await queue.store.check() == []

    async def test_a_judge_gets_a_task_with_all_there_is_to_know(self, queue: Queue) -> None:
        claim = await handed_in(queue, priority=20, user="grace")
        found = await take(queue, "judge", agent="bob", capabilities=["judge"])
        assert found.task.id == validating.judge_id(claim.task.id, 1, 0)
        assert found.task.payload == {
            "task": {
                "id": claim.task.id,
                "type": "poem",
                "title": "A poem",
                "payload": {"about": "tea"},
                "decision": {"decision": "tea", "reasoning": "asked for"},
            },
            "output": "a poem",
            "rubric": "It rhymes.",
            "criteria": ["rhymes"],
        }
        assert (found.task.parent_id, found.task.priority, found.task.user) == (claim.task.id, 20, "grace")
        assert (found.task.requires, found.task.title) == (("judge",), "Judge A poem")
        assert found.task.dag_id != claim.task.dag_id
        judged = await queue.get(claim.task.id)
        assert (judged.blocked_by, judged.depends_on) == ((found.task.id,), ())

    async def test_the_author_never_judges_itself(self, queue: Queue) -> None:
        await handed_in(queue)
        assert await nothing(queue, "judge", agent="ada", capabilities=["judge"])
        assert await nothing(queue, "judge", agent="bob")
        await judge(queue, agent="eve")

    @pytest.mark.routing
    async def test_a_pass_completes_the_work_and_releases_what_waited_for_it(self, queue: Queue) -> None:
        claim = await handed_in(queue)
        after = await queue.add("print", after=[claim.task.id])
        await judge(queue)
        task = await queue.get(claim.task.id)
        assert (task.status, task.attempts, task.output, task.agent) == (Status.COMPLETED, 1, "a poem", "ada")
        assert task.decision == {"decision": "tea", "reasoning": "asked for"}
        assert task.error is task.reason is None
        (attempt,) = await queue.history(task.id)
        assert (attempt.outcome, attempt.number, attempt.error) == (Outcome.COMPLETED, 1, None)
        released = await take(queue, "print")
        assert (released.task.id, released.inputs) == (after.id, {task.id: "a poem"})
        assert (await story(queue, task.id))[-2:] == ["validating", "completed"]
        assert await queue.store.handed_in(10) == []
        assert await queue.store.check() == []

    async def test_a_fail_is_tried_again_and_the_next_attempt_hears_why(self, queue: Queue) -> None:
        claim = await handed_in(queue, retry="immediate", max_attempts=2)
        await judge(queue, BAD)
        task = await queue.get(claim.task.id)
        assert (task.status, task.attempts, task.reason) == (Status.READY, 1, "invalid_output")
        assert (task.output, task.decision, task.agent) == (None, None, None)
        again = await take(queue, "poem")
        assert (again.fence, again.inputs, again.children) == (2, {}, {})
        (before,) = again.previous_attempts
        assert (before.outcome, before.number, before.reason) == (Outcome.REJECTED, 1, "invalid_output")
        assert before.error == "refused by judge for 2 reasons: no poem\nrhymes: sea and tree do not"
        await queue.complete(again, "a better poem", decision={"decision": 1, "reasoning": 1})
        await judge(queue, BAD)
        dead = await queue.get(task.id)
        assert (dead.status, dead.attempts, dead.output) == (Status.DEAD_LETTERED, 2, None)
        assert await queue.store.check() == []

    async def test_a_judges_no_climbs_the_ladder_of_the_task(self, queue: Queue) -> None:
        rung = {"after": 1, "do": "ask", "to": "grace", "question": "What shall rhyme?"}
        await queue.set_escalation([rung], type="poem")
        claim = await handed_in(queue)
        await judge(queue, BAD)
        task = await queue.get(claim.task.id)
        assert (task.status, task.attempts, task.output) == (Status.WAITING, 1, None)
        [question] = await queue.inbox(assignee="grace")
        assert (question.kind, question.question) == ("escalation", "What shall rhyme?")
        assert (await story(queue, task.id))[-2:] == ["escalated", "waiting"]
        await queue.answer(question.id, "tea and sea", by="grace")
        again = await take(queue, "poem")
        assert again.answers == {question.id: "tea and sea"}
        await queue.complete(again, "a better poem")
        await judge(queue)
        assert await status(queue, task) == Status.COMPLETED

    async def test_an_author_who_was_given_the_judges_task_after_all_decides_nothing(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.set_escalation([{"after": 1, "do": "reassign", "agent": "ada"}], type="judge")
        claim = await handed_in(queue)
        await queue.fail(await take(queue, "judge", agent="bob", capabilities=["judge"]), "no idea")
        await elapse(queue, clock, 3600)
        await judge(queue, GOOD, agent="ada")
        assert await status(queue, claim.task) == Status.WAITING
        [question] = await queue.inbox()
        assert "judged by its author (ada" in question.question

    async def test_handing_in_closes_a_breaker_that_waits_for_its_probe_and_a_rejection_counts(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        await queue.set_breaker("poem", failure_threshold=1, half_open_after_s=10)
        await queue.add("poem", max_attempts=1)
        await queue.fail(await take(queue, "poem"), "no")
        clock.advance(11)
        await handed_in(queue)
        assert [breaker.state for breaker in await queue.breakers() if breaker.type == "poem"] == ["closed"]
        await judge(queue, BAD)
        assert [breaker.state for breaker in await queue.breakers() if breaker.type == "poem"] == ["open"]

    async def test_a_dead_letter_takes_what_depended_on_it_along(self, queue: Queue) -> None:
        claim = await handed_in(queue, max_attempts=1)
        after = await queue.add("print", after=[claim.task.id])
        await judge(queue, BAD)
        assert await status(queue, claim.task) == Status.DEAD_LETTERED
        assert await status(queue, after) == Status.CANCELLED

    async def test_a_verdict_that_is_none_is_the_judges_fault(self, queue: Queue, clock: FakeClock) -> None:
        claim = await handed_in(queue)
        for verdict in ("pass", {"verdict": "pass"}):
            found = await take(queue, "judge", agent="bob", capabilities=["judge"])
            assert (await queue.complete(found, verdict)).outcome == Outcome.REJECTED
            assert await status(queue, claim.task) == Status.VALIDATING
            await elapse(queue, clock, 60)
        last = await judge(queue)
        assert [attempt.reason for attempt in last.previous_attempts] == ["invalid_output"] * 2
        assert await status(queue, claim.task) == Status.COMPLETED
        assert len(await queue.history(claim.task.id)) == 1

    async def test_saying_it_again_is_answered_by_what_became_of_it(self, queue: Queue) -> None:
        claim = await handed_in(queue, retry="immediate")
        report = {"decision": "tea", "reasoning": "asked for"}
        again = await queue.complete(claim, "a poem", decision=report)
        assert (again.outcome, again.status) == ("submitted", "validating")
        with pytest.raises(IllegalTransition):
            await queue.complete(claim, "another poem", decision=report)
        with pytest.raises(IllegalTransition):
            await queue.fail(claim, "no")
        await judge(queue, BAD)
        told = await queue.complete(claim, "a poem", decision=report)
        assert (told.outcome, told.status) == ("rejected", "ready")
        await take(queue, "poem")
        with pytest.raises(LeaseLost):
            await queue.complete(claim, "another poem", decision=report)

    async def test_a_person_is_asked_after_the_work_and_yes_completes_it(self, queue: Queue) -> None:
        claim = await handed_in(queue, SEEN)
        assert await status(queue, claim.task) == Status.WAITING
        (question,) = await queue.inbox(assignee="grace")
        assert (question.kind, question.task_id, question.assignee) == ("validation", claim.task.id, "grace")
        assert question.question == questions.VALIDATION_TEXT
        assert (await queue.get(claim.task.id)).output == "a poem"
        assert await nothing(queue)
        await queue.answer(question.id, True, by="grace")
        task = await queue.get(claim.task.id)
        assert (task.status, task.attempts, task.output) == (Status.COMPLETED, 1, "a poem")
        assert await queue.inbox() == []
        assert (await story(queue, task.id))[-4:] == ["validating", "waiting", "answered", "completed"]
        told = {event.type: event for event in await events(queue)}
        assert told["task.waiting"].data == {"question": question.id}
        assert told["task.answered"].reason == "validation"
        assert await queue.store.check() == []

    async def test_no_is_a_rejection_with_the_persons_reason(self, queue: Queue) -> None:
        claim = await handed_in(queue, SEEN, retry="immediate")
        (question,) = await queue.inbox()
        await queue.answer(question.id, {"approve": False, "reason": "too long"}, by="grace")
        again = await take(queue, "poem")
        assert again.previous_attempts[0].error == "refused by grace: too long"
        assert (again.task.id, again.task.attempts) == (claim.task.id, 1)
        await queue.complete(again, "a short poem")
        (other,) = await queue.inbox()
        assert other.id != question.id
        with pytest.raises(IllegalTransition):
            await queue.answer(question.id, True)
        await queue.answer(other.id, True)
        assert (await queue.get(claim.task.id)).output == "a short poem"

    async def test_several_checks_are_made_in_their_order(self, queue: Queue) -> None:
        await queue.add("poem", expects=BOTH, retry="immediate")
        first = await take(queue, "poem")
        assert (await queue.complete(first, "a poem")).outcome == Outcome.REJECTED
        again = await take(queue, "poem")
        settled = await queue.complete(again, "a poem", decision={"decision": "tea", "reasoning": "asked for"})
        assert (settled.outcome, settled.status) == ("submitted", "validating")
        assert await queue.inbox() == []
        await judge(queue)
        assert await status(queue, again.task) == Status.WAITING
        (question,) = await queue.inbox()
        await queue.answer(question.id, True)
        assert await status(queue, again.task) == Status.COMPLETED
        assert [attempt.number for attempt in await queue.history(again.task.id)] == [1, 2]

    async def test_a_person_decides_where_the_judge_could_not(self, queue: Queue, clock: FakeClock) -> None:
        claim = await handed_in(queue)
        found = await take(queue, "judge", agent="bob", capabilities=["judge"])
        await queue.fail(found, "no opinion", retry=False)
        assert await status(queue, claim.task) == Status.WAITING
        (question,) = await queue.inbox()
        assert "no opinion" in question.question
        assert "It rhymes." in question.question
        await queue.answer(question.id, True)
        assert await status(queue, claim.task) == Status.COMPLETED
        assert (await queue.get(claim.task.id)).attempts == 1

    async def test_a_judge_that_was_cancelled_or_killed_is_noticed_in_time(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        claim = await handed_in(queue)
        killed = await take(queue, "judge", agent="bob", capabilities=["judge"], lease=5)
        await elapse(queue, clock, 6)
        assert await status(queue, claim.task) == Status.VALIDATING
        again = await take(queue, "judge", agent="eve", capabilities=["judge"])
        assert again.task.id == killed.task.id
        await queue.cancel(again.task.id)
        await elapse(queue, clock, 2)
        assert await status(queue, claim.task) == Status.WAITING
        assert len(await queue.history(claim.task.id)) == 1

    async def test_cancelling_the_task_ends_its_judges_task_or_question(self, queue: Queue) -> None:
        claim = await handed_in(queue)
        found = await take(queue, "judge", agent="bob", capabilities=["judge"])
        assert await queue.cancel(claim.task.id) == [claim.task.id, found.task.id]
        assert await status(queue, found.task) == Status.CANCELLED
        (attempt,) = await queue.history(claim.task.id)
        assert attempt.outcome == Outcome.SUBMITTED
        asked = await handed_in(queue, SEEN)
        (question,) = await queue.inbox()
        await queue.cancel(asked.task.id)
        assert await queue.inbox() == []
        with pytest.raises(IllegalTransition):
            await queue.answer(question.id, True)
        assert await queue.store.check() == []

    async def test_a_new_life_does_the_work_again_and_leaves_the_old_judge_alone(self, queue: Queue) -> None:
        claim = await handed_in(queue)
        judge_id = validating.judge_id(claim.task.id, 1, 0)
        await queue.cancel(claim.task.id)
        assert (await queue.get(claim.task.id)).output == "a poem"
        task = await queue.retry(claim.task.id)
        assert (task.status, task.output, task.decision) == (Status.READY, None, None)
        assert await status(queue, judge_id) == Status.CANCELLED
        again = await take(queue, "poem")
        assert (again.fence, again.inputs) == (2, {})
        await queue.complete(again, "another poem", decision={"decision": 1, "reasoning": 1})
        await judge(queue)
        assert (await queue.get(claim.task.id)).output == "another poem"
        assert await queue.store.check() == []

    async def test_a_dag_waits_for_the_judgement_and_takes_it_down_with_itself(self, queue: Queue) -> None:
        dag = await queue.add_dag(
            "Poems", [NewTask("poem", ref="a", expects=JUDGED), NewTask("print", ref="b", after=["a"]), NewTask("x")]
        )
        await queue.complete(await take(queue, "poem"), "a poem")
        assert (await queue.get_dag(dag.id)).status == "running"
        poem, printed, other = (task.id for task in (await queue.get_dag(dag.id)).tasks)
        await queue.fail(await take(queue, "x"), "it broke", retry=False)
        assert [await status(queue, id) for id in (poem, printed, other)] == ["cancelled", "cancelled", "dead_lettered"]
        assert await status(queue, validating.judge_id(poem, 1, 0)) == Status.CANCELLED

    async def test_a_judge_that_fails_does_not_fail_the_dag(self, queue: Queue) -> None:
        dag = await queue.add_dag("Poems", [NewTask("poem", ref="a", expects=JUDGED), NewTask("x")])
        await queue.complete(await take(queue, "poem"), "a poem")
        found = await take(queue, "judge", agent="bob", capabilities=["judge"])
        await queue.fail(found, "no opinion", retry=False)
        assert (await queue.get_dag(dag.id)).status == "running"
        assert not await nothing(queue, "x")

    async def test_what_was_used_is_counted_once_and_locks_are_free_while_it_is_judged(self, queue: Queue) -> None:
        await queue.set_budget("type:poem", 1)
        await queue.add("poem", expects=JUDGED, locks=["desk"], max_cost=0.5)
        claim = await take(queue, "poem")
        await queue.complete(claim, "a poem", cost=0.25)
        assert await queue.locks() == []
        (budget,) = await queue.budgets()
        assert (budget.spent, budget.reserved) == (0.25, 0)
        await judge(queue)
        (budget,) = await queue.budgets()
        assert (budget.spent, budget.reserved) == (0.25, 0)
        assert (await queue.get(claim.task.id)).cost_usd == 0.25
        (attempt,) = await queue.history(claim.task.id)
        assert attempt.cost_usd == 0.25

    @pytest.mark.door
    async def test_output_that_is_null_or_large_comes_through(self, queue: Queue) -> None:
        for output in (None, "x" * 200_000, {"rows": list(range(50_000))}):
            claim = await handed_in(queue, output=output)
            found = await judge(queue)
            large = output is not None
            assert found.task.payload["output"] == ({"ref": f"task:{claim.task.id}:output"} if large else output)
            assert (await queue.get(claim.task.id)).output == output

    # What a process leaves behind that is killed between two writes.

    async def test_work_that_nobody_sent_to_its_judge_is_found(self, queue: Queue, clock: FakeClock) -> None:
        claim = await handed_in_only(queue, JUDGED)
        assert await queue.store.handed_in(10) == [claim.task.id]
        await elapse(queue, clock, 2)
        assert await queue.store.handed_in(10) == []
        await judge(queue)
        assert await status(queue, claim.task) == Status.COMPLETED

    async def test_a_judge_whose_work_does_not_wait_for_it_yet_is_found(self, queue: Queue, clock: FakeClock) -> None:
        claim = await handed_in_only(queue, JUDGED)
        judge_id = validating.judge_id(claim.task.id, 1, 0)
        await queue.store.insert(Insertion(drafts=[draft_of(queue, claim, judge_id)]))
        assert await queue.store.handed_in(10) == [claim.task.id]
        assert await queue.store.await_verdict(claim.task.id, 1, judge_id)
        assert await queue.store.await_verdict(claim.task.id, 1, judge_id)
        assert await queue.store.handed_in(10) == []
        await judge(queue)
        assert await status(queue, claim.task) == Status.COMPLETED

    async def test_only_work_that_was_handed_in_waits_for_a_judge_or_is_decided(self, queue: Queue) -> None:
        other = await queue.add("other")
        claim = await take(queue, "other")
        store = queue.store
        with pytest.raises(NotFound):
            await store.await_verdict("task_unknown", 1, other.id)
        with pytest.raises(LeaseLost):
            await store.await_verdict(other.id, 1, other.id)
        (refused,) = await store.settle([settling.concluded(claim, None, draw=lambda: 0.5)])
        assert isinstance(refused, LeaseLost)
        asked = Ask(task_id=other.id, fence=1, id="q_1", name="n", digest="d", question="?", kind="validation")
        with pytest.raises(LeaseLost):
            await store.ask(asked)
        judged = await handed_in(queue)
        with pytest.raises(NotFound):
            await store.await_verdict(judged.task.id, 1, "task_unknown")
        with pytest.raises(LeaseLost):
            await store.await_verdict(judged.task.id, 2, validating.judge_id(judged.task.id, 1, 0))
        # It waits for its judge, so it is neither decided nor asked about.
        (early,) = await store.settle([settling.concluded(judged, None, draw=lambda: 0.5)])
        assert isinstance(early, LeaseLost)
        with pytest.raises(LeaseLost):
            await store.ask(replace(asked, task_id=judged.task.id))
        with pytest.raises(IllegalTransition):
            await queue.link(judged.task.id, after=[other.id])
        assert await status(queue, judged.task) == Status.VALIDATING

    async def test_a_person_that_nobody_asked_is_asked(self, queue: Queue, clock: FakeClock) -> None:
        claim = await handed_in_only(queue, SEEN)
        await elapse(queue, clock, 2)
        (question,) = await queue.inbox()
        assert question.task_id == claim.task.id

    async def test_a_verdict_that_nobody_acted_on_is_acted_on_once(self, queue: Queue, clock: FakeClock) -> None:
        claim = await handed_in(queue)
        found = await take(queue, "judge", agent="bob", capabilities=["judge"])
        await queue.store.settle([settling.completed(found, GOOD)])
        assert await queue.store.handed_in(10) == [claim.task.id]
        assert await status(queue, claim.task) == Status.VALIDATING
        await elapse(queue, clock, 2)
        assert await status(queue, claim.task) == Status.COMPLETED
        assert (await story(queue, claim.task.id)).count("completed") == 1

    async def test_two_who_go_on_at_once_decide_once(self, queue: Queue, other: Queue) -> None:
        claims = [await handed_in_only(queue, JUDGED) for _ in range(4)]
        judged = []
        for verdict in (BAD, GOOD, GOOD, GOOD):
            await self._both(queue, other, claims)
            found = await take(queue, "judge", agent="bob", capabilities=["judge"])
            await queue.store.settle([settling.completed(found, verdict)])
            judged += [claim for claim in claims if found.task.id.startswith(claim.task.id)]
        await self._both(queue, other, claims)
        assert [await status(queue, claim.task) for claim in judged] == ["retrying", *["completed"] * 3]
        for claim in claims:
            told = await story(queue, claim.task.id)
            assert told[told.index("validating") + 1 :] == [await status(queue, claim.task)]
            (attempt,) = await queue.history(claim.task.id)
            assert attempt.number == 1
        assert await queue.store.check() == []

    async def _both(self, queue: Queue, other: Queue, claims: list[Claim]) -> None:
        desks = [Desk(each.store, draw=lambda: 0.5) for each in (queue, other)]
        await asyncio.gather(*(conclude_one(desk, claim.task.id) for claim in claims for desk in desks))

    async def test_an_answer_that_nobody_acted_on_is_acted_on(self, queue: Queue, clock: FakeClock) -> None:
        claim = await handed_in(queue, SEEN)
        (question,) = await queue.inbox()
        await queue.store.answer(question.id, b'{"approve":true}', "grace")
        assert await status(queue, claim.task) == Status.VALIDATING
        await elapse(queue, clock, 2)
        assert await status(queue, claim.task) == Status.COMPLETED

    async def test_a_person_who_does_not_answer_in_time_is_answered_for(self, queue: Queue, clock: FakeClock) -> None:
        for default, where in ((True, Status.COMPLETED), (False, Status.DEAD_LETTERED)):
            claim = await handed_in(queue, {**SEEN, "timeout": "1h", "default": default}, max_attempts=1)
            [question] = await queue.inbox()
            assert (question.expires_at, question.default["approve"]) == (clock.now + timedelta(hours=1), default)
            await elapse(queue, clock, 3_599)
            assert await status(queue, claim.task) == Status.WAITING
            await elapse(queue, clock, 1)
            await elapse(queue, clock, 1)
            task = await queue.get(claim.task.id)
            assert task.status == where
            [attempt] = await queue.history(task.id)
            assert (attempt.outcome, attempt.error) == (
                ("completed", None) if default else ("rejected", "refused by timeout: nobody answered in time")
            )
        assert await queue.store.check() == []

    async def test_without_a_default_it_is_a_dead_letter_that_keeps_its_work(
        self, queue: Queue, clock: FakeClock
    ) -> None:
        claim = await handed_in(queue, {**SEEN, "timeout": 60})
        await elapse(queue, clock, 61)
        task = await queue.get(claim.task.id)
        assert (task.status, task.reason, task.output) == (Status.DEAD_LETTERED, "timeout", "a poem")
        assert (task.error or "").startswith("nobody answered question q_")
        assert [attempt.outcome for attempt in await queue.history(task.id)] == ["submitted"]
        assert await queue.store.check() == []
        await queue.retry(task.id)
        await queue.complete(await take(queue, "poem"), "another")
        [question] = await queue.inbox()
        await queue.answer(question, True)
        assert (await queue.get(task.id)).output == "another"

    async def test_then_somebody_else_is_asked(self, queue: Queue, clock: FakeClock) -> None:
        expects = {**SEEN, "timeout": 60, "escalate_to": "lead", "default": True}
        for says, where in ((False, Status.DEAD_LETTERED), (True, Status.COMPLETED), (None, Status.COMPLETED)):
            claim = await handed_in(queue, expects, max_attempts=1)
            [first] = await queue.inbox()
            await elapse(queue, clock, 61)
            await elapse(queue, clock, 1)
            [second] = await queue.inbox()
            assert (first.assignee, second.assignee, second.task_id) == ("grace", "lead", claim.task.id)
            assert "(grace) answered in time" in second.question
            with pytest.raises(IllegalTransition):
                await queue.answer(first, True)
            if says is None:
                await elapse(queue, clock, 61)
                await elapse(queue, clock, 1)
            else:
                await queue.answer(second, says)
            assert await status(queue, claim.task) == where
        assert await queue.store.check() == []
