"""Handlers that ask people: they run again from the top with the answer, and ask once."""

from __future__ import annotations

from typing import Any

import pytest

import dibs
from tests.worker import apps
from tests.worker.facts import first


async def drained(queue: dibs.Queue, app: dibs.App) -> None:
    async with dibs.Worker(app, queue, agent="tester") as worker:
        await first(worker.drain())


async def test_a_handler_goes_on_with_the_answer(url: str) -> None:
    app, runs = dibs.App(), []

    @app.handler("page")
    async def page(ctx: dibs.Context) -> Any:
        runs.append(ctx.fence)
        try:
            colour = await ctx.ask("Which colour?", {"enum": ["red", "blue"]})
            size = await ctx.ask("Which size?", {"type": "integer"}, assignee="grace")
        except Exception:
            return "swallowed"
        return [colour, size]

    async with dibs.connect(url) as queue:
        task = await queue.add("page")
        await drained(queue, app)
        assert (await queue.get(task.id)).status == "waiting"
        [question] = await queue.inbox()
        assert question.question == "Which colour?"
        await queue.answer(question, "red")
        await drained(queue, app)
        [question] = await queue.inbox()
        assert (question.question, question.assignee) == ("Which size?", "grace")
        await queue.answer(question, 7)
        await drained(queue, app)
        ended = await queue.get(task.id)
        assert (ended.status, ended.output, ended.attempts) == ("completed", ["red", 7], 1)
        assert runs == [1, 2, 3]


async def test_the_same_question_twice_in_one_run_is_asked_twice() -> None:
    app = dibs.App()

    @app.handler("poll")
    async def poll(ctx: dibs.Context) -> Any:
        return [await ctx.ask("Go on?"), await ctx.ask("Go on?"), len(ctx.answers)]

    async with dibs.connect("memory:") as queue:
        task = await queue.add("poll")
        for said in ("yes", "no"):
            await drained(queue, app)
            [question] = await queue.inbox()
            await queue.answer(question, said)
        await drained(queue, app)
        assert (await queue.get(task.id)).output == ["yes", "no", 2]


async def test_a_failed_attempt_does_not_ask_again() -> None:
    app = dibs.App()

    @app.handler("shaky", retry="immediate")
    async def shaky(ctx: dibs.Context) -> Any:
        said = await ctx.ask("Which one?", name="one")
        if len(ctx.previous_attempts) == 1:
            raise RuntimeError("after the answer")
        return said

    async with dibs.connect("memory:") as queue:
        task = await queue.add("shaky")
        await drained(queue, app)
        [question] = await queue.inbox()
        await queue.answer(question, "red")
        await drained(queue, app)
        assert (await queue.get(task.id)).output == "red"
        assert len(await queue.questions_of(task)) == 1


async def test_another_question_under_a_name_is_refused() -> None:
    app = dibs.App()

    @app.handler("moody")
    async def moody(ctx: dibs.Context) -> Any:
        return await ctx.ask(f"Question {ctx.fence}?", name="one")

    async with dibs.connect("memory:") as queue:
        task = await queue.add("moody", max_attempts=1)
        await drained(queue, app)
        [question] = await queue.inbox()
        await queue.answer(question, "red")
        await drained(queue, app)
        ended = await queue.get(task.id)
        assert ended.status == "dead_lettered"
        assert "was something else before" in (ended.error or "")


async def test_log_lines_and_spending_before_a_question_are_kept(url: str) -> None:
    app = dibs.App()

    @app.handler("costly")
    async def costly(ctx: dibs.Context) -> None:
        ctx.log("looking")
        ctx.spend(usd=0.25)
        await ctx.ask("Go on?")

    async with dibs.connect(url) as queue:
        task = await queue.add("costly")
        await drained(queue, app)
        assert (await queue.get(task.id)).cost_usd == 0.25
        assert [entry.value for entry in await queue.journal(task.id)] == [b'"looking"']


async def test_a_question_that_makes_no_sense_fails_the_attempt() -> None:
    app = dibs.App()

    @app.handler("odd")
    async def odd(ctx: dibs.Context) -> None:
        await ctx.ask("Which one?", {"$ref": "#"})

    async with dibs.connect("memory:") as queue:
        task = await queue.add("odd", max_attempts=1)
        await drained(queue, app)
        ended = await queue.get(task.id)
        assert ended.status == "dead_lettered"
        assert "'$ref'" in (ended.error or "")


@pytest.mark.parametrize("type", ["poll in a thread", "poll in a process"])
async def test_threads_and_processes_ask_too(file_url: str, type: str) -> None:
    async with dibs.connect(file_url) as queue:
        task = await queue.add(type, timeout=60)
        await drained(queue, apps.app)
        [question] = await queue.inbox()
        assert (question.question, question.default, question.schema) == ("Which one?", "blue", {"type": "string"})
        await queue.answer(question, "red")
        await drained(queue, apps.app)
        ended = await queue.get(task.id)
        assert (ended.status, ended.output) == ("completed", {"said": "red", "known": {question.id: "red"}})
