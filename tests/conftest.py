"""Servers that tests need: started when the first test asks, stopped by the process that controls the run.

What they are made of is imported only then.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.postgres import Schemas, Server
    from tests.servers.redis import Namespaces, RedisServer

_FOLDER = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    # Workers inherit it; so only the process that controls them gets here.
    if "DIBS_TEST_SERVERS" not in os.environ:
        folder = Path(tempfile.gettempdir()) / f"dibs-tests-{os.urandom(4).hex()}-{os.getpid()}"
        os.environ["DIBS_TEST_SERVERS"] = str(folder)
        config.stash[_FOLDER] = folder


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(_FOLDER, None)
    if folder is not None:
        del os.environ["DIBS_TEST_SERVERS"]
        if (folder / "redis").exists():
            from tests.servers.redis import end_shared as end_redis

            end_redis(folder)
        if folder.exists():
            from tests.servers.postgres import end_shared

            end_shared(folder)


@pytest.fixture(scope="session")
def postgres_schemas() -> Iterator[Schemas]:
    """Lends empty schemas of the run's server; for tests that need several, or one at a time again and again."""
    from tests.servers.postgres import Schemas, shared_url

    schemas = Schemas(shared_url())
    yield schemas
    schemas.close()


@pytest.fixture
def postgres_url(postgres_schemas: Schemas) -> Iterator[str]:
    """The URL of an empty schema on the run's server."""
    with postgres_schemas.lend() as url:
        yield url


@pytest.fixture
def postgres_server() -> Iterator[Server]:
    """A durable server of the test's own, to be stopped and killed."""
    from tests.servers.postgres import private

    with private() as server:
        yield server


@pytest.fixture(scope="session")
def redis_namespaces(redis_program: str) -> Iterator[Namespaces]:
    """Lends empty namespaces of the run's Redis; for tests that need several, or one at a time again and again."""
    from tests.servers.redis import Namespaces, shared_urls

    namespaces = Namespaces(shared_urls(redis_program))
    yield namespaces
    namespaces.close()


@pytest.fixture
def redis_url(redis_namespaces: Namespaces) -> Iterator[str]:
    """The URL of an empty namespace on the run's Redis."""
    with redis_namespaces.lend() as url:
        yield url


@pytest.fixture
def redis_server(redis_program: str) -> Iterator[RedisServer]:
    """A Redis of the test's own, to be stopped and killed."""
    from tests.servers.redis import private

    with private(program=redis_program) as server:
        yield server


@pytest.fixture(scope="session")
def redis_cluster_namespaces(redis_program: str) -> Iterator[Namespaces]:
    """Lends empty namespaces of the run's Redis Cluster."""
    from tests.servers.redis import Namespaces, shared_urls

    namespaces = Namespaces(shared_urls(redis_program, cluster=True))
    yield namespaces
    namespaces.close()


@pytest.fixture
def redis_cluster_url(redis_cluster_namespaces: Namespaces) -> Iterator[str]:
    """The URL of an empty namespace on the run's Redis Cluster."""
    with redis_cluster_namespaces.lend() as url:
        yield url


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """What needs a Redis is run with each that there is."""
    if "redis_program" in metafunc.fixturenames:
        from tests.servers.redis import shared_programs

        metafunc.parametrize("redis_program", shared_programs(), scope="session")
