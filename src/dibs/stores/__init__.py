"""Where tasks are kept. `open_store` is the only place that names the stores there are."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dibs.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.stores.contract import Store

FOLDER = ".dibs"
FILE = "dibs.db"
_KNOWN = "sqlite:PATH, postgresql://…, redis://… or memory:"


def open_store(url: str | None = None, *, clock: Callable[[], int] | None = None, blocking: bool = False) -> Store:
    """The store a URL names: `memory:`, `memory:name`, `sqlite:path`, `postgresql://…`, `redis://…`. None:
    `$DIBS_URL`, else the nearest file. Await its `connect` before anything else.

    With `blocking` no coroutine of the store ever suspends; without, none keeps the event loop for longer than one
    brief commit.
    """
    url = chosen(url)
    if not isinstance(url, str):
        raise Invalid(f"url must be text, not {type(url).__name__}.", field="url")
    scheme, found, rest = url.partition(":")
    if not found:
        raise Invalid(f"{url!r} is not a URL; write sqlite:{url} for a file.", field="url")
    if scheme == "memory":
        from dibs.stores.memory import MemoryStore

        return MemoryStore(rest or None, clock=clock, blocking=blocking)
    if scheme == "sqlite":
        from dibs.stores.sqlite import SqliteStore

        return SqliteStore.open(_path(rest), clock=clock, blocking=blocking)
    if scheme in ("postgresql", "postgres"):
        return _postgres(url, clock, blocking)
    if scheme in ("redis", "rediss"):
        return _redis(url, clock, blocking)
    if scheme in ("http", "https"):
        raise Invalid(f"{scheme} is the way to a server, which has a store itself; here use {_KNOWN}.", field="url")
    raise Invalid(f"unknown store {scheme!r}; use {_KNOWN}, or http://… of a server.", field="url")


def _postgres(url: str, clock: Callable[[], int] | None, blocking: bool) -> Store:
    from importlib.util import find_spec

    if find_spec("asyncpg") is None:
        raise Unavailable("PostgreSQL needs the driver asyncpg: install it with `pip install 'dibs[postgres]'`.")
    from dibs.stores.postgres import PostgresStore

    return PostgresStore(url, clock=clock, blocking=blocking)


def _redis(url: str, clock: Callable[[], int] | None, blocking: bool) -> Store:
    from importlib.util import find_spec

    if find_spec("redis") is None:
        raise Unavailable("Redis needs the driver redis-py: install it with `pip install 'dibs[redis]'`.")
    from dibs.stores.redis import RedisStore

    return RedisStore(url, clock=clock, blocking=blocking)


def shown(url: str) -> str:
    """A URL as people may see it: without its password."""
    scheme, found, rest = url.partition("://")
    if not found or scheme == "sqlite":
        return url
    place, mark, query = rest.partition("?")
    login, at, host = place.rpartition("@")
    user, colon, _ = login.partition(":")
    place = f"{user}:***@{host}" if colon else f"{login}{at}{host}"
    pairs = [
        f"{name}=***" if name.endswith("password") else f"{name}{equals}{value}"
        for name, equals, value in (pair.partition("=") for pair in query.split("&"))
    ]
    return f"{scheme}://{place}{mark}{'&'.join(pairs)}"


def missing_file(url: str | None) -> str | None:
    """The file that opening this URL would create; None if it is there already, or the store is no file."""
    scheme, _, rest = chosen(url).partition(":")
    if scheme != "sqlite":
        return None
    path = _path(rest)
    return None if os.path.exists(path) else path


def file_of(url: str) -> str:
    """The file that a sqlite: URL names."""
    return _path(url.partition(":")[2])


def nearest_file() -> str:
    """`.dibs/dibs.db` in the working directory or the nearest folder above that has one; else to be created here."""
    here = folder = os.getcwd()
    while True:
        candidate = os.path.join(folder, FOLDER, FILE)
        if os.path.exists(candidate):
            return candidate
        above = os.path.dirname(folder)
        if above == folder:
            return os.path.join(here, FOLDER, FILE)
        folder = above


def chosen(url: str | None) -> str:
    """The URL that is meant: the one given, else `$DIBS_URL`, else that of the nearest file."""
    return url or os.environ.get("DIBS_URL") or "sqlite:" + nearest_file()


def _path(rest: str) -> str:
    """`sqlite:a.db` and `sqlite:///abs/a.db` both name files."""
    path = rest.removeprefix("//")
    if not path or path.endswith("/"):
        raise Invalid("sqlite: needs a file, such as sqlite:work.db.", field="url")
    return os.path.abspath(os.path.expanduser(path))
