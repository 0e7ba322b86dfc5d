"""Huey on Redis: threads in one process, no results."""

from __future__ import annotations

import kit
from huey import RedisHuey

queue = RedisHuey("bench", url=kit.URL, results=False)


@queue.task(name="noop")
def noop(number: int) -> None:
    kit.hit(number)
    if kit.HANGING:
        kit.hang()


class Peer(kit.Script):
    async def add(self, number: int) -> None:
        noop(number)

    async def load(self, count: int, lanes: int = 1) -> None:
        for number in range(count):
            noop(number)

    async def work(self) -> None:
        kit.gate()
        queue.create_consumer(workers=kit.SETTINGS["threads"], worker_type="thread", periodic=False).run()


kit.main(Peer())
