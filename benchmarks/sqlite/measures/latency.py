"""Latency: from the call of add in one process to the start of the handler in another, with an idle worker.

One task each 20 ms. The clock starts when add is called, so what add itself costs is included.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import dibs
from benchmarks.children import running, wait_until
from benchmarks.findings import Figure, Findings, Floor, percentile
from benchmarks.hits import Hits
from benchmarks.sqlite import dbos, huey, noop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.bench import Bench
    from benchmarks.sqlite.sizes import Sizes

PERCENTILES = (50, 95, 99)
WARM_UP = 10
SETTLE_S = 0.5


def run(bench: Bench[Sizes]) -> Findings:
    samples: dict[str, list[list[float]]] = {"Huey": [], "dibs": []}
    rival = dbos.rival(bench)
    of_rival: list[dict[str, float]] = []
    for number in range(bench.runs):
        samples["Huey"].append(latencies_of_huey(bench))
        samples["dibs"].append(latencies_of_dibs(bench))
        latest = ", ".join(f"{name} p50 {percentile(values[-1], 0.5):.2f} ms" for name, values in samples.items())
        if rival:
            of_rival.append(rival.latency())
            latest += f", DBOS p50 {of_rival[-1]['latency p50 from call']:.2f} ms"
        bench.say(f"latency, run {number + 1}/{bench.runs}: {latest}")
    figures = [
        Figure(
            f"add to handler start, p{share}, {name}",
            "ms",
            tuple(percentile(latencies, share / 100) for latencies in runs),
        )
        for name, runs in samples.items()
        for share in PERCENTILES
    ]
    if of_rival:
        figures += [
            Figure(
                f"add to handler start, p{share}, DBOS",
                "ms",
                tuple(found[f"latency p{share} from call"] for found in of_rival),
            )
            for share in PERCENTILES
        ]
    value = {figure.name: figure.value for figure in figures}
    ratio = value["add to handler start, p50, dibs"] / value["add to handler start, p50, Huey"]
    return Findings(figures, [Floor("add to handler start, p50 / Huey's", ratio, 1, at_least=False)])


def latencies_of_huey(bench: Bench[Sizes]) -> list[float]:
    folder = bench.fresh_folder("huey")
    peer = huey.at(folder)
    argv, extra = huey.consumer(folder)
    try:
        return latencies(bench, folder, argv, extra, peer.add)
    finally:
        peer.close()


def latencies_of_dibs(bench: Bench[Sizes]) -> list[float]:
    folder = bench.fresh_folder("dibs")
    with dibs.connect_sync(noop.url(folder)) as queue:

        def add(number: int) -> None:
            queue.add(noop.TYPE, {"number": number})

        return latencies(bench, folder, noop.worker(folder), {}, add)


def latencies(
    bench: Bench[Sizes], folder: Path, argv: Sequence[str], extra: Mapping[str, str], add: Callable[[int], None]
) -> list[float]:
    """Milliseconds from each add to its handler's start."""
    hits = Hits(folder / "hits")
    count = bench.sizes.pings
    with running(argv, folder, {**extra, **hits.environment}) as worker:
        for number in range(-WARM_UP, 0):
            add(number)
        wait_until(lambda: hits.count() >= WARM_UP, what="the worker", timeout_s=30, alive=[worker])
        time.sleep(SETTLE_S)
        added_at = {}
        due = time.perf_counter()
        for number in range(count):
            due += bench.sizes.ping_interval_s
            time.sleep(max(0.0, due - time.perf_counter()))
            added_at[number] = time.time()
            add(number)
        wait_until(lambda: hits.count() >= WARM_UP + count, what="the handlers", timeout_s=60, alive=[worker])
    return [1_000 * (at - added_at[number]) for at, number in hits.all() if number >= 0]
