"""Huey on SQLite, the peer: durable (`fsync=True`) and at its quickest (poll delay 10 ms, two threads, no results).

Huey deletes a task when it is taken and writes nothing when it is done, so a task of its counts when its handler ran.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from huey import SqliteHuey  # type: ignore[import-untyped]

from benchmarks import hits
from benchmarks.children import python

if TYPE_CHECKING:
    from pathlib import Path

VARIABLE = "DIBS_BENCH_HUEY"
"""Names the database in the environment of a consumer."""

SETTINGS = "SqliteHuey(fsync=True, results=False), consumer -k thread -w 2 -n -d 0.01 -m 0.01"


class Peer:
    """One Huey database: its queue and its no-op task."""

    def __init__(self, path: str) -> None:
        self.queue = SqliteHuey("bench", filename=path, fsync=True, results=False)
        self.noop = self.queue.task(name="noop")(hits.record)

    def add(self, number: int) -> None:
        """Enqueue one task, as its users do."""
        self.noop(number)

    def close(self) -> None:
        self.queue.storage.close()


def at(folder: Path) -> Peer:
    return Peer(str(folder / "huey.db"))


def consumer(folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command of a consumer on the database in `folder`, and what its environment needs."""
    options = ["-k", "thread", "-w", "2", "-n", "-q", "-d", "0.01", "-m", "0.01"]
    argv = python("-m", "huey.bin.huey_consumer", "benchmarks.sqlite.huey.queue", *options)
    return argv, {VARIABLE: str(folder / "huey.db")}


def __getattr__(name: str) -> Any:
    """`queue`, which the consumer looks for, is opened only in a consumer."""
    if name == "queue" and VARIABLE in os.environ:
        return Peer(os.environ[VARIABLE]).queue
    raise AttributeError(name)
