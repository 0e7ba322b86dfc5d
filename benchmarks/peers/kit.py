"""What the scripts of all peers share. It runs inside a peer's own environment, so it needs only the standard library.

A script subclasses `Script`, says how its queue is installed, filled and worked on, and calls `main`. The harness
starts it with a command (the functions below `main`) and tells it the rest through the environment:

- BENCH_URL: the store, in a database that nobody else uses
- BENCH_FOLDER: where it leaves `hits` (handler starts), `ready.PID` and `answer.json`, and looks for `go`
- BENCH_SETTINGS: this peer's settings, as JSON
- BENCH_HANG: set if its handlers must never return

`kit.js` is its twin for Node.
"""

from __future__ import annotations

import asyncio
import json
import os
import struct
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

URL = os.environ["BENCH_URL"]
FOLDER = os.environ["BENCH_FOLDER"]
SETTINGS: dict[str, Any] = json.loads(os.environ.get("BENCH_SETTINGS", "{}"))
HANGING = bool(os.environ.get("BENCH_HANG"))

WARM_UP = 20
PING_INTERVAL_S = 0.02
CHUNK = 1_000
NEVER_S = 86_400.0

_LINE = struct.Struct("<dq")
_hits: int | None = None


def hit(number: int) -> None:
    """Note that the handler of task `number` has started: 16 bytes, appended at once, so processes may share a file."""
    global _hits
    if _hits is None:
        _hits = os.open(f"{FOLDER}/hits", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(_hits, _LINE.pack(time.time(), number))


def gate() -> None:
    """Say that this worker is ready and wait until all are: start-up is nobody's speed."""
    with open(f"{FOLDER}/ready.{os.getpid()}", "w"):
        pass
    while not os.path.exists(f"{FOLDER}/go"):
        time.sleep(0.01)


async def forever() -> None:
    await asyncio.sleep(NEVER_S)


def hang() -> None:
    """`forever`, for handlers that are plain functions."""
    time.sleep(NEVER_S)


def answer(**found: Any) -> None:
    """What the harness reads when this command has ended."""
    with open(f"{FOLDER}/answer.json", "w") as file:
        json.dump(found, file)


class Script:
    """One peer. `number` is all that a task carries; its handler calls `hit(number)` and returns."""

    async def install(self) -> None:
        """Make the schema in an empty database."""

    async def open(self) -> None:
        """Connect as a producer."""

    async def close(self) -> None:
        """Leave as a producer."""

    async def add(self, number: int) -> None:
        """Add one task and return when it is committed."""
        raise NotImplementedError

    async def add_many(self, numbers: Sequence[int]) -> None:
        """Add tasks in one call and one commit."""
        raise NotImplementedError

    async def load(self, count: int, lanes: int = 1) -> None:
        """Fill the queue, as fast as it goes. Not timed."""
        for first in range(0, count, CHUNK):
            await self.add_many(range(first, min(count, first + CHUNK)))

    async def add_graphs(self, count: int) -> None:
        """Add graphs: one task, then ten that wait for it, then one that waits for those."""
        raise NotImplementedError

    async def work(self) -> None:
        """Connect, pass the `gate`, and work until killed."""
        raise NotImplementedError


def main(script: Script, run: Callable[[Coroutine[Any, Any, None]], Any] = asyncio.run) -> None:
    """Do what the command line says."""
    command, *numbers = sys.argv[1:]
    run(_COMMANDS[command](script, *map(int, numbers)))


async def _install(script: Script) -> None:
    await script.install()


async def _work(script: Script) -> None:
    await script.work()


async def _load(script: Script, count: int, lanes: int = 1) -> None:
    await script.open()
    await script.load(count, lanes)
    await script.close()


async def _graphs(script: Script, count: int) -> None:
    await script.open()
    await script.add_graphs(count)
    await script.close()


async def _add(script: Script, count: int) -> None:
    """Tasks per second of one producer that adds one by one."""
    await script.open()
    for number in range(WARM_UP):
        await script.add(number)
    started = time.perf_counter()
    for number in range(count):
        await script.add(number)
    answer(rate=count / (time.perf_counter() - started))
    await script.close()


async def _bulk(script: Script, count: int, chunk: int) -> None:
    """Tasks per second of one producer that adds `chunk` of them per call."""
    await script.open()
    await script.add_many(range(WARM_UP))
    started = time.perf_counter()
    for first in range(0, count, chunk):
        await script.add_many(range(first, min(count, first + chunk)))
    answer(rate=count / (time.perf_counter() - started))
    await script.close()


async def _ping(script: Script, count: int) -> None:
    """Add one task each 20 ms and say when each call began and returned."""
    await script.open()
    for number in range(-WARM_UP, 0):
        await script.add(number)
        await asyncio.sleep(PING_INTERVAL_S)
    adds = []
    due = time.time()
    for number in range(count):
        due += PING_INTERVAL_S
        await asyncio.sleep(max(0.0, due - time.time()))
        called_at = time.time()
        await script.add(number)
        adds.append((number, called_at, time.time()))
    answer(adds=adds)
    await script.close()


async def _feed(script: Script, waiting: int) -> None:
    """Keep about `waiting` tasks in the queue until killed."""
    await script.open()
    added = 0
    while True:
        if added - _handled() < waiting:
            await script.add_many(range(added, added + CHUNK))
            added += CHUNK
        else:
            await asyncio.sleep(0.002)


async def _produce(script: Script, milliseconds: int) -> None:
    """Add one by one for a while, beside other producers; say how many."""
    await script.open()
    for number in range(WARM_UP):
        await script.add(number)
    gate()
    added, ends = 0, time.perf_counter() + milliseconds / 1_000
    while time.perf_counter() < ends:
        await script.add(added)
        added += 1
    with open(f"{FOLDER}/produced.{os.getpid()}", "w") as file:
        file.write(str(added))
    await script.close()


def _handled() -> int:
    try:
        return os.stat(f"{FOLDER}/hits").st_size // _LINE.size
    except FileNotFoundError:
        return 0


_COMMANDS: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {
    "install": _install,
    "work": _work,
    "load": _load,
    "graphs": _graphs,
    "add": _add,
    "bulk": _bulk,
    "ping": _ping,
    "feed": _feed,
    "produce": _produce,
}
