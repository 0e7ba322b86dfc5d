"""A store beside another one, to be thrown away: on the same disk or the same server, and with nobody's tasks in it.

A folder beside a file, a schema of the same database, a namespace of the same Redis. Its name begins with `PREFIX`, and
what is not called so is never removed.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dibs.errors import Invalid, Unavailable
from dibs.stores import chosen, file_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "dibs_bench_"
KEPT_WITH = {"postgresql": "schema", "postgres": "schema", "redis": "namespace", "rediss": "namespace"}
"""What the URL of a server calls a store."""


@contextmanager
def scratch(url: str | None) -> Iterator[str]:
    """The URL of an empty store beside this one; it is gone when this ends, however it ends."""
    where = chosen(url)
    scheme = where.partition(":")[0]
    name = PREFIX + os.urandom(5).hex()
    if scheme == "memory":
        yield f"memory:{name}"
    elif scheme == "sqlite":
        with _folder(os.path.dirname(file_of(where)), name) as folder:
            yield f"sqlite:{os.path.join(folder, 'bench.db')}"
    elif scheme in KEPT_WITH:
        own = _with(where, KEPT_WITH[scheme], name)
        try:
            yield own
        finally:
            _remove(scheme, own, name)
    else:
        raise Invalid(f"there is no place beside a store of the kind {scheme!r}.", field="url")


@contextmanager
def _folder(beside: str, name: str) -> Iterator[str]:
    import shutil

    while not os.path.isdir(beside):
        # Where there is no store yet, it would be made below this.
        beside = os.path.dirname(beside)
    folder = os.path.join(beside, f".{name}")
    try:
        os.mkdir(folder, 0o700)
    except OSError as error:
        raise Unavailable(f"Nothing can be written beside the store, in {beside}: {error.strerror}.") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _with(url: str, parameter: str, value: str) -> str:
    """The same URL, with this parameter in the place of the one that it may have."""
    place, _, query = url.partition("?")
    kept = [pair for pair in query.split("&") if pair and pair.partition("=")[0] != parameter]
    return f"{place}?{'&'.join([*kept, f'{parameter}={value}'])}"


def _remove(scheme: str, url: str, name: str) -> None:
    if scheme in ("redis", "rediss"):
        from dibs.stores.redis.removing import remove
    else:
        from dibs.stores.postgres.removing import remove
    try:
        remove(url, PREFIX)
    except Exception as error:
        raise Unavailable(f"The {KEPT_WITH[scheme]} {name} could not be removed and is still there: {error}") from error
