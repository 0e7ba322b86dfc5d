"""Drain: how many no-op tasks per second one worker process takes, runs and settles.

The clock runs from the first handler start until the last outcome is committed; start-up is left out. Measured alone
and while other processes add, claim and complete tasks of their own on the same file as fast as they can.
Raw limit, Huey, dibs and DBOS take turns, so that a machine that slows down slows all of them.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import dibs
from benchmarks.children import python, running, wait_until
from benchmarks.findings import Figure, Findings, Floor
from benchmarks.hits import Hits
from benchmarks.sqlite import dbos, huey, noop, raw

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.bench import Bench
    from benchmarks.children import Child
    from benchmarks.sqlite.sizes import Sizes

LIMIT_S = 180.0
CROWD = "benchmarks.sqlite.crowd"


def run(bench: Bench[Sizes]) -> Findings:
    sizes = bench.sizes
    samples: dict[str, list[float]] = {"raw": [], "huey": [], "alone": [], "crowded": [], "crowd": []}
    rival = dbos.rival(bench)
    if rival:
        samples["dbos"] = []
    for number in range(bench.runs):
        samples["raw"].append(raw.rows_per_second(bench.fresh_folder("raw"), sizes.raw_rows))
        samples["huey"].append(drain_huey(bench.fresh_folder("huey"), sizes.drain_huey))
        samples["alone"].append(drain_dibs(bench.fresh_folder("drain"), sizes.drain_dibs)[0])
        crowded, crowd = drain_dibs(bench.fresh_folder("crowded"), sizes.drain_dibs, crowd=sizes.crowd)
        samples["crowded"].append(crowded)
        samples["crowd"].append(crowd)
        if rival:
            samples["dbos"].append(rival.drain())
        latest = ", ".join(f"{name} {values[-1]:,.0f}/s" for name, values in samples.items())
        bench.say(f"drain, run {number + 1}/{bench.runs}: {latest}")
    figures = {name: Figure(TITLES[name], "/s", tuple(values)) for name, values in samples.items()}
    floors = []
    for name, words in (("alone", "drain"), ("crowded", "drain among 4 others")):
        floors.append(Floor(f"{words} / Huey", figures[name].value / figures["huey"].value, 5))
        floors.append(Floor(f"{words} / raw limit", 100 * figures[name].value / figures["raw"].value, 7, unit="%"))
    return Findings(list(figures.values()), floors)


TITLES = {
    "raw": "raw limit: rows updated twice, 100 per commit",
    "huey": "drain, Huey",
    "alone": "drain, dibs",
    "crowded": "drain, dibs among 4 other processes",
    "crowd": "… what those add, claim and complete meanwhile",
    "dbos": "drain, DBOS",
}


def drain_huey(folder: Path, count: int) -> float:
    """Tasks per second of one consumer, from its first handler start to its last."""
    peer = huey.at(folder)
    for number in range(count):
        peer.add(number)
    peer.close()
    hits = Hits(folder / "hits")
    argv, extra = huey.consumer(folder)
    with running(argv, folder, {**extra, **hits.environment}) as worker:
        _await_hits(hits, count, worker)
    instants = [at for at, _ in hits.all()]
    return count / (max(instants) - min(instants))


def drain_dibs(folder: Path, count: int, crowd: int = 0) -> tuple[float, float]:
    """Tasks per second of one worker, and of all the others together."""
    noop.load(folder, count)
    hits = Hits(folder / "hits")
    with ExitStack() as stack:
        others = [
            stack.enter_context(running(python("-m", CROWD, noop.url(folder), f"crowd-{n}"), folder))
            for n in range(crowd)
        ]
        if others:
            _await_work_of(others, folder)
        crowd_started = time.time()
        worker = stack.enter_context(running(noop.worker(folder), folder, hits.environment))
        _await_hits(hits, count, worker)
        _await_settled(folder, count, worker)
        ended = time.time()
        for other in others:
            other.end()
        done = sum(int(other.log.read_text() or 0) for other in others)
    _refuse_repeats(hits, count)
    return count / (ended - hits.first_at()), done / (time.time() - crowd_started)


def _await_hits(hits: Hits, count: int, worker: Child) -> None:
    wait_until(lambda: hits.count() >= count, what=f"{count} handler starts", timeout_s=LIMIT_S, alive=[worker])


def _await_settled(folder: Path, count: int, worker: Child) -> None:
    """Wait until the store itself says that all tasks are completed."""
    with dibs.connect_sync(noop.url(folder)) as queue:
        wait_until(
            lambda: queue.stats().by_type.get(noop.TYPE, {}).get("completed", 0) >= count,
            what=f"{count} outcomes",
            timeout_s=LIMIT_S,
            alive=[worker],
            every_s=0.002,
        )


def _await_work_of(others: list[Child], folder: Path) -> None:
    """Wait until every one of the others has completed something."""

    def all_busy() -> bool:
        by_type = queue.stats().by_type
        return all(by_type.get(f"crowd-{n}", {}).get("completed") for n in range(len(others)))

    with dibs.connect_sync(noop.url(folder)) as queue:
        wait_until(all_busy, what="the other processes", timeout_s=30, alive=others, every_s=0.1)


def _refuse_repeats(hits: Hits, count: int) -> None:
    """A figure in which a task ran twice is no figure."""
    numbers = [number for _, number in hits.all()]
    if len(numbers) != count or len(set(numbers)) != count:
        raise RuntimeError(f"{len(numbers)} handler starts of {len(set(numbers))} tasks; {count} were added")
