"""Tasks added on a caller's own connection share the fate of his transaction, and never stand in anybody's way."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import asyncpg
import psycopg
import pytest
from psycopg.rows import dict_row

import dibs
from dibs.errors import Invalid, KeyReused, NotFound
from dibs.model.status import DagStatus, Status
from dibs.model.task import NewTask
from dibs.stores.values import Insertion, Spawn
from tests.stores.listening import engine_of, settled_news

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from dibs.queue import Queue


class Undo(Exception):
    """The caller changed his mind."""


class Asyncpg:
    """A caller who uses asyncpg."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    @classmethod
    @asynccontextmanager
    async def connected(cls, dsn: str) -> AsyncIterator[Asyncpg]:
        connection = await asyncpg.connect(dsn)
        try:
            await connection.execute("CREATE TABLE IF NOT EXISTS orders (id integer)")
            yield cls(connection)
        finally:
            await connection.close()

    def transaction(self, isolation: str = "read_committed") -> Any:
        return self.connection.transaction(isolation=isolation)

    async def run(self, sql: str) -> list[Any]:
        return [tuple(row) for row in await self.connection.fetch(sql)]


class Psycopg(Asyncpg):
    """A caller who uses psycopg, and likes his rows as dictionaries."""

    @classmethod
    @asynccontextmanager
    async def connected(cls, dsn: str) -> AsyncIterator[Asyncpg]:
        connection = await psycopg.AsyncConnection.connect(dsn, autocommit=True, row_factory=dict_row)
        try:
            await connection.execute("CREATE TABLE IF NOT EXISTS orders (id integer)")
            yield cls(connection)
        finally:
            await connection.close()

    @asynccontextmanager
    async def transaction(self, isolation: str = "read_committed") -> AsyncIterator[None]:
        async with self.connection.transaction():
            await self.connection.execute(f"SET TRANSACTION ISOLATION LEVEL {isolation.replace('_', ' ')}")
            yield

    async def run(self, sql: str) -> list[Any]:
        cursor = await self.connection.execute(sql)
        return [tuple(row.values()) for row in await cursor.fetchall()] if cursor.description else []


@pytest.fixture(params=[Asyncpg, Psycopg])
def joined(
    request: pytest.FixtureRequest, postgres_url: str
) -> Callable[[Callable[[Queue, Asyncpg], Awaitable[None]]], None]:
    """Runs a test with a queue and a caller on the same database."""

    def run(test: Callable[[Queue, Asyncpg], Awaitable[None]]) -> None:
        async def with_both() -> None:
            place, _, _ = postgres_url.partition("schema=")
            async with request.param.connected(place.rstrip("?&")) as caller:
                queue = await dibs.connect(postgres_url)
                try:
                    async with asyncio.timeout(60):
                        await test(queue, caller)
                    assert await queue.store.check() == []
                finally:
                    await caller.run("DELETE FROM orders")
                    await queue.close()

        asyncio.run(with_both())

    return run


Joined = Any


def test_a_task_is_there_when_the_transaction_commits_and_not_before(joined: Joined) -> None:
    async def test(queue: Queue, caller: Asyncpg) -> None:
        async with caller.transaction():
            await caller.run("INSERT INTO orders VALUES (1)")
            task = await queue.add("ship", {"order": 1}, connection=caller.connection)
            assert (task.status, task.payload) == (Status.READY, {"order": 1})
            with pytest.raises(NotFound):
                await queue.get(task.id)
            assert await queue.claim("ada") == []
        assert (await queue.get(task.id)).status is Status.READY
        [claim] = await queue.claim("ada")
        assert claim.task.id == task.id
        assert [event.type for event in await queue.read_events()][:2] == ["task.added", "task.ready"]

    joined(test)


def test_a_task_never_was_when_the_transaction_is_rolled_back(joined: Joined) -> None:
    async def test(queue: Queue, caller: Asyncpg) -> None:
        async def add_and_undo() -> None:
            async with caller.transaction():
                await queue.add_many([NewTask("ship", key="k"), NewTask("ship")], connection=caller.connection)
                raise Undo

        with pytest.raises(Undo):
            await add_and_undo()
        assert (await queue.find()).items == []
        assert await queue.read_events() == []
        # Nor is its key taken.
        await queue.add("ship", "another", key="k")

    joined(test)


