"""No-op tasks, the store that holds them, and the command of the worker that runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dibs
from benchmarks.children import dibs as command

if TYPE_CHECKING:
    from pathlib import Path

TYPE = "noop"
CHUNK = 10_000


def url(folder: Path) -> str:
    return f"sqlite:{folder / 'dibs.db'}"


def tasks(count: int, first: int = 0) -> list[dibs.NewTask]:
    """`count` tasks for the handler, numbered."""
    return [dibs.NewTask(TYPE, {"number": number}) for number in range(first, first + count)]


def load(folder: Path, count: int) -> None:
    """Fill the store in `folder` with `count` tasks."""
    with dibs.connect_sync(url(folder)) as queue:
        for first in range(0, count, CHUNK):
            queue.add_many(tasks(min(CHUNK, count - first), first))


def worker(folder: Path) -> list[str]:
    """The command of one worker process on the store in `folder`, with its default settings."""
    return command("worker", "benchmarks.sqlite.app:app", "--url", url(folder))
