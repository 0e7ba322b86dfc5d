"""PgQueuer: asyncpg on one connection, uvloop."""

from __future__ import annotations

import json
from datetime import timedelta

import asyncpg
import kit
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries

BACKLOG_CHUNK = 20_000


class Peer(kit.Script):
    async def install(self) -> None:
        await Queries(AsyncpgDriver(await asyncpg.connect(kit.URL))).install()

    async def open(self) -> None:
        self.connection = await asyncpg.connect(kit.URL)
        self.queries = Queries(AsyncpgDriver(self.connection))

    async def add(self, number: int) -> None:
        await self.queries.enqueue("noop", b'{"number": %d}' % number)

    async def add_many(self, numbers) -> None:
        payloads = [b'{"number": %d}' % number for number in numbers]
        await self.queries.enqueue(["noop"] * len(payloads), payloads, [0] * len(payloads))

    async def load(self, count: int, lanes: int = 1) -> None:
        await self.connection.execute("ALTER TABLE pgqueuer DISABLE TRIGGER USER")
        for first in range(0, count, BACKLOG_CHUNK):
            await self.add_many(range(first, min(count, first + BACKLOG_CHUNK)))
        await self.connection.execute("ALTER TABLE pgqueuer ENABLE TRIGGER USER")

    async def work(self) -> None:
        queue = PgQueuer(AsyncpgDriver(await asyncpg.connect(kit.URL)))

        @queue.entrypoint("noop")
        async def noop(job) -> None:
            kit.hit(json.loads(job.payload)["number"])
            if kit.HANGING:
                await kit.forever()

        kit.gate()
        await queue.run(
            batch_size=kit.SETTINGS["batch_size"],
            dequeue_timeout=timedelta(seconds=kit.SETTINGS.get("dequeue_timeout_s", 30)),
            heartbeat_timeout=timedelta(seconds=kit.SETTINGS.get("heartbeat_timeout_s", 30)),
        )


kit.main(Peer(), uvloop.run)