def test_many_tasks_and_edges_between_them_are_added(joined: Joined) -> None:
    async def test(queue: Queue, caller: Asyncpg) -> None:
        async with caller.transaction():
            tasks = [NewTask("pack", ref="pack"), NewTask("ship", after=["pack"])]
            pack, ship = await queue.add_many(tasks, connection=caller.connection)
            assert (pack.status, ship.status, ship.blocked_by) == (Status.READY, Status.PENDING, (pack.id,))
        [claim] = await queue.claim("ada", limit=5)
        await queue.complete(claim)
        assert (await queue.get(ship.id)).status is Status.READY

    joined(test)


def test_a_dag_is_answered_as_only_the_caller_sees_it(joined: Joined) -> None:
    async def test(queue: Queue, caller: Asyncpg) -> None:
        tasks = [NewTask("pack", ref="pack"), NewTask("ship", after=["pack"])]
        async with caller.transaction():
            dag = await queue.add_dag("order", tasks, key="order 1", connection=caller.connection)
            assert (dag.title, dag.status, len(dag.tasks)) == ("order", DagStatus.PENDING, 2)
            again = await queue.add_dag("order", tasks, key="order 1", connection=caller.connection)
            assert again.id == dag.id
            with pytest.raises(NotFound):
                await queue.get_dag(dag.id)
        now = await queue.get_dag(dag.id)
        assert (now.edges, now.roots, now.critical_path) == (dag.edges, dag.roots, dag.critical_path)
        assert [task.id for task in now.tasks] == [task.id for task in dag.tasks]

    joined(test)


def test_a_refusal_leaves_the_transaction_as_it_was(joined: Joined) -> None:
    async def test(queue: Queue, caller: Asyncpg) -> None:
        await queue.add("ship", 1, key="k")
        async with caller.transaction():
            await caller.run("INSERT INTO orders VALUES (1)")
            kept = await queue.add("ship", 2, connection=caller.connection)
            with pytest.raises(KeyReused):
                await queue.add_many([NewTask("ship", 3), NewTask("ship", 4, key="k")], connection=caller.connection)
            with pytest.raises(NotFound):
                await queue.add("ship", after=["task_unknown"], connection=caller.connection)
            assert await caller.run("SELECT id FROM orders") == [(1,)]
        assert await caller.run("SELECT id FROM orders") == [(1,)]
        assert sorted(task.payload for task in (await queue.find()).items) == [1, 2]
        assert (await queue.get(kept.id)).status is Status.READY

    joined(test)


def test_the_same_key_again_is_answered_with_the_task_that_exists(joined: Joined) -> None:
    async def test(queue: Queue, caller: Asyncpg) -> None:
        first = await queue.add("ship", 1, key="k")
        async with caller.transaction():
            again = await queue.add("ship", 1, key="k", connection=caller.connection)
            inside = await queue.add("ship", 2, key="k2", connection=caller.connection)
            inside_again = await queue.add("ship", 2, key="k2", connection=caller.connection)
        assert again.id == first.id
        assert inside_again.id == inside.id

    joined(test)


def test_what_was_added_in_the_same_transaction_may_be_depended_on(joined: Joined) -> None:
    async def test(queue: Queue, caller: Asyncpg) -> None:
        async with caller.transaction():
            pack = await queue.add("pack", connection=caller.connection)
            async with caller.transaction() if isinstance(caller, Psycopg) else caller.connection.transaction():
                ship = await queue.add("ship", after=[pack], connection=caller.connection)
            bill = await queue.add("bill", after=[ship], dag=ship.dag_id, connection=caller.connection)
            assert bill.dag_id == pack.dag_id
        assert [(await queue.get(task.id)).status for task in (pack, ship, bill)] == ["ready", "pending", "pending"]

    joined(test)


def test_what_has_ended_may_be_depended_on(joined: Joined) -> None:
    async def test(queue: Queue, caller: Asyncpg) -> None:
        pack = await queue.add("pack")
        [claim] = await queue.claim("ada")
        await queue.complete(claim)
        async with caller.transaction():
            ship = await queue.add("ship", after=[pack], connection=caller.connection)
            assert ship.status is Status.READY
        assert (await queue.get_dag(pack.dag_id)).counts["ready"] == 1

    joined(test)


