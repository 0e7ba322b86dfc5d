"""`python -m benchmarks`: measure dibs and its peers, print tables, keep them in benchmarks/results.

Without options: every measure on every store at full size, which takes about three hours. A full run is kept in
benchmarks/results; any other is kept only where --results says. Progress goes to standard error, the tables to
standard output. With --against two versions of dibs take turns at the measures of operations, slow and hot.
"""

from __future__ import annotations

import argparse
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from benchmarks.operations import interval
from benchmarks.operations import suite as operations

if TYPE_CHECKING:
    from types import ModuleType

STORES = operations.STORES
SIZES = ("tiny", "small", "full")
OPERATIONS = "each store"
PAIRS = 15

EPILOGUE = """\
measures of operations:  slow hot (on each store and in memory)
measures on SQLite:      drain add latency shell claim gates memory
measures on PostgreSQL:  raw add bulk drain latency backlog gates held kill restart graph producers
measures on Redis:       raw add bulk drain latency backlog kill restart

examples:
  python -m benchmarks --store postgres --only drain,add --peers pgqueuer,graphile-worker --size small
  python -m benchmarks --store redis --only drain --without dibs --size small
  python -m benchmarks --store sqlite --only drain --runs 5
  python -m benchmarks --only slow --store memory,sqlite
  python -m benchmarks --only hot --store sqlite --against HEAD --check
  python -m benchmarks --list
"""


def main() -> int:
    options = parse()
    suites = suites_of(options)
    if options.list:
        for where, suite in suites.items():
            print(f"{where}: {' '.join(suite.MEASURES)}")
            for line in suite.contestants() if hasattr(suite, "contestants") else ():
                print(f"  {line}")
        return 0
    known = {name for suite in suites.values() for name in suite.MEASURES}
    unknown = [name for name in options.only if name not in known]
    if unknown:
        raise SystemExit(
            f"no measure {', '.join(unknown)} on {', '.join(options.store)}; there are: {' '.join(sorted(known))}"
        )
    schemes = [scheme for store in options.store for scheme in operations.SCHEMES.get(store, ())]
    if options.server and options.server.partition("://")[0] not in schemes:
        wanted = f"write {' or '.join(f'{scheme}://…' for scheme in schemes)}" if schemes else "leave it out"
        raise SystemExit(f"--server: {', '.join(options.store)} cannot use that URL; {wanted}")
    all_kept = True
    for suite in suites.values():
        chosen = [name for name in suite.MEASURES if name in (options.only or suite.MEASURES)]
        if chosen:
            all_kept &= suite.run(chosen, options)
    return int(options.check and not all_kept)


def suites_of(options: argparse.Namespace) -> dict[str, ModuleType]:
    """Those of the stores, then that of operations; this one alone where no other measure is asked for."""
    suites = {OPERATIONS: operations}
    if options.only and set(options.only) <= set(operations.MEASURES):
        return suites
    return {store: suite_of(store) for store in options.store if store != "memory"} | suites


def suite_of(store: str) -> ModuleType:
    """Imported only when it is run: a store may need packages that are not installed."""
    try:
        return import_module(f"benchmarks.{store}.suite")
    except ImportError as error:
        raise SystemExit(f"the benchmarks on {store} need {error.name}: pip install -e '.[bench]'") from error


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        epilog=EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    several: dict[str, Any] = {"type": names, "action": "extend", "default": [], "metavar": "A,B"}
    parser.add_argument("--store", **several, help=f"which stores ({', '.join(STORES)}); all by default")
    parser.add_argument("--only", **several, help="which measures; all by default")
    parser.add_argument(
        "--peers", **several, help="whom to compare dibs with (on servers); all by default; none: nobody"
    )
    parser.add_argument("--without", **several, help="whom to leave out; may be dibs itself")
    parser.add_argument("--size", choices=SIZES, default="full", help="how much work; only full is worth quoting")
    parser.add_argument("--quick", action="store_const", const="small", dest="size", help="the same as --size small")
    parser.add_argument("--runs", type=int, default=3, help="runs behind each median (3)")
    parser.add_argument("--against", metavar="REF", help="compare slow and hot with dibs as it was at that git ref")
    parser.add_argument("--pairs", type=int, help=f"samples of each version with --against ({PAIRS})")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bound is missed")
    parser.add_argument("--folder", help="where stores are put; must be a real disk (/var/tmp)")
    parser.add_argument("--server", metavar="URL", help="a running PostgreSQL or Redis; by default one is started")
    parser.add_argument("--port", type=int, help="the port of the server that is started (any free one)")
    parser.add_argument("--results", metavar="FOLDER", help="where to keep the tables, whatever was run")
    parser.add_argument("--list", action="store_true", help="say which measures and peers there are, and end")
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs must be at least 1")
    if options.against and not (options.only and set(options.only) <= set(operations.MEASURES)):
        parser.error("--against compares operations only: add --only slow, --only hot or --only slow,hot")
    if options.pairs is not None and not options.against:
        parser.error("--pairs is for --against; say how often to measure one version with --runs")
    options.pairs = PAIRS if options.pairs is None else options.pairs
    if options.pairs < interval.LEAST_PAIRS:
        parser.error(f"--pairs must be at least {interval.LEAST_PAIRS}: one pair has no interval")
    options.store = options.store or list(STORES)
    for store in options.store:
        if store not in STORES:
            parser.error(f"--store: no {store}; there are {', '.join(STORES)}")
    return options


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


if __name__ == "__main__":
    # What was started is ended by the blocks that started it, also when this process is told to end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted; everything that was started has been ended")
