"""What a worker does when a provider has had enough: it sends it nothing more, and tells the work under way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import dibs
from tests.worker.facts import LEASE_S, PATIENCE_S, eventually, first, has_status

LIMIT = "429 Too Many Requests, Retry-After: 60"


@pytest.mark.parametrize("provider", [None, "acme"])
async def test_what_was_claimed_ahead_for_a_provider_that_had_enough_goes_back(url: str, provider: str | None) -> None:
    app = dibs.App()
    done: list[int] = []
    turned_away: list[int] = []

    @app.handler("quick")
    async def quick(number: int) -> None:
        if len(done) == 100:
            turned_away.append(number)
            raise RuntimeError(LIMIT)
        done.append(number)

    async with dibs.connect(url) as queue:
        await queue.add_many([dibs.NewTask("quick", {"number": n}, provider=provider) for n in range(300)])
        async with dibs.Worker(app, queue, concurrency=1) as worker:
            working = asyncio.create_task(worker.run())
            await eventually(lambda: turned_away)
            await eventually(lambda: is_at_rest(queue))
            worker.stop()
            await first(working)
        assert len(turned_away) == 1
        assert (await queue.stats()).by_status == {"ready": 199, "retrying": 1, "completed": 100}
        [gate] = await queue.gates()
        assert gate.gate == ("limit:quick" if provider is None else "provider:acme")
        page = await queue.find(status=["ready"], limit=200)
        assert {(task.attempts, task.releases) for task in page.items} == {(0, 0)}


async def is_at_rest(queue: dibs.Queue) -> bool:
    """Whether nothing is held."""
    return not {"running", "claimed"} & set((await queue.stats()).by_status)


async def test_other_providers_work_goes_on(url: str) -> None:
    app = dibs.App()

    @app.handler("ask")
    async def ask(ctx: dibs.Context) -> str | None:
        if ctx.task.provider == "acme":
            raise RuntimeError(LIMIT)
        return ctx.task.provider

    async with dibs.connect(url) as queue:
        limited = await queue.add_many([dibs.NewTask("ask", provider="acme") for _ in range(20)])
        others = await queue.add_many([dibs.NewTask("ask", provider="other", priority=90) for _ in range(20)])
        async with dibs.Worker(app, queue, concurrency=2) as worker:
            working = asyncio.create_task(worker.run())
            for task in others:
                assert (await queue.wait(task.id, timeout=PATIENCE_S)).output == "other"
            worker.stop()
            await first(working)
        found = await asyncio.gather(*(queue.get(task.id) for task in limited))
        assert {(task.attempts, task.status in ("ready", "retrying")) for task in found} == {(0, True)}


@pytest.mark.parametrize("threaded", [False, True])
async def test_work_under_way_hears_how_long_to_spare_its_provider(url: str, threaded: bool) -> None:
    app = dibs.App()

    async def in_loop(ctx: dibs.Context) -> float:
        await eventually(lambda: ctx.slow_down)
        return ctx.slow_down

    def in_thread(ctx: Any) -> float:
        return asyncio.run(in_loop(ctx))

    app.handler("long")(in_thread if threaded else in_loop)

    async with dibs.connect(url) as queue:
        long = await queue.add("long", provider="acme")
        await queue.add("short", provider="acme")
        async with dibs.Worker(app, queue, lease=LEASE_S) as worker:
            working = asyncio.create_task(worker.run())
            await eventually(lambda: has_status(queue, long.id, "running"))
            [claim] = await queue.claim("bob", types=["short"])
            await queue.fail(claim, LIMIT)
            output = (await queue.wait(long.id, timeout=PATIENCE_S)).output
            worker.stop()
            await first(working)
    assert 20 < output <= 30
