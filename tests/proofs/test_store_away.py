"""A worker whose store goes away for a while loses nothing, settles nothing twice, and goes on by itself."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.queue import Queue
from dibs.stores import open_store
from tests.proofs.faulty import Away
from tests.worker.facts import eventually

if TYPE_CHECKING:
    from pathlib import Path

AWAY_S = 3.0
TASKS = 40


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory:" if request.param == "memory" else f"sqlite:{tmp_path / 'dibs.db'}"


async def _work_through_trouble(store: Away, app: dibs.App, begun: asyncio.Event) -> Queue:
    """Drain 40 tasks with a store that is away for 3 s from the moment that `begun` is set."""
    queue = Queue(store)
    await queue.add_many([dibs.NewTask("work", {"n": n}) for n in range(TASKS)])

    async def trouble() -> None:
        await begun.wait()
        store.away = True
        await asyncio.sleep(AWAY_S)  # the trouble lasts
        await eventually(lambda: store.refused)
        store.away = False

    async with asyncio.timeout(90), dibs.Worker(app, queue, agent="worker", concurrency=8, lease=60) as worker:
        troubled = asyncio.create_task(trouble())
        await worker.drain()
        await troubled
    assert store.refused, "the store was not asked while it was away"
    return queue


async def _count(queue: Queue, type: str) -> Counter[str | None]:
    counted: Counter[str | None] = Counter()
    cursor = 0
    while batch := await queue.read_events(cursor):
        counted.update(event.task_id for event in batch if event.type == type)
        cursor = batch[-1].seq
    return counted


def test_outcomes_wait_for_the_store_and_are_written_once(url: str) -> None:
    async def story() -> None:
        app, begun, runs = dibs.App(), asyncio.Event(), Counter[int]()

        @app.handler("work")
        async def work(n: int) -> int:
            runs[n] += 1
            if n == 12:
                begun.set()
            await asyncio.sleep(0.02)
            return n

        queue = await _work_through_trouble(Away(open_store(url)), app, begun)
        tasks = (await queue.find(limit=100)).items
        assert {task.payload["n"]: task.output for task in tasks} == {n: n for n in range(TASKS)}
        assert {(task.status, task.attempts, task.fence) for task in tasks} == {("completed", 1, 1)}
        assert set(runs.values()) == {1}
        completed = await _count(queue, "task.completed")
        assert len(completed) == TASKS
        assert set(completed.values()) == {1}
        await queue.close()

    asyncio.run(story())


def test_steps_and_spawns_of_a_handler_wait_for_the_store(url: str) -> None:
    async def story() -> None:
        app, begun, seen = dibs.App(), asyncio.Event(), []

        @app.handler("work")
        async def work(ctx: dibs.Context, n: int) -> Any:
            try:
                await ctx.step("first", lambda: n)
                if n == 12:
                    begun.set()
                await asyncio.sleep(0.02)
                await ctx.step("second", lambda: n)
                await ctx.progress(0.5, "half")
                await ctx.checkpoint(n)
                child = await ctx.spawn("child", {"n": n})
            except Exception as error:
                seen.append(error)
                raise
            return child.output

        @app.handler("child")
        async def child(n: int) -> int:
            return n

        queue = await _work_through_trouble(Away(open_store(url)), app, begun)
        assert not seen, f"{len(seen)} handlers were told {seen[0]!r}"
        tasks = (await queue.find(type="work", limit=100)).items
        assert {(task.status, task.attempts) for task in tasks} == {("completed", 1)}
        assert len((await queue.find(type="child", limit=100)).items) == TASKS
        await queue.close()

    asyncio.run(story())


def test_a_leaving_worker_does_not_wait_for_ever_for_a_store_that_takes_no_outcomes(url: str) -> None:
    async def story() -> None:
        app, done = dibs.App(), asyncio.Event()

        @app.handler("work")
        async def work() -> None:
            done.set()

        store = Away(open_store(url), "settle")
        store.away = True
        queue = Queue(store)
        await queue.add("work")

        async def run() -> None:
            async with dibs.Worker(app, queue, agent="worker", lease=1) as worker:
                await worker.run()

        running = asyncio.create_task(run())
        await asyncio.wait_for(done.wait(), 60)
        running.cancel()
        ended, _ = await asyncio.wait({running}, timeout=30)
        store.away = False
        await asyncio.wait({running}, timeout=30)
        assert ended, "renewing kept alive a lease that only its outcome was waiting for"
        await queue.close()

    asyncio.run(story())
