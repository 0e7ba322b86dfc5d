"""dibs, through nothing but its public API. Runs in the environment of the harness, on uvloop where that is installed.

Settings: `concurrency` and `lease` of the worker; `query`, which joins the URL (`notify=off`); `lanes`, which the
worker serves; `types`, which it serves instead.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import kit

import dibs
from benchmarks import lanes

if TYPE_CHECKING:
    from collections.abc import Sequence

try:
    from uvloop import run
except ImportError:
    from asyncio import run

LOAD_CHUNK = 10_000
FAN_OUT = 10


def url() -> str:
    query = kit.SETTINGS.get("query")
    return f"{kit.URL}?{query}" if query else kit.URL


def app() -> dibs.App:
    app = dibs.App()

    async def noop(number: int) -> None:
        kit.hit(number)
        if kit.HANGING:
            await kit.forever()

    for type in kit.SETTINGS.get("types") or lanes.types(kit.SETTINGS.get("lanes", 1)):
        app.handler(type)(noop)
    return app


class Peer(kit.Script):
    async def install(self) -> None:
        await self.open()
        await self.close()

    async def open(self) -> None:
        self.queue = await dibs.connect(url())

    async def close(self) -> None:
        await self.queue.close()

    async def add(self, number: int) -> None:
        await self.queue.add(lanes.ONLY, {"number": number})

    async def add_many(self, numbers: Sequence[int]) -> None:
        await self.queue.add_many([dibs.NewTask(lanes.ONLY, {"number": number}) for number in numbers])

    async def load(self, count: int, lane_count: int = 1) -> None:
        for first in range(0, count, LOAD_CHUNK):
            numbers = range(first, min(count, first + LOAD_CHUNK))
            await self.queue.add_many([lanes.task(number, lane_count) for number in numbers])

    async def add_graphs(self, count: int) -> None:
        middle = [f"middle-{number}" for number in range(FAN_OUT)]
        for number in range(count):
            payload = {"number": number}
            tasks = [dibs.NewTask(lanes.ONLY, payload, ref="first")]
            tasks += [dibs.NewTask(lanes.ONLY, payload, ref=ref, after=["first"]) for ref in middle]
            tasks.append(dibs.NewTask(lanes.ONLY, payload, ref="last", after=middle))
            await self.queue.add_dag(f"graph {number}", tasks)

    async def work(self) -> None:
        options = {name: kit.SETTINGS[name] for name in ("concurrency", "lease") if name in kit.SETTINGS}
        async with dibs.connect(url()) as queue, dibs.Worker(app(), queue, **options) as worker:
            await asyncio.to_thread(kit.gate)
            await worker.run()


kit.main(Peer(), run)
