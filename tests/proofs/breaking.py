"""Stores that break at the k-th statement of a verb, for proofs that a verb happens wholly or not at all."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import apsw

from tests.servers.postgres import Schemas, shared_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal

    from dibs.stores.sqlite import SqliteStore

    How = Literal["full", "killed"]


class BreakingFile:
    """The disk of a SQLite store is full at the k-th statement, BEGIN and COMMIT included, and then has room again."""

    def __init__(self, store: SqliteStore) -> None:
        self._left = 0
        self._path = store._engine.path
        store._engine._writer.exec_trace = self._trace

    def break_at(self, number: int) -> None:
        """`number` 0: nothing breaks."""
        self._left = number

    def rows(self) -> dict[str, list[Any]]:
        """Every row there is."""
        return rows_of(self._path)

    def _trace(self, cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        self._left -= 1
        if self._left == 0:
            raise apsw.FullError("database or disk is full")
        return True


def rows_of(path: str) -> dict[str, list[Any]]:
    """Every row of a SQLite file."""
    beside = apsw.Connection(path)
    tables = [name for (name,) in beside.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    rows = {table: beside.execute(f"SELECT * FROM {table}").fetchall() for table in tables}
    beside.close()
    return rows


# A trigger before every statement that writes. It counts in sequences: those are not undone with a transaction.
_INSTALL = """
CREATE SEQUENCE {schema}.faults INCREMENT -1 MINVALUE -1000000000 MAXVALUE 1000000000 START -1;
CREATE SEQUENCE {schema}.killing MINVALUE 0 START 0;
CREATE FUNCTION {schema}.fault() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('{schema}.faults') = 0 THEN
        IF (SELECT last_value FROM {schema}.killing) = 1 THEN
            PERFORM pg_terminate_backend(pg_backend_pid());
            PERFORM pg_sleep(10);
        END IF;
        RAISE EXCEPTION USING ERRCODE = 'disk_full', MESSAGE = 'no space left on device';
    END IF;
    RETURN NULL;
END $$;
DO $$ DECLARE called text; BEGIN
    FOR called IN
        SELECT c.relname FROM pg_class c WHERE c.relnamespace = '{schema}'::regnamespace AND c.relkind IN ('r', 'p')
    LOOP
        EXECUTE format(
            'CREATE TRIGGER fault BEFORE INSERT OR UPDATE OR DELETE ON {schema}.%I FOR EACH STATEMENT'
            ' EXECUTE FUNCTION {schema}.fault()', called
        );
    END LOOP;
END $$;
"""


class BreakingSchema:
    """A PostgreSQL schema in which the k-th statement that writes, inside of functions too, finds no space left, or has
    its session killed."""

    def __init__(self, url: str, schemas: Schemas) -> None:
        self.url = url
        self._schema = url.partition("schema=")[2]
        self._schemas = schemas

    def prepare(self) -> None:
        self._schemas._run(_INSTALL.format(schema=self._schema))

    def rows(self) -> dict[str, list[Any]]:
        """Every row there is."""
        query = " UNION ALL ".join(
            f"SELECT '{table}', array_agg(t::text ORDER BY t::text) FROM {self._schema}.{table} AS t"
            for table in self._tables()
        )
        return dict(self._schemas._run(query))

    def written(self) -> dict[str, list[Any]]:
        """The same but events: what was cut leaves gaps between their numbers, until somebody reads them."""
        return {table: rows for table, rows in self.rows().items() if table != "outbox"}

    def _tables(self) -> list[str]:
        found = self._schemas._run(f"SELECT tablename FROM pg_tables WHERE schemaname = '{self._schema}'")
        return [name for (name,) in found]

    def break_at(self, number: int, how: How = "full") -> None:
        """`number` 0: nothing breaks."""
        self._schemas._run(
            f"SELECT setval('{self._schema}.killing', {int(how == 'killed')}),"
            f" setval('{self._schema}.faults', {number or -1})"
        )


class BreakingSchemas:
    """Lends such schemas, all of them with the rows that `furnish` put into the first one. They are dropped in the
    end."""

    def __init__(self, furnish: Callable[[str], None]) -> None:
        self._schemas = Schemas(shared_url())
        self._furnish = furnish
        self.open = self._schemas.open
        self._prepared: set[str] = set()

    @contextmanager
    def lend(self) -> Iterator[BreakingSchema]:
        with self._schemas.lend() as url:
            breaking = BreakingSchema(url, self._schemas)
            if url not in self._prepared:
                breaking.prepare()
                self._furnish(url)
                self._schemas.remember(url.partition("schema=")[2])
                self._prepared.add(url)
            try:
                yield breaking
            finally:
                breaking.break_at(0)

    def close(self) -> None:
        self._schemas.close()
