"""Opening a database: refusing what cannot be used, and bringing the schema up to date.

Tables come from `migrations/NNNN_what.sql`, each run once; functions from `functions/*.sql`, created anew whenever
their text is not what the database has. All of it happens in one transaction under a lock, so that any number of
processes may open at once: the first one does the work, and whatever is refused changes nothing.
Where nothing is to do, one query says so, and no right to create anything is needed.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import asyncpg

import dibs
from dibs.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.stores.postgres.address import Address
    from dibs.stores.postgres.pool import Connection

OLDEST = 15
"""The oldest major version of PostgreSQL that will do."""

HERE = os.path.dirname(__file__)

_LOOK = """
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS clock,
    current_setting('transaction_read_only') = 'on' AS read_only, pg_is_in_recovery() AS standby,
    (SELECT value FROM dibs.meta WHERE name = 'schema') AS version,
    (SELECT value FROM dibs.meta WHERE name = 'functions') AS functions
"""
_STATE = """
SELECT current_setting('transaction_read_only') = 'on' AS read_only, pg_is_in_recovery() AS standby,
    to_regnamespace($1) IS NOT NULL AS schema,
    (SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind = 'r' LIMIT 1) AS table,
    to_regnamespace($1) IS NULL AND has_database_privilege(current_database(), 'CREATE')
        OR has_schema_privilege(to_regnamespace($1), 'CREATE') AS may_create,
    current_user AS role
"""
_FUNCTIONS = """
SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1
    -- What triggers call is replaced while they are there.
    AND p.prorettype <> 'trigger'::regtype
"""
_REMEMBER = """
INSERT INTO dibs.meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""


@dataclass(frozen=True)
class Texts:
    """What the database must have, as this version of dibs knows it."""

    migrations: tuple[tuple[int, str], ...]
    functions: tuple[str, ...]

    @property
    def version(self) -> int:
        """The number of the newest migration."""
        return self.migrations[-1][0]

    @property
    def edition(self) -> str:
        """Which functions these are: the release they are from, and a digest of their text."""
        digest = hashlib.sha256("\0".join(self.functions).encode()).hexdigest()
        return f"{dibs.__version__} {digest[:32]}"


def texts(folder: str = HERE) -> Texts:
    """What is in these files."""
    return read(folder)


@cache
def read(folder: str) -> Texts:
    """Read the files, once."""
    migrations = [(int(name[:4]), text) for name, text in _files(os.path.join(folder, "migrations"))]
    return Texts(tuple(migrations), tuple(text for _, text in _files(os.path.join(folder, "functions"))))


def newest_version() -> int:
    """The version of the schema that this dibs uses."""
    return texts().version


def _files(folder: str) -> list[tuple[str, str]]:
    found = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".sql"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found.append((name, file.read()))
    return found


async def bring_up_to_date(
    connection: Connection, address: Address, wanted: Texts, in_schema: Callable[[str], str]
) -> int | None:
    """Make the schema what this version of dibs needs, or refuse it and change nothing.

    If nothing had to be done: what the server's clock said just now.
    """
    _check_server(connection, address)
    try:
        found = await connection.fetchrow(in_schema(_LOOK))
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError):
        found = None
    except asyncpg.InsufficientPrivilegeError as error:
        raise _no_right_to_use(address, error) from error
    if found is not None:
        _check_writable(found, address)
        if _is_current(found["version"], found["functions"], wanted, address):
            return int(found["clock"])
    await connection.execute("BEGIN")
    try:
        # The lock ends with the transaction: nothing of the session is relied on.
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _lock_number(address.schema))
        await _migrate(connection, address, wanted, in_schema)
        await connection.execute("COMMIT")
    except BaseException:
        if not connection.is_closed():
            await connection.execute("ROLLBACK")
        raise
    return None


