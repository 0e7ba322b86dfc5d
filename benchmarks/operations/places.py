"""Where operations are measured: in memory, in a file, on a server, on a server that is a millisecond away."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import dibs
from benchmarks.bench import real_disk
from benchmarks.operations.proxy import Proxy

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Iterator, Sequence

    from benchmarks.bench import Bench

STORES = ("memory", "sqlite", "postgres", "redis")
SCHEMES = {"postgres": ("postgresql", "postgres"), "redis": ("redis",)}
"""Of the URLs that name a server."""
_SERVERS = {"postgres": ("PostgreSQL", "schema"), "redis": ("Redis", "namespace")}
FAR_S = 0.001
"""How much longer a round trip to the server takes that is away."""


@dataclass(frozen=True)
class Place:
    """Somewhere to measure. Versions of dibs that take turns share what is fresh, but no row."""

    name: str
    fresh: Callable[[], Callable[[str], str]]
    """Forget everything; answers with the URL for each of those who take turns, by name."""
    server: int | None = None
    """The process whose CPU time counts, with all below it."""
    has_server: bool = False
    by_shell: bool = True
    """Can another process reach it?"""
    about: dict[str, str] = field(default_factory=dict)


def places(
    stores: Sequence[str], options: argparse.Namespace, bench: Bench[None], *, far: bool
) -> Generator[Place, None, None]:
    """One after the other, so that no other server is up meanwhile."""
    for store in stores:
        if store == "memory":
            yield Place("memory", lambda: lambda who: "memory:", by_shell=False)
        elif store == "sqlite":
            yield _sqlite(bench)
        else:
            yield from _on_server(store, options, bench, far=far and store == "postgres")


def _sqlite(bench: Bench[None]) -> Place:
    folder = bench.fresh_folder("sqlite")

    def fresh() -> Callable[[str], str]:
        shutil.rmtree(folder)
        folder.mkdir()
        return lambda who: f"sqlite:{folder / who}.db"

    return Place("SQLite", fresh)


def _on_server(store: str, options: argparse.Namespace, bench: Bench[None], *, far: bool) -> Iterator[Place]:
    try:
        serving = import_module(f"benchmarks.{store}.server").serving
    except ImportError as error:
        raise SystemExit(f"the benchmarks on {store} need {error.name}: pip install -e '.[bench]'") from error
    name, parameter = _SERVERS[store]
    named = options.server if urlsplit(options.server or "").scheme in SCHEMES[store] else None
    with serving(named, real_disk(options.folder), options.port, bench.say) as server:

        def fresh() -> Callable[[str], str]:
            url = server.fresh()
            return lambda who: f"{url}{'&' if '?' in url else '?'}{parameter}={who}"

        pid: int | None = getattr(server, "pid", None)
        about = {name: server.describe()["server"]}
        yield Place(name, fresh, pid, has_server=True, about=about)
        if far:
            with _away(server.url) as moved:
                yield Place(
                    f"{name}, {1_000 * FAR_S:g} ms away",
                    lambda: _through(fresh(), moved),
                    pid,
                    has_server=True,
                    about=about,
                )


def _through(urls: Callable[[str], str], moved: Callable[[str], str]) -> Callable[[str], str]:
    return lambda who: moved(urls(who))


@contextmanager
def _away(url: str) -> Iterator[Callable[[str], str]]:
    """What makes URLs of the server at `url` lead there through a proxy."""
    where = urlsplit(url)
    with Proxy(where.hostname or "127.0.0.1", where.port or 5432, FAR_S) as proxy:

        def moved(url: str) -> str:
            parts = urlsplit(url)
            user, at, _ = parts.netloc.rpartition("@")
            return parts._replace(netloc=f"{user}{at}127.0.0.1:{proxy.port}").geturl()

        yield moved


def about_versions() -> dict[str, str]:
    """Of what stands between dibs and a store."""
    from benchmarks import machine

    packages: Any = ("apsw", "psycopg", "redis", "msgspec")
    return {"versions": ", ".join([f"dibs {dibs.__version__}", *(f"{p} {machine.version_of(p)}" for p in packages)])}
