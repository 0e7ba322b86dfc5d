"""Procrastinate: psycopg 3, uvloop."""

from __future__ import annotations

import kit
import psycopg
import uvloop
from procrastinate import App, PsycopgConnector

POOL = 30

app = App(connector=PsycopgConnector(conninfo=kit.URL, min_size=2, max_size=POOL))


@app.task(name="noop", queue="default")
async def noop(number: int) -> None:
    kit.hit(number)
    if kit.HANGING:
        await kit.forever()


class Peer(kit.Script):
    async def install(self) -> None:
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    async def open(self) -> None:
        await app.open_async()

    async def close(self) -> None:
        await app.close_async()

    async def add(self, number: int) -> None:
        await noop.defer_async(number=number)

    async def add_many(self, numbers) -> None:
        await noop.batch_defer_async(*[{"number": number} for number in numbers])

    async def load(self, count: int, lanes: int = 1) -> None:
        connection = await psycopg.AsyncConnection.connect(kit.URL, autocommit=True)
        async with connection:
            # As its own call writes them, without a notification for each.
            await connection.execute("SET session_replication_role = replica")
            await connection.execute(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, args, priority, status)"
                " SELECT 'default', 'noop', jsonb_build_object('number', g), 0, 'todo'"
                " FROM generate_series(0, %s::int - 1) g",
                [count],
            )

    async def work(self) -> None:
        async with app.open_async():
            kit.gate()
            await app.run_worker_async(
                concurrency=kit.SETTINGS["concurrency"], install_signal_handlers=False, delete_jobs="never"
            )


kit.main(Peer(), uvloop.run)
