"""A process that holds something until it is killed.

`python -m tests.proofs.holder claim URL` claims one task for long and says its id; `end_soon` is for when it is dead.
`… turn PATH` and `… transaction PATH` say `held` once they have the turn at writing a SQLite file, or that and an open
transaction.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import dibs
from dibs.stores.sqlite import opening
from dibs.stores.sqlite.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Iterator

LONG_S = 600
"""A lease that lasts however long somebody is kept from looking."""
SOON_S = 1.0


@contextmanager
def holding(*words: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Such a process and what it said, from when it holds; killed (`kill -9`) at the end of the block."""
    command = [sys.executable, "-m", "tests.proofs.holder", *map(str, words)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    try:
        yield holder, holder.stdout.readline().strip()
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def end_soon(queue: dibs.SyncQueue, task_id: str, fence: int = 1) -> None:
    """Of the long lease of somebody who is dead, all but a moment has passed."""
    queue.renew((task_id, fence), lease=SOON_S)


def _claim(url: str) -> None:
    with dibs.connect_sync(url) as queue:
        [claim] = queue.claim("victim", lease=LONG_S)
        print(claim.task.id, flush=True)
        signal.pause()


def _write(path: str, what: str) -> None:
    turns = Turns(path)
    turns.take()
    connection = opening.connect(path)
    if what == "transaction":
        connection.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    signal.pause()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["claim", url]:
            _claim(url)
        case ["turn" | "transaction" as what, path]:
            _write(path, what)
        case other:
            sys.exit(f"nobody knows how to hold {other}")
