"""Handlers hear of the children that they did not wait for, wherever they run."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import dibs
from tests.worker.facts import eventually, first, has_status


@pytest.mark.parametrize("kind", ["coroutine", "thread"])
async def test_a_handler_hears_of_each_child_once(url: str, kind: str) -> None:
    app = dibs.App()

    @app.handler("child")
    async def child(number: int) -> int:
        return number * 2

    if kind == "coroutine":

        @app.handler("parent")
        async def parent(ctx: dibs.Context) -> list[Any]:
            for number in range(3):
                await ctx.spawn("child", {"number": number}, wait=False)
            heard: list[Any] = []
            while len(heard) < 3:
                heard += await ctx.hear()
                await asyncio.sleep(0.01)
            return [[each.status, each.output] for each in [*heard, *await ctx.hear()]]
    else:

        @app.handler("parent")
        def blocking(ctx: Any) -> list[Any]:
            for number in range(3):
                ctx.spawn("child", {"number": number}, wait=False)
            heard: list[Any] = []
            while len(heard) < 3:
                heard += ctx.hear()
            return [[each.status, each.output] for each in [*heard, *ctx.hear()]]

    async with dibs.connect(url) as queue:
        task = await queue.add("parent")
        async with dibs.Worker(app, queue, concurrency=4) as worker:
            await first(worker.drain())
        done = await queue.get(task.id)
    assert sorted(done.output) == [["completed", 0], ["completed", 2], ["completed", 4]]


async def test_a_parent_that_was_killed_and_comes_back_hears_what_ended_meanwhile(file_url: str) -> None:
    async with dibs.connect(file_url) as queue:
        await queue.add("parent")
        [dead] = await queue.claim("dead", types=["parent"])
        await queue.spawn(dead, [dibs.NewTask("child", {"number": 4})])
        [child] = await queue.claim("c", types=["child"])
        await queue.complete(child, 8)
        await queue.renew(dead, lease=1)  # its last word

        app = dibs.App()

        @app.handler("parent")
        async def parent(ctx: dibs.Context) -> list[Any]:
            return [each.output for each in await ctx.hear()]

        async with dibs.Worker(app, queue) as worker:
            working = asyncio.ensure_future(worker.run())
            await eventually(lambda: has_status(queue, dead.task.id, "completed"))
            worker.stop()
            await first(working)
        assert (await queue.get(dead.task.id)).output == [8]
