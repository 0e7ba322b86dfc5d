"""What the chapters of the tutorial share: a queue on each embedded store, a clock moved by hand, and a shell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.testing import FakeClock
from tests.story.shell import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def clock() -> FakeClock:
    """The store's clock, standing still until a test moves it."""
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where this chapter's tasks are kept: each chapter is told once per store."""
    return "memory:" if request.param == "memory" else f"sqlite:{tmp_path / 'story.db'}"


@pytest.fixture
def queue(url: str, clock: FakeClock) -> Iterator[dibs.SyncQueue]:
    """A fresh queue whose clock is ours."""
    with dibs.connect_sync(url, clock=clock) as queue:
        yield queue


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in an empty folder, where `dibs` is a command."""
    return Shell(tmp_path)
