"""streaQ, on uvloop."""

from __future__ import annotations

import kit
import uvloop
from streaq import Worker

worker = Worker(redis_url=kit.URL, handle_signals=False, **kit.SETTINGS)


@worker.task(name="noop")
async def noop(number: int) -> None:
    kit.hit(number)
    if kit.HANGING:
        await kit.forever()


class Peer(kit.Script):
    async def install(self) -> None:
        await self.open()
        await self.close()

    async def open(self) -> None:
        await worker.__aenter__()

    async def close(self) -> None:
        await worker.__aexit__(None, None, None)

    async def add(self, number: int) -> None:
        await noop.enqueue(number)

    async def add_many(self, numbers) -> None:
        await worker.enqueue_many([noop.enqueue(number) for number in numbers])

    async def work(self) -> None:
        kit.gate()
        await worker.run_async()


kit.main(Peer(), uvloop.run)
