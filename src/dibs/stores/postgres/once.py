"""Statements that must not be applied twice, and how to find out whether a lost commit took place.

Such a statement runs in a transaction that, if it has written anything, also leaves a mark: a row of this store in
the table `commits` gets a new number. If the connection is lost during COMMIT, asking for that row waits for whoever
still holds it, and then its number says whether the transaction was committed.

The server's own memory of transactions (`pg_xact_status`) would not do: a server that crashes before a transaction
has reached the disk gives its number to another one afterwards.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dibs.stores.postgres import trouble

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.stores.postgres.pool import Connection

_MARK = """
INSERT INTO dibs.commits (name, number, at)
SELECT $1, $2, dibs.micros() WHERE pg_current_xact_id_if_assigned() IS NOT NULL
ON CONFLICT (name) DO UPDATE SET number = excluded.number, at = excluded.at
"""
_ASK = """
INSERT INTO dibs.commits (name, number, at) VALUES ($1, 0, dibs.micros())
ON CONFLICT (name) DO UPDATE SET at = excluded.at
RETURNING number
"""
_FORGET = """
DELETE FROM dibs.commits WHERE name IN (
    SELECT name FROM dibs.commits WHERE name = ANY($1) OR at < dibs.micros() - 86400000000 FOR UPDATE SKIP LOCKED
)
"""

_WAIT_MS = 1_000
"""How long to wait in one go for a transaction that is neither committed nor undone."""


class InDoubt(Exception):
    """The connection was lost during COMMIT. `rows` is the answer, if it was committed."""

    def __init__(self, name: str, number: int, rows: list[Any]) -> None:
        super().__init__(name, number)
        self.name = name
        self.number = number
        self.rows = rows


class Marks:
    """The rows of this store: one for each such statement that runs at the same time."""

    def __init__(self, text: Callable[[str], str]) -> None:
        self._mark, self._ask, self._forget = text(_MARK), text(_ASK), text(_FORGET)
        self._origin = os.urandom(8).hex()
        self._number = 0
        self._names: list[str] = []
        self._free: list[str] = []

    @property
    def used(self) -> bool:
        """Whether there may be any."""
        return bool(self._names)

    def take(self) -> str:
        """A row that nobody else uses meanwhile; to be given back."""
        if not self._free:
            self._free.append(f"{self._origin}-{len(self._names)}")
            self._names.append(self._free[-1])
        return self._free.pop()

    def give(self, name: str) -> None:
        self._free.append(name)

    async def run(self, connection: Connection, name: str, text: str, args: tuple[Any, ...]) -> list[Any]:
        """Run a statement in a transaction of its own. Raises InDoubt if its end is unknown."""
        self._number += 1
        number = self._number
        await connection.execute("BEGIN")
        try:
            rows: list[Any] = await connection.fetch(text, *args)
            await connection.execute(self._mark, name, number)
        except Exception:
            if not connection.is_closed():
                await connection.execute("ROLLBACK")
            raise
        try:
            await connection.execute("COMMIT")
        except Exception as error:
            if connection.is_closed() or trouble.is_loss(error):
                connection.terminate()
                raise InDoubt(name, number, rows) from error
            raise
        return rows

    async def was_committed(self, connection: Connection, doubt: InDoubt) -> bool:
        """Whether it was. Raises the server's error for locks if that is not decided yet."""
        await connection.execute(f"BEGIN; SET LOCAL lock_timeout = {_WAIT_MS}")
        try:
            number = await connection.fetchval(self._ask, doubt.name)
            await connection.execute("COMMIT")
        except Exception:
            if not connection.is_closed():
                await connection.execute("ROLLBACK")
            raise
        return bool(number == doubt.number)

    async def forget(self, connection: Connection) -> None:
        """Remove our rows, and those that somebody left behind long ago."""
        await connection.execute(self._forget, self._names)
