"""awa: a Rust core with Python handlers, its queue-storage engine, uvloop."""

from __future__ import annotations

from dataclasses import dataclass

import awa
import kit
import uvloop

QUEUE = "q"
BACKLOG_CHUNK = 20_000
POOL = 20


@dataclass
class Noop:
    number: int


class Peer(kit.Script):
    async def install(self) -> None:
        client = awa.AsyncClient(kit.URL)
        await client.migrate()

        # The first start of a worker turns a fresh database over to the queue-storage engine.
        @client.task(Noop, queue=QUEUE)
        async def noop(job) -> None:
            pass

        await client.start([(QUEUE, 1)])
        await client.shutdown()
        await client.close()

    async def open(self) -> None:
        self.client = awa.AsyncClient(kit.URL, max_connections=4)

    async def add(self, number: int) -> None:
        await self.client.insert(Noop(number), queue=QUEUE)

    async def add_many(self, numbers) -> None:
        await self.client.enqueue_many_copy([Noop(number) for number in numbers], queue=QUEUE)

    async def load(self, count: int, lanes: int = 1) -> None:
        for first in range(0, count, BACKLOG_CHUNK):
            await self.add_many(range(first, min(count, first + BACKLOG_CHUNK)))

    async def work(self) -> None:
        client = awa.AsyncClient(kit.URL, max_connections=POOL)

        @client.task(Noop, queue=QUEUE)
        async def noop(job) -> None:
            kit.hit(job.args.number)
            if kit.HANGING:
                await kit.forever()

        kit.gate()
        queue = {
            "name": QUEUE,
            "max_workers": kit.SETTINGS["max_workers"],
            "claimers": 1,
            "claim_batch_size": kit.SETTINGS["claim_batch_size"],
            "deadline_duration_ms": 300_000,
        }
        await client.start([queue], poll_interval_ms=200, **kit.SETTINGS.get("start", {}))
        await kit.forever()


kit.main(Peer(), uvloop.run)
