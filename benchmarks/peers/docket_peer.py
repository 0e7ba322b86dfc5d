"""Docket (`pydocket`), on uvloop."""

from __future__ import annotations

from datetime import timedelta

import kit
import uvloop
from docket import Docket, Worker


async def noop(number: int) -> None:
    kit.hit(number)
    if kit.HANGING:
        await kit.forever()


def docket() -> Docket:
    made = Docket(name="bench", url=kit.URL)
    made.register(noop)
    return made


class Peer(kit.Script):
    async def open(self) -> None:
        self.docket = docket()
        await self.docket.__aenter__()

    async def close(self) -> None:
        await self.docket.__aexit__(None, None, None)

    async def add(self, number: int) -> None:
        await self.docket.add(noop)(number)

    async def add_many(self, numbers) -> None:
        await self.docket.add_many([self.docket.call(noop)(number) for number in numbers])

    async def work(self) -> None:
        options = {name: timedelta(seconds=value) for name, value in kit.SETTINGS["durations"].items()}
        async with (
            docket() as here,
            Worker(here, concurrency=kit.SETTINGS["concurrency"], **options) as worker,
        ):
            kit.gate()
            await worker.run_forever()


kit.main(Peer(), uvloop.run)
