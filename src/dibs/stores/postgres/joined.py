"""Tasks added inside somebody else's transaction: they are there if it commits, and never were if it does not.

The connection is one of asyncpg or an asynchronous one of psycopg 3, with a transaction begun. Each call runs under a
savepoint, so a refusal of ours leaves the transaction as it was.
"""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import asyncpg

from dibs.errors import Invalid
from dibs.stores.postgres import refused

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from dibs.stores.postgres.engine import Engine

_PLACEHOLDER = re.compile(r"\$(\d+)")
_BEGIN = """
SELECT current_setting('transaction_isolation'), dibs.hold_floors()::text,
    CASE WHEN $1::text IS NOT NULL THEN pg_notify($1::text, '')::text END
"""


class Joined:
    """A caller's connection, spoken to as the engine is: what reads through an engine can read through this."""

    def __init__(self, engine: Engine, connection: Any) -> None:
        if engine.blocking:
            raise Invalid(
                "connection is for async code: connect with dibs.connect and await it there.", field="connection"
            )
        self._engine = engine
        self._way: _Asyncpg | _Psycopg
        psycopg = sys.modules.get("psycopg")
        if isinstance(connection, asyncpg.Connection | asyncpg.pool.PoolConnectionProxy):
            self._way = _Asyncpg(connection)
        elif psycopg is not None and isinstance(connection, psycopg.AsyncConnection):
            self._way = _Psycopg(connection)
        else:
            raise Invalid(
                "connection must be a connection of asyncpg or a psycopg.AsyncConnection,"
                f" not {type(connection).__name__}.",
                field="connection",
            )
        if not self._way.in_transaction():
            raise Invalid("connection has no transaction under way: begin one, and add inside it.", field="connection")
        self.snapshot_is_old = False
        """Whether it sees things as they were when its transaction began."""

    async def begin(self) -> None:
        """From now on, and until the transaction ends, no lane is retired. If it commits, a hint leaves with it."""
        [[isolation, *_]] = await self._way.fetch(self._engine.text(_BEGIN), (self._engine.channel,))
        self.snapshot_is_old = isolation != "read committed"

    def savepoint(self) -> AbstractAsyncContextManager[Any]:
        """What fails inside is undone; the transaction goes on."""
        return self._way.savepoint()

    @property
    def at(self) -> int | None:
        """As the engine's."""
        return self._engine.at

    def now(self) -> int:
        """As the engine's."""
        return self._engine.now()

    async def fetch(self, sql: str, *args: Any) -> list[Any]:
        """Run a statement in the caller's transaction."""
        return await self._way.fetch(self._engine.text(sql), args)

    async def row(self, sql: str, *args: Any) -> Any:
        """Its first row, by name."""
        return await self._way.row(self._engine.text(sql), args)

    async def value(self, sql: str, *args: Any) -> Any:
        """The first value of its first row."""
        return (await self.fetch(sql, *args))[0][0]

    def changed(self) -> None:
        """Nothing was committed yet; the hint will tell when it is."""


class _Asyncpg:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def in_transaction(self) -> bool:
        return bool(self._connection.is_in_transaction())

    def savepoint(self) -> AbstractAsyncContextManager[Any]:
        savepoint: AbstractAsyncContextManager[Any] = self._connection.transaction()
        return savepoint

    async def fetch(self, text: str, args: tuple[Any, ...]) -> list[Any]:
        try:
            rows: list[Any] = await self._connection.fetch(text, *args)
        except asyncpg.PostgresError as error:
            if error.sqlstate == refused.SQLSTATE:
                raise refused.refused(error) from error
            raise
        return rows

    async def row(self, text: str, args: tuple[Any, ...]) -> Any:
        return (await self.fetch(text, args))[0]


class _Psycopg:
    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._psycopg = sys.modules["psycopg"]

    def in_transaction(self) -> bool:
        status = self._psycopg.pq.TransactionStatus
        # Without autocommit the first statement begins one.
        return not self._connection.autocommit or self._connection.info.transaction_status != status.IDLE

    def savepoint(self) -> AbstractAsyncContextManager[Any]:
        savepoint: AbstractAsyncContextManager[Any] = self._connection.transaction()
        return savepoint

    async def fetch(self, text: str, args: tuple[Any, ...]) -> list[Any]:
        return await self._run(text, args, self._psycopg.rows.tuple_row)

    async def row(self, text: str, args: tuple[Any, ...]) -> Any:
        return (await self._run(text, args, self._psycopg.rows.dict_row))[0]

    async def _run(self, text: str, args: tuple[Any, ...], rows: Any) -> list[Any]:
        named = {f"p{place}": argument for place, argument in enumerate(args, 1)}
        query = _PLACEHOLDER.sub(r"%(p\1)s", text)
        # Its own cursor class and rows, whatever those of the connection are.
        cursor = self._psycopg.AsyncCursor(self._connection, row_factory=rows)
        try:
            async with cursor:
                await cursor.execute(query, named)
                found: list[Any] = await cursor.fetchall()
                return found
        except self._psycopg.Error as error:
            if error.sqlstate == refused.SQLSTATE:
                raise refused.refusal(error.diag.message_primary, json.loads(error.diag.message_detail)) from error
            raise
