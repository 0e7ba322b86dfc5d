"""A small schema: for tests of the way to the server rather than of what lies at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.stores.postgres.address import Address
from dibs.stores.postgres.engine import Engine

if TYPE_CHECKING:
    from pathlib import Path

_TABLES = """
CREATE TABLE dibs.meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE dibs.commits (name text PRIMARY KEY, number bigint NOT NULL, at bigint NOT NULL);
CREATE TABLE dibs.outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text);
"""
_FUNCTIONS = """
CREATE OR REPLACE FUNCTION dibs.micros() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;
CREATE OR REPLACE FUNCTION dibs.newest() RETURNS bigint LANGUAGE sql STABLE AS
$$ SELECT coalesce(max(id), 0) FROM dibs.outbox $$;
CREATE OR REPLACE FUNCTION dibs.refuse(p_name text, p_arguments text) RETURNS void LANGUAGE plpgsql AS
$$ BEGIN
    INSERT INTO dibs.outbox (what) VALUES ('undone');
    RAISE EXCEPTION USING ERRCODE = 'DB001', MESSAGE = p_name, DETAIL = p_arguments;
END $$;
"""

ADD = "INSERT INTO dibs.outbox (what) VALUES ($1) RETURNING id"
COUNT = "SELECT count(*) FROM dibs.outbox"


def write(folder: Path, *more: str) -> str:
    """Write the files of the small schema, with more migrations; the folder's name."""
    (folder / "migrations").mkdir(parents=True, exist_ok=True)
    (folder / "functions").mkdir(exist_ok=True)
    for number, text in enumerate((_TABLES, *more), 1):
        (folder / "migrations" / f"{number:04d}_more.sql").write_text(text)
    (folder / "functions" / "all.sql").write_text(_FUNCTIONS)
    return str(folder)


def engine(url: str, folder: str, **options: Any) -> Engine:
    """A way to the small schema at this URL."""
    return Engine(Address.parse(url), folder=folder, **options)
