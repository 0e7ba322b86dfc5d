"""The shell with a server behind `$DIBS_URL`, for tests of commands that are run here as well."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import dibs as dibs
from tests.cli.conftest import shell as shell
from tests.cli.conftest import snapshot as snapshot
from tests.cli.conftest import terminal as terminal
from tests.servers.quick import sqlite_file
from tests.servers.serving import SECRET
from tests.servers.threaded import threaded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server on a fresh store for each test; what processes see as `$DIBS_URL`."""
    with threaded(f"sqlite:{sqlite_file(tmp_path / 'work.db')}") as where:
        monkeypatch.setenv("DIBS_URL", where)
        monkeypatch.setenv("DIBS_TOKEN", SECRET)
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        yield where