def test_a_task_that_has_not_ended_is_not_depended_on(joined: Joined) -> None:
    async def test(queue: Queue, caller: Asyncpg) -> None:
        pack = await queue.add("pack")
        dag = await queue.add_dag("order", [NewTask("pack")])
        async with caller.transaction():
            with pytest.raises(Invalid, match="has not ended") as refused:
                await queue.add("ship", after=[pack], connection=caller.connection)
            assert refused.value.field == "after"
            for dag_id in (pack.dag_id, dag.id):
                with pytest.raises(Invalid, match="has not ended") as refused:
                    await queue.add("ship", dag=dag_id, connection=caller.connection)
                assert refused.value.field == "dag"
            # Nobody has to wait for this transaction.
            for claim in await queue.claim("ada", limit=2):
                await queue.complete(claim)

    joined(test)


def test_others_go_on_while_the_transaction_lasts(joined: Joined) -> None:
    async def test(queue: Queue, caller: Asyncpg) -> None:
        await queue.add("ship", 0)
        async with caller.transaction():
            await queue.add("ship", 1, key="k", connection=caller.connection)
            await queue.add("new type", 2, connection=caller.connection)
            await queue.add("ship", 3)
            await queue.add("another type", 4)
            claims = await queue.claim("ada", limit=10)
            assert sorted(claim.task.payload for claim in claims) == [0, 3, 4]
            for claim in claims:
                await queue.complete(claim)
            await queue.run_duties()
        assert sorted(claim.task.payload for claim in await queue.claim("ada", limit=10)) == [1, 2]

    joined(test)


def test_who_waits_hears_of_the_commit(joined: Joined, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody looks for himself.
    monkeypatch.setattr("dibs.stores.postgres.hints.LISTENING_S", 60.0)

    async def test(queue: Queue, caller: Asyncpg) -> None:
        number = await settled_news(engine_of(queue))
        waiting = asyncio.create_task(queue.store.wait_for_news(number, 50.0))
        async with caller.transaction():
            await queue.add("ship", connection=caller.connection)
            assert not waiting.done()
        assert await asyncio.wait_for(waiting, 60.0) != number

    joined(test)


@pytest.mark.parametrize("isolation", ["repeatable_read", "serializable"])
def test_an_old_snapshot_adds_to_lanes_it_cannot_see(joined: Joined, isolation: str) -> None:
    async def test(queue: Queue, caller: Asyncpg) -> None:
        async with caller.transaction(isolation):
            await caller.run("SELECT count(*) FROM orders")
            await queue.add("ship", "fresh")
            await queue.add("ship", 1, connection=caller.connection)
            await queue.add("bill", 2, connection=caller.connection)
        claims = await queue.claim("ada", limit=10)
        assert {claim.task.payload for claim in claims} == {"fresh", 1, 2}

    joined(test)


def test_a_connection_without_a_transaction_is_refused(joined: Joined) -> None:
    async def test(queue: Queue, caller: Asyncpg) -> None:
        with pytest.raises(Invalid, match="no transaction") as refused:
            await queue.add("ship", connection=caller.connection)
        assert refused.value.field == "connection"

    joined(test)


def test_a_psycopg_connection_begins_its_transaction_with_the_first_statement(postgres_url: str) -> None:
    async def test() -> None:
        queue = await dibs.connect(postgres_url)
        place, _, _ = postgres_url.partition("schema=")
        async with await psycopg.AsyncConnection.connect(place.rstrip("?&")) as connection:
            await queue.add("ship", connection=connection)
            assert (await queue.find()).items == []
            await connection.commit()
            assert len((await queue.find()).items) == 1
        await queue.close()

    asyncio.run(test())


def test_a_spawn_takes_no_connection(joined: Joined) -> None:
    async def test(queue: Queue, caller: Asyncpg) -> None:
        async with caller.transaction():
            spawn = Spawn(task_id="task_x", fence=1, name="", digest="")
            with pytest.raises(Invalid) as refused:
                await queue.store.insert(Insertion(drafts=[], spawn=spawn), caller.connection)
            assert refused.value.field == "connection"

    joined(test)


def test_other_connections_and_other_stores_are_refused(postgres_url: str, tmp_path: Any) -> None:
    async def test() -> None:
        for url in (postgres_url, "memory:", f"sqlite:{tmp_path}/dibs.db"):
            queue = await dibs.connect(url)
            for add in (
                queue.add("ship", connection=object()),
                queue.add_many([NewTask("ship")], connection=object()),
                queue.add_dag("order", [NewTask("ship")], connection=object()),
            ):
                with pytest.raises(Invalid) as refused:
                    await add
                assert refused.value.field == "connection"
            assert (await queue.find()).items == []
            await queue.close()

    asyncio.run(test())
