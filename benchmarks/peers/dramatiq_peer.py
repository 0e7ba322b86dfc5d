"""Dramatiq with its Redis broker: threads in one process, no results."""

from __future__ import annotations

import dramatiq
import kit
from dramatiq.brokers.redis import RedisBroker
from dramatiq.worker import Worker

broker = RedisBroker(url=kit.URL, **kit.SETTINGS.get("broker", {}))
dramatiq.set_broker(broker)


@dramatiq.actor(actor_name="noop")
def noop(number: int) -> None:
    kit.hit(number)
    if kit.HANGING:
        kit.hang()


class Peer(kit.Script):
    async def add(self, number: int) -> None:
        noop.send(number)

    async def add_many(self, numbers) -> None:
        # One call of Redis for each message inside.
        dramatiq.group([noop.message(number) for number in numbers]).run()

    async def work(self) -> None:
        kit.gate()
        Worker(broker, worker_threads=kit.SETTINGS["threads"]).start()
        await kit.forever()


kit.main(Peer())
