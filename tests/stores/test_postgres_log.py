"""What the log of a busy server says of us: nothing that its owner would have to look into."""

from __future__ import annotations

import asyncio

import dibs
from dibs.model.task import NewTask
from dibs.stores.postgres import PostgresStore, copying
from tests.servers.postgres import private

_MANY_ENDED = """
INSERT INTO dibs.ended (n, ended_at, updated_at, fence, priority, boost, lane, attempts, status, agent, digest)
SELECT n, n, n, 1, 50, 0.1, 1, 1, 'completed', 'ada', 'd' FROM generate_series(1, 400000) n
"""


def test_the_log_of_a_busy_server_stays_quiet() -> None:
    async def story(url: str) -> None:
        async with dibs.connect(url):
            pass
        made = log.read_text()
        store = PostgresStore(url)
        await store.connect()
        try:
            queue = dibs.Queue(store)
            # Nobody here has heard of its lane.
            await queue.add_many([NewTask("job", {"number": number}) for number in range(1_000)])
            # More pages than the server has notes about.
            await store._engine.fetch(_MANY_ENDED)
        finally:
            await store.close()
        assert log.read_text().removeprefix(made) == ""

    with private(fsync="off", checkpoint_timeout="1h", max_wal_size="4GB", autovacuum="off") as server:
        log = server.folder / "log"
        asyncio.run(story(server.url()))


def test_the_numbers_of_a_portion_are_its_own(postgres_url: str) -> None:
    async def story() -> None:
        store = PostgresStore(postgres_url)
        await store.connect()
        try:
            step = await store._engine.value(
                "SELECT seqincrement FROM pg_sequence WHERE seqrelid = 'dibs.specs_n_seq'::regclass"
            )
            assert step == copying.PORTION
        finally:
            await store.close()

    asyncio.run(story())
