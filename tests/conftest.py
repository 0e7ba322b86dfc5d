"""Servers that tests need: started when the first test asks, stopped by the process that controls the run.

What they are made of is imported only then.
"""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import selection
from tests.servers.quick import place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.lasting import Lasting
    from tests.servers.postgres import Schemas, Server
    from tests.servers.redis import Namespaces, RedisServer

USUAL_S = 120
"""A test whose mark allows more than this is one of the long ones."""

_FOLDER = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    selection.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    selection.check_options(config)
    _bear_a_busy_machine()
    # Whoever runs us in the background of a shell has us ignore Ctrl-C, and so would every process that a test starts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Workers inherit it; so only the process that controls them gets here.
    if "DIBS_TEST_SERVERS" not in os.environ:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(place()))
        folder = place() / f"dibs-tests-{os.urandom(4).hex()}-{os.getpid()}"
        os.environ["DIBS_TEST_SERVERS"] = str(folder)
        config.stash[_FOLDER] = folder


def _bear_a_busy_machine() -> None:
    """How long Hypothesis takes for an example says nothing about the example."""
    from hypothesis import HealthCheck, settings

    settings.register_profile("dibs", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("dibs")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    return selection.is_left_out(collection_path, config.getoption("--topic")) or None


def pytest_pycollect_makeitem(collector: pytest.Collector, name: str, obj: object) -> list[pytest.Item] | None:
    return [] if selection.is_passed_over(collector, name, obj) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if not selection.is_selected(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if selection.is_selected(item)]
    # Those that may take longest come first: in the end no worker is left with one while the others have nothing to do.
    items.sort(key=_is_short)


def pytest_collection_finish() -> None:
    # There are very many, and they stay: whoever looks for garbage need not look through them again and again.
    gc.collect()
    gc.freeze()


def _is_short(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("timeout")
    return mark is None or 0 < mark.args[0] <= USUAL_S


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


@pytest.fixture(scope="session")
def lasting() -> Iterator[Lasting]:
    """An event loop for many tests, and connections to PostgreSQL that last as long."""
    from tests.servers.lasting import Lasting

    found = Lasting()
    yield found
    found.close()


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
