"""Async tests run in a loop of their own, each with an open queue on every store."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import AsyncExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.connecting import Connecting
from dibs.testing import FakeClock
from tests.servers.quick import sqlite_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test to its end, with the queues open that it asked for."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None

    async def run() -> None:
        async with AsyncExitStack() as stack:
            given: dict[str, Any] = {}
            for name in pyfuncitem._fixtureinfo.argnames:
                value = pyfuncitem.funcargs[name]
                given[name] = await stack.enter_async_context(value) if isinstance(value, Connecting) else value
            await pyfuncitem.obj(**given)

    asyncio.run(run())
    return True


@pytest.fixture
def clock() -> FakeClock:
    """The stores' clock, standing still until a test moves it."""
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite", "postgres", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A fresh store of each kind."""
    if request.param == "memory":
        yield f"memory:{request.node.nodeid}"
    elif request.param == "sqlite":
        yield f"sqlite:{sqlite_file(tmp_path / 'dibs.db')}"
    elif request.param == "postgres":
        yield request.getfixturevalue("postgres_url")
    else:
        from tests.servers.redis import Namespaces, shared_programs, shared_urls

        with closing(Namespaces(shared_urls(shared_programs()[0]))) as namespaces, namespaces.lend() as lent:
            yield lent


@pytest.fixture
def queue(url: str, clock: FakeClock) -> Connecting:
    """An empty queue, open while the test runs."""
    return dibs.connect(url, clock=clock)


@pytest.fixture
def other(url: str, clock: FakeClock) -> Connecting:
    """The same queue, as another process would open it."""
    return dibs.connect(url, clock=clock)
