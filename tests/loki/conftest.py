"""Queues to export from and to import into, on every store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.testing import FakeClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Fresh = Callable[[], dibs.SyncQueue]


@pytest.fixture
def clock() -> FakeClock:
    """The stores' clock, standing still until a test moves it."""
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def fresh(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Fresh]:
    """Opens an empty queue, another one at each call."""
    with ExitStack() as stack:
        count = 0

        def opened() -> dibs.SyncQueue:
            nonlocal count
            count += 1
            if request.param == "memory":
                url = "memory:"
            elif request.param == "sqlite":
                url = f"sqlite:{tmp_path / f'{count}.db'}"
            else:
                url = stack.enter_context(request.getfixturevalue("postgres_schemas").lend())
            return stack.enter_context(dibs.connect_sync(url, clock=clock))

        yield opened


@pytest.fixture
def queue() -> Iterator[dibs.SyncQueue]:
    """A queue in memory, for tests that are not about stores."""
    with dibs.connect_sync("memory:") as opened:
        yield opened
