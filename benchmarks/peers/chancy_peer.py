"""Chancy: psycopg 3 and its executor for coroutines."""

from __future__ import annotations

import kit
from chancy import Chancy, Queue, Worker, job
from chancy.plugins.leadership import Leadership
from chancy.plugins.recovery import Recovery

POOL = 20
PLUGINS = {"leadership": Leadership, "recovery": Recovery}


@job(queue="default")
async def noop(*, number: int) -> None:
    kit.hit(number)
    if kit.HANGING:
        await kit.forever()


class Peer(kit.Script):
    """A job names its function by module, so `chancy_peer` is imported under its own name."""

    async def install(self) -> None:
        async with Chancy(kit.URL) as chancy:
            await chancy.migrate()
            await chancy.declare(
                Queue(
                    "default",
                    concurrency=kit.SETTINGS["concurrency"],
                    executor="chancy.executors.asyncex.AsyncExecutor",
                    polling_interval=1,
                    eager_polling=True,
                )
            )

    async def open(self) -> None:
        self.chancy = Chancy(kit.URL)
        await self.chancy.__aenter__()

    async def close(self) -> None:
        await self.chancy.__aexit__(None, None, None)

    async def add(self, number: int) -> None:
        await self.chancy.push(noop.job.with_kwargs(number=number))

    async def add_many(self, numbers) -> None:
        async for _ in self.chancy.push_many([noop.job.with_kwargs(number=number) for number in numbers]):
            pass

    async def work(self) -> None:
        plugins = [plugin(**kit.SETTINGS[name]) for name, plugin in PLUGINS.items() if name in kit.SETTINGS]
        async with Chancy(kit.URL, max_connection_pool_size=POOL, plugins=plugins) as chancy:
            kit.gate()
            async with Worker(chancy, register_signal_handlers=False, **kit.SETTINGS.get("worker", {})):
                await kit.forever()


if __name__ == "__main__":
    import chancy_peer

    kit.main(chancy_peer.Peer())
