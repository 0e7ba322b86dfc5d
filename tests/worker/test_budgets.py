"""Work that uses more than its task may, and work that a budget holds back."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import dibs
from tests.worker.facts import LEASE_S, PATIENCE_S, ended, first


async def test_a_handler_that_spends_more_than_its_task_may_is_stopped(url: str) -> None:
    app = dibs.App()
    told: list[str] = []

    @app.handler("job", retry="immediate")
    async def job(ctx: Any) -> None:
        ctx.spend(usd=0.3)
        await asyncio.sleep(0)
        ctx.spend(usd=0.3)
        await asyncio.Event().wait()
        told.append("went on")

    task = await ended(url, app, "job", max_cost=0.5)
    assert (task.status, task.reason, task.attempts) == ("dead_lettered", "budget_exceeded", 1)
    assert task.error == "the task used more than its max_cost of $0.50"
    assert task.cost_usd == 0.6
    assert told == []


async def test_what_it_made_all_the_same_is_kept_but_no_success() -> None:
    app = dibs.App()

    @app.handler("job")
    async def job(ctx: Any) -> str:
        ctx.spend(tokens_in=40, tokens_out=70)
        return "made"

    task = await ended("memory:", app, "job", max_tokens=100)
    assert (task.status, task.reason, task.output) == ("dead_lettered", "budget_exceeded", "made")


async def test_a_thread_hears_of_it() -> None:
    app = dibs.App()

    @app.handler("job")
    def job(ctx: Any) -> None:
        ctx.spend(turns=2)
        deadline = time.monotonic() + PATIENCE_S
        while not ctx.cancelled:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    task = await ended("memory:", app, "job", max_turns=1)
    assert (task.status, task.reason) == ("dead_lettered", "budget_exceeded")


async def test_what_was_reported_past_the_worker_stops_it_too(url: str) -> None:
    app = dibs.App()
    async with dibs.connect(url) as queue:

        @app.handler("job")
        async def job(ctx: Any) -> None:
            await queue.renew((ctx.task.id, ctx.fence), cost=9)
            await asyncio.Event().wait()

        task = await queue.add("job", max_cost=0.5)
        async with dibs.Worker(app, queue, agent="tester", lease=LEASE_S) as worker:
            await first(worker.drain())
        task = await queue.get(task.id)
        assert (task.status, task.reason, task.cost_usd) == ("dead_lettered", "budget_exceeded", 9)


async def test_draining_does_not_wait_for_a_budget_to_be_raised() -> None:
    app = dibs.App()

    @app.handler("job")
    async def job(ctx: Any) -> None:
        ctx.spend(usd=0.1)

    async with dibs.connect("memory:") as queue:
        await queue.set_budget("global", 1)
        tasks = await queue.add_many([dibs.NewTask("job", max_cost=0.5) for _ in range(30)])
        async with dibs.Worker(app, queue, agent="tester") as worker:
            await first(worker.drain())
        done = [task for task in (await queue.find(limit=100)).items if task.status == "completed"]
        # The sixth leaves half a dollar; the others need that much, and then only forty cents are left.
        assert len(done) == 6
        [budget] = await queue.budgets()
        assert (round(budget.spent, 6), budget.reserved, budget.waiting) == (0.6, 0.0, len(tasks) - 6)


async def test_draining_leaves_what_the_agent_itself_cannot_pay_for() -> None:
    app = dibs.App()

    @app.handler("job")
    async def job(ctx: Any) -> None:
        ctx.spend(usd=0.1)

    async with dibs.connect("memory:") as queue:
        await queue.set_budget("agent:tester", 1)
        dear, cheap = await queue.add_many([dibs.NewTask("job", max_cost=5), dibs.NewTask("job", max_cost=0.5)])
        async with dibs.Worker(app, queue, agent="tester") as worker:
            await first(worker.drain())
        assert [(await queue.get(task.id)).status for task in (dear, cheap)] == ["ready", "completed"]


async def test_a_handler_that_overdraws_a_budget_is_stopped_soon_and_waits_for_more(url: str) -> None:
    app = dibs.App()
    runs: list[Any] = []

    @app.handler("job", retry="immediate")
    async def job(ctx: Any) -> str:
        runs.append(ctx.last_checkpoint)
        if ctx.last_checkpoint is None:
            await ctx.checkpoint({"page": 7})
            ctx.spend(usd=0.6)
            await asyncio.Event().wait()
        ctx.spend(usd=0.1)
        return "done"

    async with dibs.connect(url) as queue:
        await queue.set_budget("type:job", 0.5)
        task = await queue.add("job", max_attempts=1)
        async with dibs.Worker(app, queue, lease=60) as worker:
            await first(worker.drain())
        task = await queue.get(task.id)
        assert (task.status, task.reason, task.attempts) == ("ready", "budget_exceeded", 0)
        assert task.parked_on == "budget:type:job:usd"
        assert (task.error or "").startswith("budget type:job is used up")
        [budget] = await queue.budgets()
        assert (budget.reserved, budget.spent) == (0, 0.6)
        [blocker] = (await queue.why(task.id)).blockers
        assert (blocker.help or "").startswith("raise budget type:job by $0.70")
        await queue.raise_budget("type:job", 0.7)
        async with dibs.Worker(app, queue, lease=60) as worker:
            await first(worker.drain())
        task = await queue.get(task.id)
        assert (task.status, task.output, task.attempts) == ("completed", "done", 1)
        assert [attempt.outcome for attempt in await queue.history(task.id)] == ["released", "completed"]
        assert runs == [None, {"page": 7}]


async def test_who_finishes_although_a_budget_is_overdrawn_has_finished(url: str) -> None:
    app = dibs.App()

    @app.handler("job")
    async def job(ctx: Any) -> str:
        ctx.spend(usd=0.6)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "made"
        raise AssertionError

    async with dibs.connect(url) as queue:
        await queue.set_budget("type:job", 0.5)
        task = await queue.add("job")
        async with dibs.Worker(app, queue, lease=60) as worker:
            await first(worker.drain())
        task = await queue.get(task.id)
        assert (task.status, task.output, task.cost_usd) == ("completed", "made", 0.6)


async def test_a_limit_of_its_own_counts_more_than_a_budget(url: str) -> None:
    app = dibs.App()

    @app.handler("job", retry="immediate")
    async def job(ctx: Any) -> None:
        ctx.spend(usd=0.6)
        try:
            await asyncio.Event().wait()
        finally:
            ctx.spend(turns=2)

    async with dibs.connect(url) as queue:
        await queue.set_budget("type:job", 0.5)
        task = await queue.add("job", max_turns=1)
        async with dibs.Worker(app, queue, lease=60) as worker:
            await first(worker.drain())
        task = await queue.get(task.id)
        assert (task.status, task.reason) == ("dead_lettered", "budget_exceeded")
        assert task.error == "the task used more than its max_turns of 1 turns"


async def test_a_group_that_overdraws_a_budget_is_given_back(url: str) -> None:
    app = dibs.App()

    @app.handler("job")
    async def job(ctx: Any) -> None:
        ctx.spend(usd=0.6)
        await asyncio.Event().wait()

    async with dibs.connect(url) as queue:
        await queue.set_budget("type:job", 0.5)
        tasks = await queue.add_many([dibs.NewTask("job", coalesce_key="k", coalesce_window=0) for _ in range(2)])
        async with dibs.Worker(app, queue, lease=60) as worker:
            await first(worker.drain())
        found = [await queue.get(task.id) for task in tasks]
        assert [(task.status, task.reason, task.parked_on) for task in found] == [
            ("ready", "budget_exceeded", "budget:type:job:usd"),
            ("ready", None, "budget:type:job:usd"),
        ]
        assert [task.cost_usd for task in found] == [0.6, 0]
