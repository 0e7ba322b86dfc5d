"""`python -m benchmarks`: measure everything, print a table, keep it in benchmarks/results."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import machine, report
from benchmarks.bench import QUICK, Bench, Sizes, temporary_folder
from benchmarks.findings import Findings
from benchmarks.measures import adding, claiming, drain, latency, memory, shell

if TYPE_CHECKING:
    from collections.abc import Callable

BUSY = 0.7
"""A load average above which the machine is not quiet."""

RESULTS = Path(__file__).resolve().parent / "results"

MEASURES: dict[str, Callable[[Bench], Findings]] = {
    "drain": drain.run,
    "add": adding.run,
    "latency": latency.run,
    "shell": shell.run,
    "claim": claiming.run,
    "memory": memory.run,
}


def main() -> int:
    options = parse()
    chosen = options.only or list(MEASURES)
    found = Findings()
    with temporary_folder(options.folder) as folder:
        bench = Bench(Path(folder), runs=options.runs, sizes=QUICK if options.quick else Sizes())
        about = {
            "when": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
            "runs": f"medians of {options.runs}" + (", quick: too short to quote" if options.quick else ""),
            **machine.describe(Path(folder)),
        }
        if os.getloadavg()[0] > BUSY:
            bench.say(f"this machine is busy (load {os.getloadavg()[0]:.1f}): the figures will not mean much")
        for name in chosen:
            here = MEASURES[name](bench)
            found.figures += here.figures
            found.floors += here.floors
    table = report.markdown(found, about)
    print(table, end="")
    if len(chosen) == len(MEASURES) and not options.quick:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / "sqlite.md").write_text(f"# dibs on SQLite\n\n{table}", encoding="utf-8")
        (RESULTS / "sqlite.json").write_text(report.to_json(found, about), encoding="utf-8")
    return int(options.check and not all(floor.met for floor in found.floors))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs behind each median (3)")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try out a change; nothing is kept")
    parser.add_argument("--only", action="append", choices=MEASURES, help="one measure (repeat for more)")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bound is missed")
    parser.add_argument("--folder", help="where the stores are put; must be a real disk (/var/tmp)")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    return options


if __name__ == "__main__":
    sys.exit(main())
