"""Coroutine tests run in a loop of their own; the store of tests that are run here as well is behind a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.servers.quick import sqlite_file
from tests.servers.serving import SECRET
from tests.servers.threaded import threaded
from tests.worker.conftest import pytest_pyfunc_call as pytest_pyfunc_call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server on a fresh store; processes and clients find its token in the environment."""
    monkeypatch.setenv("DIBS_TOKEN", SECRET)
    with threaded(f"sqlite:{sqlite_file(tmp_path / 'dibs.db')}") as found:
        yield found


@pytest.fixture
def file_url(url: str) -> str:
    """The same; several processes can share it."""
    return url
