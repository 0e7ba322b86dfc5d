"""taskiq on a Redis stream, which acknowledges, or on a list, which does not; on uvloop, without a result backend."""

from __future__ import annotations

import logging

import kit
import uvloop
from taskiq.api import run_receiver_task
from taskiq_redis import ListQueueBroker, RedisStreamBroker

logging.disable(logging.WARNING)
options = kit.SETTINGS.get("broker", {})
broker = ListQueueBroker(kit.URL) if kit.SETTINGS.get("list") else RedisStreamBroker(kit.URL, **options)


@broker.task(task_name="noop")
async def noop(number: int) -> None:
    kit.hit(number)
    if kit.HANGING:
        await kit.forever()


class Peer(kit.Script):
    async def install(self) -> None:
        await self.open()
        await self.close()

    async def open(self) -> None:
        await broker.startup()

    async def close(self) -> None:
        await broker.shutdown()

    async def add(self, number: int) -> None:
        await noop.kiq(number)

    async def load(self, count: int, lanes: int = 1) -> None:
        for number in range(count):
            await self.add(number)

    async def work(self) -> None:
        broker.is_worker_process = True
        await self.open()
        kit.gate()
        await run_receiver_task(broker, **kit.SETTINGS["receiver"])


kit.main(Peer(), uvloop.run)
