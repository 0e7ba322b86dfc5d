"""Memory: the resident size of one worker process while it drains half a million tasks.

Sampled from /proc. Start-up and the first tenth of the tasks are warm-up; what remains is flat if its last quarter is
not much larger than its first. One pass: it is long, and each quarter is itself a median of many samples.
"""

from __future__ import annotations

import os
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.children import running, wait_until
from benchmarks.findings import Figure, Findings, Floor
from benchmarks.hits import Hits
from benchmarks.sqlite import noop

if TYPE_CHECKING:
    from benchmarks.bench import Bench
    from benchmarks.sqlite.sizes import Sizes

WARM_UP_SHARE = 0.1
EVERY_S = 0.1
LIMIT_S = 600.0
MAX_GROWTH_MIB = 20
MAX_GROWTH_SHARE = 0.10


def run(bench: Bench[Sizes]) -> Findings:
    count = bench.sizes.memory_tasks
    folder = bench.fresh_folder("memory")
    bench.say(f"memory: loading {count:,} tasks")
    noop.load(folder, count)
    hits = Hits(folder / "hits")
    samples: list[tuple[int, float]] = []
    with running(noop.worker(folder), folder, hits.environment) as worker:

        def drained() -> bool:
            samples.append((hits.count(), resident_mib(worker.pid)))
            return samples[-1][0] >= count

        bench.say("memory: draining")
        wait_until(drained, what="all tasks", timeout_s=LIMIT_S, alive=[worker], every_s=EVERY_S)
    warm = [mib for done, mib in samples if done >= WARM_UP_SHARE * count]
    quarter = max(1, len(warm) // 4)
    first, last = median(warm[:quarter]), median(warm[-quarter:])
    bench.say(f"memory: {first:.1f} MiB, then {last:.1f} MiB, at most {max(warm):.1f} MiB")
    allowed = max(MAX_GROWTH_MIB, MAX_GROWTH_SHARE * first)
    return Findings(
        [
            Figure("worker's memory, first quarter", "MiB", (first,), f"{count:,} tasks"),
            Figure("worker's memory, last quarter", "MiB", (last,), f"{count:,} tasks"),
            Figure("worker's memory, most", "MiB", (max(warm),), f"{count:,} tasks"),
        ],
        [Floor(f"growth of memory over {count:,} tasks", last - first, allowed, at_least=False, unit="MiB")],
    )


def resident_mib(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
