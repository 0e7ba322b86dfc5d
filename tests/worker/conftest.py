"""Async tests run in a loop of their own; every test gets a queue on each store, and a way to run handlers on it."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import pytest

from tests.servers.quick import sqlite_file

if TYPE_CHECKING:
    from pathlib import Path


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test to its end."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = pyfuncitem._fixtureinfo.argnames
    arguments: dict[str, Any] = {name: pyfuncitem.funcargs[name] for name in wanted}
    asyncio.run(pyfuncitem.obj(**arguments))
    return True


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh store of each kind."""
    if request.param == "memory":
        return f"memory:{request.node.nodeid}"
    return f"sqlite:{sqlite_file(tmp_path / 'dibs.db')}"


@pytest.fixture
def file_url(tmp_path: Path) -> str:
    """A fresh store that several processes can share."""
    return f"sqlite:{sqlite_file(tmp_path / 'dibs.db')}"
