"""SAQ on Redis, on uvloop."""

from __future__ import annotations

import kit
import uvloop
from saq import Queue, Worker


async def noop(context, *, number: int) -> None:
    kit.hit(number)
    if kit.HANGING:
        await kit.forever()


class Peer(kit.Script):
    async def open(self) -> None:
        self.queue = Queue.from_url(kit.URL)
        await self.queue.connect()

    async def close(self) -> None:
        await self.queue.disconnect()

    async def add(self, number: int) -> None:
        await self.queue.enqueue("noop", number=number, **kit.SETTINGS.get("job", {}))

    async def load(self, count: int, lanes: int = 1) -> None:
        for number in range(count):
            await self.add(number)

    async def work(self) -> None:
        await self.open()
        kit.gate()
        worker = Worker(
            self.queue,
            functions=[noop],
            concurrency=kit.SETTINGS["concurrency"],
            timers=kit.SETTINGS.get("timers"),
        )
        await worker.start()


kit.main(Peer(), uvloop.run)
