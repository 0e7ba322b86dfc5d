"""arq, on uvloop."""

from __future__ import annotations

import kit
import uvloop
from arq import create_pool
from arq.connections import RedisSettings
from arq.worker import Worker

REDIS = RedisSettings.from_dsn(kit.URL)


async def noop(context, number: int) -> None:
    kit.hit(number)
    if kit.HANGING:
        await kit.forever()


class Peer(kit.Script):
    async def open(self) -> None:
        self.pool = await create_pool(REDIS)

    async def close(self) -> None:
        await self.pool.aclose()

    async def add(self, number: int) -> None:
        await self.pool.enqueue_job("noop", number)

    async def load(self, count: int, lanes: int = 1) -> None:
        for number in range(count):
            await self.add(number)

    async def work(self) -> None:
        kit.gate()
        worker = Worker([noop], redis_settings=REDIS, handle_signals=False, **kit.SETTINGS)
        await worker.async_run()


kit.main(Peer(), uvloop.run)
