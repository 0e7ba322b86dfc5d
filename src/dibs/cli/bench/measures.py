"""What is timed, one after the other, each until it has done so many tasks or its time is over.

The producer and the worker have a connection each. They share this process: several processes reach more where there
are cores for them. A task counts as done when the store says so.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, Any

from dibs.cli.bench.figures import Latency, Rate, latency, rate
from dibs.errors import Unavailable
from dibs.model.task import NewTask

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.queue import Queue

TYPE = "dibs-bench"
PROMPT = "dibs-bench-prompt"
"""Another type, so that what is left of a backlog is in nobody's way when answers are timed."""
AGENT = "dibs-bench"
NAMES = (
    "add, one at a time",
    "add, 1,000 at a time",
    "claim and complete, one at a time",
    "claim and complete, by a worker",
    "from add to the handler's start",
)
AT_ONCE = 1_000
WARM_UP = 20
GAP_S = 0.01
"""Between two tasks whose latency is measured: the worker has nothing to do again."""
LONGEST_S = 30.0
BREATH = 64
"""A store that never makes anybody wait lets nobody interrupt it either; so now and then we do."""


class Bounds:
    """How much each measure may do, and for how long."""

    def __init__(self, tasks: int, seconds: float) -> None:
        self.tasks = tasks
        self.seconds = seconds


async def measured(
    queue: Queue, other: Queue, bounds: Bounds, told: Callable[[int], None]
) -> tuple[list[Rate], Latency]:
    """Everything; `told` hears which measure begins."""
    await _warm_up(queue)
    rates: list[Rate] = []
    for place, measure in enumerate((_add, _add_many, _claim, _drain)):
        told(place)
        by = other if measure is _drain else queue
        rates.append(rate(NAMES[place], *await measure(by, bounds)))
    told(len(rates))
    return rates, latency(NAMES[-1], await _answers(queue, other, bounds))


async def _warm_up(queue: Queue) -> None:
    """The first calls prepare statements and load scripts."""
    for number in range(WARM_UP):
        await queue.add(TYPE, {"number": number})
    for _ in range(WARM_UP):
        for claim in await queue.claim(AGENT, types=[TYPE]):
            await queue.complete(claim, {"done": True})


async def _add(queue: Queue, bounds: Bounds) -> tuple[int, float]:
    begun = perf_counter()
    for number in range(bounds.tasks):
        await queue.add(TYPE, {"number": number})
        if number % BREATH == 0:
            await asyncio.sleep(0)
        if perf_counter() - begun >= bounds.seconds:
            break
    return number + 1, perf_counter() - begun


async def _add_many(queue: Queue, bounds: Bounds) -> tuple[int, float]:
    added, begun = 0, perf_counter()
    while added < bounds.tasks and perf_counter() - begun < bounds.seconds:
        portion = min(AT_ONCE, bounds.tasks - added)
        await queue.add_many([NewTask(TYPE, {"number": number}) for number in range(portion)])
        await asyncio.sleep(0)
        added += portion
    return added, perf_counter() - begun


async def _claim(queue: Queue, bounds: Bounds) -> tuple[int, float]:
    done, begun = 0, perf_counter()
    while done < bounds.tasks and perf_counter() - begun < bounds.seconds:
        claims = await queue.claim(AGENT, types=[TYPE])
        if not claims:
            break
        for claim in claims:
            await queue.complete(claim, {"done": True})
        done += len(claims)
        if done % BREATH == 0:
            await asyncio.sleep(0)
    return done, perf_counter() - begun


async def _drain(queue: Queue, bounds: Bounds) -> tuple[int, float]:
    from dibs.worker.app import App
    from dibs.worker.worker import Worker

    app = App()

    @app.handler(TYPE)
    async def work(number: int) -> Any:
        return {"done": True}

    before = await _completed(queue)
    begun = perf_counter()
    # Leaving, the worker writes down what it has done: that is part of it.
    async with Worker(app, queue, agent=AGENT) as worker:
        try:
            async with asyncio.timeout(bounds.seconds):
                await worker.drain()
        except TimeoutError:
            pass
    seconds = perf_counter() - begun
    return await _completed(queue) - before, seconds


async def _completed(queue: Queue) -> int:
    return (await queue.stats()).by_status.get("completed", 0)


async def _answers(queue: Queue, other: Queue, bounds: Bounds) -> list[float]:
    """Seconds, for each task, until a worker that waits for work has begun with it."""
    from dibs.worker.app import App
    from dibs.worker.worker import Worker

    app = App()
    arrivals: asyncio.Queue[float] = asyncio.Queue()

    @app.handler(PROMPT)
    async def work() -> None:
        arrivals.put_nowait(perf_counter())

    samples: list[float] = []
    async with Worker(app, other, agent=AGENT) as worker:
        working = asyncio.create_task(worker.run())
        try:
            begun = perf_counter()
            while len(samples) < bounds.tasks and (not samples or perf_counter() - begun < bounds.seconds):
                called = perf_counter()
                await queue.add(PROMPT, priority=0)
                samples.append(await _next(arrivals, working) - called)
                await asyncio.sleep(GAP_S)
        finally:
            worker.stop()
            await asyncio.gather(working, return_exceptions=True)
    # Of the first one, a part was the worker's beginning.
    return samples[1:] or samples


async def _next(arrivals: asyncio.Queue[float], working: asyncio.Task[None]) -> float:
    arriving = asyncio.ensure_future(arrivals.get())
    try:
        await asyncio.wait({arriving, working}, timeout=LONGEST_S, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        if not arriving.done():
            raise Unavailable(f"A task that was added {LONGEST_S:g} s ago was given to nobody: is everything paused?")
        return arriving.result()
    finally:
        arriving.cancel()
