"""Adding: tasks per second that one producer commits, one by one and 1,000 at a time; Huey and DBOS one by one."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import dibs
from benchmarks.findings import Figure, Findings, Floor
from benchmarks.sqlite import dbos, huey, noop

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.bench import Bench
    from benchmarks.sqlite.sizes import Sizes

WARM_UP = 20


def run(bench: Bench[Sizes]) -> Findings:
    sizes = bench.sizes
    samples: dict[str, list[float]] = {"huey": [], "bulk": [], "async": [], "sync": []}
    rival = dbos.rival(bench)
    if rival:
        samples["dbos"] = []
    for number in range(bench.runs):
        samples["huey"].append(add_to_huey(bench.fresh_folder("huey"), sizes.adds))
        samples["bulk"].append(add_many(bench.fresh_folder("bulk"), sizes.bulk, sizes.bulk_chunk))
        samples["async"].append(asyncio.run(add_one_by_one(bench.fresh_folder("async"), sizes.adds)))
        samples["sync"].append(add_blocking(bench.fresh_folder("sync"), sizes.adds))
        if rival:
            samples["dbos"].append(rival.add())
        latest = ", ".join(f"{name} {values[-1]:,.0f}/s" for name, values in samples.items())
        bench.say(f"adding, run {number + 1}/{bench.runs}: {latest}")
    figures = {name: Figure(TITLES[name], "/s", tuple(values)) for name, values in samples.items()}
    enqueue = figures["huey"].value
    floors = [
        Floor("bulk add / Huey's enqueue", figures["bulk"].value / enqueue, 15),
        Floor("await queue.add / Huey's enqueue", figures["async"].value / enqueue, 0.6),
        Floor("blocking add / Huey's enqueue", figures["sync"].value / enqueue, 0.6),
    ]
    return Findings(list(figures.values()), floors)


TITLES = {
    "huey": "enqueue one by one, Huey",
    "bulk": "add_many, 1,000 at a time, dibs",
    "async": "await queue.add one by one, dibs",
    "sync": "blocking add one by one, dibs",
    "dbos": "enqueue one by one, DBOS",
}


def add_to_huey(folder: Path, count: int) -> float:
    peer = huey.at(folder)
    for number in range(WARM_UP):
        peer.add(number)
    started = time.perf_counter()
    for number in range(count):
        peer.add(number)
    elapsed = time.perf_counter() - started
    peer.close()
    return count / elapsed


def add_many(folder: Path, count: int, chunk: int) -> float:
    with dibs.connect_sync(noop.url(folder)) as queue:
        queue.add_many(noop.tasks(WARM_UP))
        started = time.perf_counter()
        for first in range(0, count, chunk):
            queue.add_many(noop.tasks(chunk, first))
        return count / (time.perf_counter() - started)


def add_blocking(folder: Path, count: int) -> float:
    with dibs.connect_sync(noop.url(folder)) as queue:
        for number in range(WARM_UP):
            queue.add(noop.TYPE, {"number": number})
        started = time.perf_counter()
        for number in range(count):
            queue.add(noop.TYPE, {"number": number})
        return count / (time.perf_counter() - started)


async def add_one_by_one(folder: Path, count: int) -> float:
    async with dibs.connect(noop.url(folder)) as queue:
        for number in range(WARM_UP):
            await queue.add(noop.TYPE, {"number": number})
        started = time.perf_counter()
        for number in range(count):
            await queue.add(noop.TYPE, {"number": number})
        return count / (time.perf_counter() - started)
