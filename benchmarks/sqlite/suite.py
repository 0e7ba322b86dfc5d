"""All measures on SQLite, one after the other, and their report."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import apsw

import dibs
from benchmarks import machine, report
from benchmarks.bench import Bench, temporary_folder
from benchmarks.findings import Findings
from benchmarks.sqlite import dbos, huey
from benchmarks.sqlite.measures import adding, claiming, drain, gates, latency, memory, shell
from benchmarks.sqlite.sizes import QUICK, Sizes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

MEASURES: dict[str, Callable[[Bench[Sizes]], Findings]] = {
    "drain": drain.run,
    "add": adding.run,
    "latency": latency.run,
    "shell": shell.run,
    "claim": claiming.run,
    "gates": gates.run,
    "memory": memory.run,
}


def run(chosen: Sequence[str], options: argparse.Namespace) -> bool:
    """Measure what was chosen, report it, and say whether all bounds are kept."""
    found = Findings()
    quick = options.size != "full"
    with temporary_folder(options.folder) as folder:
        bench = Bench(folder, runs=options.runs, sizes=QUICK if quick else Sizes())
        bench.mind_the_load()
        about = {
            **report.when(options.runs, options.size),
            **machine.describe(folder),
            "versions": f"dibs {dibs.__version__}, apsw {apsw.apsw_version()}, SQLite {apsw.sqlite_lib_version()},"
            f" msgspec {machine.version_of('msgspec')}, huey {machine.version_of('huey')}"
            f" (SQLite {sqlite3.sqlite_version})",
            "dibs": "one `dibs worker` process with its default settings; WAL, synchronous=FULL",
            "Huey": huey.SETTINGS,
            "DBOS": f"{dbos.PEER.packages[0]}: {dbos.PEER.about}",
        }
        for name in chosen:
            here = MEASURES[name](bench)
            found.figures += here.figures
            found.floors += here.floors
    table = report.markdown(found, about)
    print(table, end="")
    kept_in = report.results_folder(options, whole=len(chosen) == len(MEASURES))
    if kept_in is not None:
        (kept_in / "sqlite.md").write_text(f"# dibs on SQLite\n\n{table}", encoding="utf-8")
        (kept_in / "sqlite.json").write_text(report.to_json(found, about), encoding="utf-8")
    return all(floor.met for floor in found.floors)
