from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.a2a.client import offer
from tests.server.process import Up, up

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.servers.postgres import Schemas


class Pair(NamedTuple):
    """Two servers on one store."""

    store: str
    here: Up
    there: Up
    token: str


@contextmanager
def two(folder: Path, url: str) -> Iterator[Pair]:
    """Two processes; what they offer is in a file. They may call back to loopback, as the tests' receiver is there."""
    options = ("--a2a", offer(folder), "--allow-target", "127.0.0.1")
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        # At once: it takes half as long, and one of them is the first.
        here, there = pool.map(stack.enter_context, [up(folder, url, *options) for _ in range(2)])
        token = here.token or there.token
        assert token is not None
        yield Pair(url, here, there, token)


STORES = ["sqlite", "postgres", "redis"]


@contextmanager
def empty(store: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty store."""
    if store == "sqlite":
        yield f"sqlite:{folder / 'work.db'}"
    elif store == "postgres":
        schemas: Schemas = request.getfixturevalue("postgres_schemas")
        with schemas.lend() as url:
            yield url
    else:
        from tests.servers.redis import Namespaces, shared_programs, shared_urls

        # One kind of server: what there is of others is tried with the store itself.
        with closing(Namespaces(shared_urls(shared_programs()[0]))) as namespaces, namespaces.lend() as url:
            yield url


@pytest.fixture(scope="module", params=STORES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two servers, for all tests of a file that kill none of them."""
    folder = tmp_path_factory.mktemp("a2a")
    with empty(request.param, folder, request) as url, two(folder, url) as found:
        yield found


@pytest.fixture(params=STORES)
def doomed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    """Two servers of a test's own; `here` may be killed."""
    with empty(request.param, tmp_path, request) as url, two(tmp_path, url) as found:
        yield found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One server, for all tests of a file."""
    folder = tmp_path_factory.mktemp("a2a")
    with up(folder, f"sqlite:{folder / 'work.db'}", "--a2a", offer(folder)) as running:
        yield running
