"""Handlers that keep failing: somebody is asked, another agent tries, and whoever runs next knows what was said."""

from __future__ import annotations

from typing import Any

import dibs
from tests.worker.facts import first


async def drained(queue: dibs.Queue, app: dibs.App, agent: str = "tester") -> None:
    async with dibs.Worker(app, queue, agent=agent) as worker:
        await first(worker.drain())


async def test_a_handler_that_failed_runs_again_with_what_a_person_said(url: str) -> None:
    app = dibs.App()

    @app.handler("build", retry="immediate")
    async def build(ctx: dibs.Context) -> Any:
        if not ctx.answers:
            raise ValueError("no such branch")
        return [*ctx.answers.values(), len(ctx.previous_attempts)]

    async with dibs.connect(url) as queue:
        await queue.set_escalation(
            [{"after": 2, "do": "ask", "to": "grace", "question": "Which branch?"}], type="build"
        )
        task = await queue.add("build")
        await drained(queue, app)
        assert (await queue.get(task.id)).status == "waiting"
        [question] = await queue.inbox(assignee="grace")
        await queue.answer(question, "main", by="grace")
        await drained(queue, app)
        ended = await queue.get(task.id)
        assert (ended.status, ended.output, ended.attempts) == ("completed", ["main", 2], 3)


async def test_another_agent_does_what_the_first_could_not(url: str) -> None:
    app = dibs.App()

    @app.handler("build", retry="immediate")
    async def build(ctx: dibs.Context) -> str:
        if ctx.task.assignee is None:
            raise ValueError("too hard for me")
        return ctx.task.assignee

    async with dibs.connect(url) as queue:
        await queue.set_escalation([{"after": 1, "do": "reassign", "agent": "senior"}], type="build")
        task = await queue.add("build")
        await drained(queue, app)
        assert (await queue.get(task.id)).status == "ready"
        await drained(queue, app, "senior")
        ended = await queue.get(task.id)
        assert (ended.status, ended.output) == ("completed", "senior")


async def test_a_dead_letter_that_somebody_wants_back_hears_their_answer(url: str) -> None:
    app = dibs.App()

    @app.handler("pay")
    async def pay(ctx: dibs.Context) -> Any:
        if not ctx.answers:
            raise dibs.Fail("the card was refused", retry=False)
        return next(iter(ctx.answers.values()))["note"]

    async with dibs.connect(url) as queue:
        task = await queue.add("pay")
        await drained(queue, app)
        await queue.review(task.id, "escalated", by="ada", to="grace")
        [question] = await queue.inbox(assignee="grace")
        await queue.answer(question, {"do": "retry", "note": "use the other card"}, by="grace")
        await drained(queue, app)
        assert (await queue.get(task.id)).output == "use the other card"
