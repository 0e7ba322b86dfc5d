"""Shell: what `dibs add` costs as a command, against starting Python and doing nothing. The two take turns."""

from __future__ import annotations

import subprocess
import time
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.children import dibs, environment, python
from benchmarks.findings import Figure, Findings, Floor
from benchmarks.sqlite import noop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.bench import Bench
    from benchmarks.sqlite.sizes import Sizes

ALLOWANCE_MS = 60.0


def run(bench: Bench[Sizes]) -> Findings:
    adds, bare = [], []
    for number in range(bench.runs):
        folder = bench.fresh_folder("shell")
        add = dibs("add", noop.TYPE, "a title", "--payload", '{"number": 1}', "--url", noop.url(folder))
        wall_ms(add)
        pairs = [(wall_ms(python("-c", "pass")), wall_ms(add)) for _ in range(bench.sizes.shell_pairs)]
        bare.append(median(nothing for nothing, _ in pairs))
        adds.append(median(added for _, added in pairs))
        bench.say(f"shell, run {number + 1}/{bench.runs}: add {adds[-1]:.0f} ms, python {bare[-1]:.0f} ms")
    add_figure = Figure("dibs add", "ms", tuple(adds))
    bare_figure = Figure("python -c pass", "ms", tuple(bare))
    beyond = add_figure.value - 2 * bare_figure.value
    floor = Floor("dibs add − 2 × python -c pass", beyond, ALLOWANCE_MS, at_least=False, unit="ms")
    return Findings([bare_figure, add_figure], [floor])


def wall_ms(argv: Sequence[str]) -> float:
    started = time.perf_counter()
    subprocess.run(argv, check=True, capture_output=True, env=environment(), timeout=30)
    return 1_000 * (time.perf_counter() - started)
