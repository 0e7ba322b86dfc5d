"""Tasks of an earlier schema are all there afterwards, in the state they were in."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import asyncpg

import dibs
from dibs import settling
from dibs.model.claim import Claim
from dibs.model.status import Status
from dibs.queue import Queue
from dibs.stores.postgres import PostgresStore, opening
from dibs.stores.postgres.address import Address
from dibs.testing import FakeClock
from tests.servers import small

BEFORE_HELD = 2
"""The last version in which all that has not ended was one table."""

# What both schemas know: the newer one may have more.
_TABLES = """
SELECT c.relname::text, string_agg(quote_ident(a.attname), ', ')
FROM pg_class c JOIN pg_namespace s ON s.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE s.nspname = $1 AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname <> 'meta'
    AND a.attnum > 0 AND NOT a.attisdropped AND EXISTS (
        SELECT 1 FROM information_schema.columns o
        WHERE o.table_schema = $2 AND o.table_name = c.relname AND o.column_name = a.attname
    )
GROUP BY c.relname
"""


def earlier(folder: Path, version: int) -> str:
    """The files of the schema as they were at a version, without functions: nothing is done with it but copied into."""
    shutil.copytree(Path(opening.HERE, "migrations"), folder / "migrations")
    for file in (folder / "migrations").iterdir():
        if int(file.name.partition("_")[0]) > version:
            file.unlink()
    (folder / "functions").mkdir()
    return str(folder)


async def bring_into_every_state(queue: Queue) -> dict[Status, str]:
    """A task in each state that a store without questions and validators knows."""
    for_later = await queue.add("job", {"n": 1}, run_after=3_600)
    first = await queue.add("job", {"n": 2}, priority=90)
    waiting = await queue.add("job", {"n": 3}, after=[first])
    [running] = await queue.claim("ada", limit=1)
    await queue.add_many([dibs.NewTask("job", {"n": n}, priority=80) for n in range(5)])
    done, failed, dead, claimed, stopped = await queue.claim("bob", limit=5, start=False)
    for claim in (done, failed, dead):
        await queue.start(claim)
    await queue.complete(done, {"fine": True})
    await queue.fail(failed, "not yet")
    await queue.fail(dead, "never", retry=False)
    await queue.cancel(stopped.task.id)
    ready = await queue.add("job", {"n": 9})
    return {
        Status.SCHEDULED: for_later.id,
        Status.PENDING: waiting.id,
        Status.RUNNING: running.task.id,
        Status.COMPLETED: done.task.id,
        Status.RETRYING: failed.task.id,
        Status.DEAD_LETTERED: dead.task.id,
        Status.CLAIMED: claimed.task.id,
        Status.CANCELLED: stopped.task.id,
        Status.READY: ready.id,
    }


async def copy_rows(url: str, source: str, target: str) -> None:
    """Everything that the earlier schema has a place for."""
    connection = await asyncpg.connect(url.partition("?")[0])
    try:
        for table, columns in await connection.fetch(_TABLES, source, target):
            rows = f"SELECT {columns} FROM {source}.{table}"
            await connection.execute(f"INSERT INTO {target}.{table} ({columns}) OVERRIDING SYSTEM VALUE {rows}")
        version = await connection.fetchval(f"SELECT value FROM {source}.meta WHERE name = 'lanes'")
        await connection.execute(f"UPDATE {target}.meta SET value = $1 WHERE name = 'lanes'", version)
        for table, column in (("specs", "n"), ("edges", "id"), ("outbox", "id"), ("lanes", "id")):
            await connection.execute(
                f"SELECT setval(pg_get_serial_sequence('{target}.{table}', '{column}'), max({column}))"
                f" FROM {target}.{table} HAVING max({column}) IS NOT NULL"
            )
    finally:
        await connection.close()


def test_held_and_waiting_tasks_part_without_a_loss(postgres_url: str, tmp_path: Path) -> None:
    before = f"{postgres_url}_before"

    async def story() -> None:
        clock = FakeClock()
        async with Queue(PostgresStore(postgres_url, clock=clock)) as queue:
            await queue.store.connect()
            tasks = await bring_into_every_state(queue)
            expected = {id: await queue.get(id) for id in tasks.values()}
            attempts = {id: await queue.history(id) for id in tasks.values()}
            assert {task.status: id for id, task in expected.items()} == tasks

        old = small.engine(before, earlier(tmp_path / "schema", BEFORE_HELD))
        await old.open()
        try:
            await copy_rows(postgres_url, Address.parse(postgres_url).schema, old.schema)
            async with Queue(PostgresStore(before, clock=clock)) as queue:
                await queue.store.connect()
                assert {id: await queue.get(id) for id in tasks.values()} == expected
                assert {id: await queue.history(id) for id in tasks.values()} == attempts
                assert await queue.store.check() == []
                running = expected[tasks[Status.RUNNING]]
                held = Claim(
                    task=running,
                    fence=running.fence,
                    agent="ada",
                    lease_s=60.0,
                    lease_expires_at=running.lease_expires_at,
                )
                [settled] = await queue.settle([settling.completed(held)])
                assert getattr(settled, "status", settled) == "completed"
                claimed = await queue.claim("eve", limit=10)
                assert {claim.task.id for claim in claimed} == {tasks[Status.PENDING], tasks[Status.READY]}
        finally:
            await old.fetch(f'DROP SCHEMA "{old.schema}" CASCADE')
            await old.close()

    asyncio.run(story())
