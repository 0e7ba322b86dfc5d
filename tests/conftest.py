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