async def _migrate(connection: Connection, address: Address, wanted: Texts, in_schema: Callable[[str], str]) -> None:
    state = await connection.fetchrow(_STATE, f'"{address.schema}"')
    _check_writable(state, address)
    version, functions = 0, None
    if state["table"] is not None:
        try:
            found = await connection.fetchrow(in_schema(_LOOK))
        except asyncpg.UndefinedTableError:
            raise _not_ours(address, state["table"]) from None
        if found["version"] is None:
            raise _not_ours(address, state["table"])
        if _is_current(found["version"], found["functions"], wanted, address):
            return
        version, functions = int(found["version"]), found["functions"]
    try:
        if not state["schema"]:
            await connection.execute(in_schema("CREATE SCHEMA dibs.").removesuffix("."))
        for number, text in wanted.migrations:
            if number > version:
                await connection.execute(in_schema(text))
        if _is_older(functions, wanted):
            # One that takes or answers something else than before could not be replaced.
            for [signature] in await connection.fetch(_FUNCTIONS, address.schema):
                await connection.execute(f"DROP FUNCTION {signature}")
            # They call each other, and each comes before one that it calls.
            await connection.execute("SET LOCAL check_function_bodies = off")
            for text in wanted.functions:
                await connection.execute(in_schema(text))
            await connection.execute(in_schema(_REMEMBER), "functions", wanted.edition)
        await connection.execute(in_schema(_REMEMBER), "schema", str(wanted.version))
    except asyncpg.InsufficientPrivilegeError as error:
        raise _no_right_to_create(address, state["role"], error, fresh=version == 0) from error


def _is_current(version: str | None, functions: str | None, wanted: Texts, address: Address) -> bool:
    if version is None:
        return False
    if int(version) > wanted.version:
        raise Unavailable(
            f"The schema {address.schema} of PostgreSQL at {address.place} was written by a newer dibs"
            f" (schema {version}; this one knows {wanted.version}): upgrade dibs."
        )
    return int(version) == wanted.version and not _is_older(functions, wanted)


def _is_older(functions: str | None, wanted: Texts) -> bool:
    """Whether the functions there are to be replaced by ours. Those of a later release are not: it may be in use."""
    if functions is None:
        return True
    release, _, _ = functions.partition(" ")
    return functions != wanted.edition and _numbers(release) <= _numbers(dibs.__version__)


def _numbers(release: str) -> list[int]:
    return [int("".join(filter(str.isdigit, part)) or 0) for part in release.split(".")[:3]]


def _lock_number(schema: str) -> int:
    digest = hashlib.sha256(f"dibs schema {schema}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _check_server(connection: Connection, address: Address) -> None:
    found = connection.get_server_version()
    if found.major < OLDEST:
        raise Unavailable(
            f"dibs needs PostgreSQL {OLDEST} or newer; the one at {address.place} is {found.major}.{found.minor}:"
            " upgrade it, or connect to another one."
        )


def _check_writable(found: asyncpg.Record, address: Address) -> None:
    if found["standby"]:
        raise Unavailable(
            f"PostgreSQL at {address.place} is a standby, which cannot be written to: connect to the primary, or name"
            " all servers in the URL with target_session_attrs=read-write."
        )
    if found["read_only"]:
        raise Unavailable(
            f"PostgreSQL at {address.place} is read-only: set default_transaction_read_only to off for this database"
            " and user, or connect to another server."
        )


def _not_ours(address: Address, table: str) -> Unavailable:
    return Unavailable(
        f"The schema {address.schema} of PostgreSQL at {address.place} holds tables that are not from dibs"
        f" ({table}): name another schema in the URL, such as ?schema=dibs_tasks."
    )


def _no_right_to_use(address: Address, error: Exception) -> Unavailable:
    who = address.user or "this user"
    return Unavailable(
        f"PostgreSQL at {address.place} denies {who} the schema {address.schema}: connect as its owner,"
        f" or let the owner grant {who} the rights ({error})."
    )


def _no_right_to_create(address: Address, role: str, error: Exception, *, fresh: bool) -> Unavailable:
    if fresh:
        what = (
            f"denies {role} the right to create what dibs needs: GRANT CREATE ON DATABASE {address.database} TO {role},"
            " or connect once as a user who may"
        )
    else:
        what = (
            f"denies {role} the right to bring the schema {address.schema} up to date: connect once as its owner,"
            " or run `dibs upgrade` as its owner"
        )
    return Unavailable(f"PostgreSQL at {address.place} {what} ({error}).")
