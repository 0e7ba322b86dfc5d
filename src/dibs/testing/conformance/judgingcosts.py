"""What judging costs: the dag and the type of the work pay for it, as they pay for the work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.status import Status
from dibs.model.task import NewTask
from dibs.testing.conformance.topic import Topic, nothing, status, take

if TYPE_CHECKING:
    from dibs.model.claim import Claim
    from dibs.queue import Queue

EXPECTS = {"validation": "judge", "rubric": "It rhymes."}


async def amounts(queue: Queue, scope: str) -> tuple[float, float, int]:
    """What is reserved, spent, and how many wait for more."""
    [found] = [budget for budget in await queue.budgets() if budget.scope == scope]
    return found.reserved, found.spent, found.waiting


async def take_judge(queue: Queue) -> Claim:
    return await take(queue, "judge", agent="bob", capabilities=["judge"])


class JudgingCosts(Topic):
    async def test_a_judge_is_paid_by_the_dag_of_the_work(self, queue: Queue) -> None:
        dag = await queue.add_dag("poems", [NewTask("poem", ref="a", expects=EXPECTS), NewTask("poem")], budget=1.0)
        scope = f"dag:{dag.id}"
        await queue.complete(await take(queue, "poem"), "a poem", cost=0.5)
        assert await amounts(queue, scope) == (0.0, 0.5, 0)
        judge = await take_judge(queue)
        assert judge.task.charged_to == (scope, "type:poem")
        await queue.complete(judge, {"verdict": "fail", "reason": "no"}, cost=0.25)
        assert await amounts(queue, scope) == (0.0, 0.75, 0)
        shown = await queue.get_dag(dag.id)
        assert (shown.cost_usd, shown.judging_usd) == (0.5, 0.25)
        assert [task.id for task in shown.tasks if task.type == "judge"] == []
        [task] = [task for task in shown.tasks if task.ref == "a"]
        assert [(each.id, each.cost_usd) for each in await queue.judges_of(task.id)] == [(judge.task.id, 0.25)]
        assert await queue.store.check() == []

    async def test_a_judge_waits_for_a_budget_of_the_works_type(self, queue: Queue) -> None:
        await queue.set_budget("type:poem", 1.0, default_reserve=0.5)
        await queue.add("poem", expects=EXPECTS)
        work = await take(queue, "poem")
        await queue.complete(work, "a poem", cost=0.75)
        assert await nothing(queue, "judge", agent="bob", capabilities=["judge"])
        assert await amounts(queue, "type:poem") == (0.0, 0.75, 1)
        [judge] = await queue.judges_of(work.task.id)
        assert judge.parked_on == "budget:type:poem:usd"
        await queue.raise_budget("type:poem", 0.5)
        claim = await take_judge(queue)
        assert await amounts(queue, "type:poem") == (0.5, 0.75, 0)
        await queue.complete(claim, {"verdict": "pass"}, cost=0.1)
        assert await amounts(queue, "type:poem") == (0.0, 0.85, 0)
        assert await status(queue, work.task) == Status.COMPLETED
        assert await queue.store.check() == []

    async def test_a_new_budget_counts_the_judge_that_works(self, queue: Queue) -> None:
        task = await queue.add("poem", expects=EXPECTS)
        await queue.complete(await take(queue, "poem"), "a poem")
        await take_judge(queue)
        for scope in (f"dag:{task.dag_id}", "type:poem", "type:other"):
            made = await queue.set_budget(scope, 1.0, default_reserve=0.5)
            assert made.reserved == (0.0 if scope == "type:other" else 0.5), scope
        assert await queue.store.check() == []

    async def test_what_nobody_judges_is_charged_to_nothing_else(self, queue: Queue) -> None:
        task = await queue.add("poem")
        assert (task.charged_to, await queue.judges_of(task.id)) == ((), [])
        assert (await queue.get_dag(task.dag_id)).judging_usd is None
