"""DBOS Transact: queued workflows, with PostgreSQL or a file of SQLite as its system database."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing

import kit
import psycopg
from dbos import DBOS, DBOSClient

URL = kit.URL.replace("postgresql://", "postgresql+psycopg://")
FILE = kit.URL.removeprefix("sqlite:///") if kit.URL.startswith("sqlite:") else None
POOL = 20
OPTIONS = {"workflow_name": "noop", "queue_name": "q", "app_version": "v1"}
FAN_OUT = 10


@DBOS.workflow(name="noop")
async def noop(number: int) -> None:
    kit.hit(number)
    if kit.HANGING:
        await kit.forever()


@DBOS.workflow(name="graph")
async def graph(number: int) -> None:
    """A workflow that waits for ten of its own: both ends of the graph in one."""
    kit.hit(number)
    children = [await DBOS.enqueue_workflow_async("q", noop, number) for _ in range(FAN_OUT)]
    for child in children:
        await child.get_result()


class Peer(kit.Script):
    def launch(self) -> None:
        DBOS(
            config={
                "name": "bench",
                "system_database_url": URL,
                "log_level": "WARNING",
                "application_version": "v1",
                "executor_id": f"executor-{os.getpid()}",
                "sys_db_pool_size": POOL,
                "run_admin_server": False,
            }
        )
        DBOS.launch()
        DBOS.register_queue(
            "q",
            worker_concurrency=kit.SETTINGS["worker_concurrency"],
            polling_interval_sec=kit.SETTINGS["polling_interval_s"],
        )

    async def install(self) -> None:
        if FILE:
            # The mode stays with the file.
            with closing(sqlite3.connect(FILE)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
        # Its launch makes an event loop of its own and refuses to be called inside another.
        await asyncio.to_thread(self.launch)

    async def open(self) -> None:
        self.client = DBOSClient(system_database_url=URL, application_name="bench")

    async def add(self, number: int) -> None:
        self.client.enqueue(dict(OPTIONS), number)

    async def add_many(self, numbers) -> None:
        # There is no bulk call; many calls in one transaction is the nearest thing that is documented.
        with self.client._sys_db.engine.begin() as transaction:
            for number in numbers:
                self.client.enqueue_in_transaction(transaction, dict(OPTIONS), number)

    async def load(self, count: int, lanes: int = 1) -> None:
        """One real workflow, copied in SQL with new ids: its own calls would take minutes. A file gets those."""
        if FILE:
            await super().load(count, lanes)
            return
        await self.add(0)
        with psycopg.connect(kit.URL) as connection:
            connection.execute(
                "CREATE TEMP TABLE copies ON COMMIT DROP AS"
                " SELECT gen_random_uuid()::text AS id FROM generate_series(2, %s::int)",
                [count],
            )
            for table in ("workflow_status", "workflow_input"):
                columns = connection.execute(
                    "SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns"
                    " WHERE table_schema = 'dbos' AND table_name = %s AND is_generated = 'NEVER'"
                    " AND column_name <> 'workflow_uuid'",
                    [table],
                ).fetchone()[0]
                connection.execute(
                    f"INSERT INTO dbos.{table} (workflow_uuid, {columns}) SELECT copies.id, {columns}"
                    f" FROM copies, (SELECT * FROM dbos.{table} LIMIT 1) AS original"
                )

    async def add_graphs(self, count: int) -> None:
        for number in range(count):
            self.client.enqueue({**OPTIONS, "workflow_name": "graph"}, number)

    async def work(self) -> None:
        kit.gate()
        await asyncio.to_thread(self.launch)
        await kit.forever()


kit.main(Peer())
# Its background threads would keep the process.
os._exit(0)
