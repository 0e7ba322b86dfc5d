"""Oban for Python: psycopg 3, uvloop. Needs Python 3.12."""

from __future__ import annotations

import os

import kit
import uvloop
from oban import Oban, worker
from oban.schema import install
from psycopg_pool import AsyncConnectionPool

POOL = 20


@worker(queue="default")
class Noop:
    async def process(self, job) -> None:
        kit.hit(job.args["number"])
        if kit.HANGING:
            await kit.forever()


async def pool() -> AsyncConnectionPool:
    connections = AsyncConnectionPool(kit.URL, min_size=2, max_size=POOL, open=False)
    await connections.open()
    return connections


class Peer(kit.Script):
    async def install(self) -> None:
        connections = await pool()
        await install(connections)
        await connections.close()

    async def open(self) -> None:
        self.oban = Oban(pool=await pool())
        await self.oban.start()

    async def close(self) -> None:
        await self.oban.stop()

    async def add(self, number: int) -> None:
        await Noop.enqueue({"number": number})

    async def add_many(self, numbers) -> None:
        await self.oban.enqueue_many([Noop.new({"number": number}) for number in numbers])

    async def work(self) -> None:
        connections = await pool()
        kit.gate()
        oban = Oban(
            pool=connections,
            node=f"node-{os.getpid()}",
            queues={"default": kit.SETTINGS["limit"]},
            **kit.SETTINGS.get("start", {}),
        )
        await oban.start()
        await kit.forever()


kit.main(Peer(), uvloop.run)
