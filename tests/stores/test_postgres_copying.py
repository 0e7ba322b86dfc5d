"""Tasks that were added together: where they lie, and that they are found if they lie elsewhere."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from dibs.model.task import NewTask
from dibs.queue import Queue
from dibs.stores.postgres import PostgresStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from dibs.stores.postgres.engine import Engine

TASKS = 1_000
_BY_PLACE = "SELECT lane, rank, n FROM dibs.waiting ORDER BY ctid"
_WHOSE = "SELECT s.n = w.n FROM dibs.waiting w JOIN dibs.specs s ON s.ctid = w.spec_tid"
"""Whether what lies where a task says is its specification."""
_MOVE_UP = """
UPDATE dibs.waiting w SET spec_tid = o.spec_tid
FROM (SELECT n, coalesce(lag(spec_tid) OVER (ORDER BY n), max(spec_tid) OVER ()) AS spec_tid FROM dibs.waiting) o
WHERE o.n = w.n
"""


@asynccontextmanager
async def filled(url: str) -> AsyncIterator[tuple[Queue, Engine]]:
    """A queue with many tasks in a few lanes, added together, in no order, at the beginning of their tables."""
    store = PostgresStore(url)
    await store.connect()
    queue = Queue(store)
    await store._engine.fetch("VACUUM FULL dibs.specs, dibs.waiting")
    chance = random.Random(7)
    wanted = [(f"type{chance.randrange(5)}", chance.randrange(20)) for _ in range(TASKS)]
    try:
        await queue.add_many([NewTask(type, priority, priority=priority) for type, priority in wanted])
        yield queue, store._engine
    finally:
        await queue.close()


async def check_claims(queue: Queue) -> None:
    """Each task has the specification that is its own. (Its priority is told by what waits, its payload is not.)"""
    claims = await queue.claim("ada", limit=TASKS)
    assert len({claim.task.id for claim in claims}) == TASKS
    assert [claim.task.payload for claim in claims] == [claim.task.priority for claim in claims]


def test_what_one_claim_takes_lies_together(postgres_url: str) -> None:
    async def story() -> None:
        async with filled(postgres_url) as (_, engine):
            rows = [tuple(row) for row in await engine.fetch(_BY_PLACE)]
            assert len(rows) == TASKS
            assert rows == sorted(rows)

    asyncio.run(story())


def test_a_waiting_task_says_where_its_specification_lies(postgres_url: str) -> None:
    async def story() -> None:
        async with filled(postgres_url) as (queue, engine):
            assert [own for (own,) in await engine.fetch(_WHOSE)] == [True] * TASKS
            await check_claims(queue)

    asyncio.run(story())


def test_a_specification_that_lies_elsewhere_is_found(postgres_url: str) -> None:
    async def story() -> None:
        async with filled(postgres_url) as (queue, engine):
            # As if all had moved up: where one was, there is another now. (What VACUUM FULL moves, and how far, depends
            # on transactions of other tests.) And some are not where they were, nor is anything else.
            await engine.fetch(_MOVE_UP)
            await engine.fetch("UPDATE dibs.specs SET spec = spec WHERE n % 3 = 0")
            found = [own for (own,) in await engine.fetch(_WHOSE)]
            assert set(found) == {False}
            assert TASKS / 2 < len(found) < TASKS
            await check_claims(queue)

    asyncio.run(story())


def test_what_is_called_often_is_never_compiled(postgres_url: str) -> None:
    """Where tables are long a server thinks its plans worth compiling, at every call: adds fell to half their speed."""

    async def story() -> None:
        async with filled(postgres_url) as (_, engine):
            found = await engine.fetch(
                "SELECT proname::text FROM pg_proc WHERE 'jit=off' = ANY (proconfig) AND pronamespace ="
                " (SELECT relnamespace FROM pg_class WHERE oid = 'dibs.work'::regclass)"
            )
            assert {"claim", "settle", "end_copy"} <= {name for (name,) in found}

    asyncio.run(story())
