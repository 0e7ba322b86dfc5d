"""The measures `slow` and `hot`: what operations cost on each store, alone or against another version of dibs."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from benchmarks import machine, report
from benchmarks.bench import Bench, temporary_folder
from benchmarks.operations import cpu_time, hot, slow
from benchmarks.operations.operation import worded
from benchmarks.operations.performing import TREE, Failed, at_ref, opened, performing, working_tree
from benchmarks.operations.places import SCHEMES, STORES, about_versions, places
from benchmarks.operations.tables import Found, Taken, show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.operations.operation import Operation
    from benchmarks.operations.performing import Performer, Version
    from benchmarks.operations.places import Place

MEASURES = {"slow": slow.OPERATIONS, "hot": hot.OPERATIONS}

__all__ = ["MEASURES", "SCHEMES", "STORES", "contestants", "run"]


def contestants() -> list[str]:
    """For --list."""
    return [f"{name}: {'; '.join(worded(one, 'full') for one in operations)}" for name, operations in MEASURES.items()]


def run(chosen: Sequence[str], options: argparse.Namespace) -> bool:
    """Measure what was chosen, report it, and say whether all of it could be done and all bounds are kept."""
    kept = True
    with temporary_folder(options.folder) as folder:
        bench: Bench[None] = Bench(folder, runs=options.pairs if options.against else options.runs, sizes=None)
        bench.mind_the_load()
        sides = [working_tree(), *([at_ref(options.against, bench.say)] if options.against else [])]
        for name in chosen:
            found = Found(name, options.size, options.against)
            about = {**report.when(bench.runs, options.size), **machine.describe(folder), **about_versions()}
            with closing(places(options.store, options, bench, far=name == "slow")) as all_places:
                for place in all_places:
                    _at(place, MEASURES[name], sides, bench, found)
                    about |= place.about
                    if place.has_server and not cpu_time.can_tell(place.server):
                        about[place.name] = "its processes are not seen from here: wall time stands for CPU time"
            kept &= show(found, about, report.results_folder(options, whole=not options.against))
    return kept


def _at(
    place: Place, operations: Sequence[Operation], sides: Sequence[Version], bench: Bench[None], found: Found
) -> None:
    """All operations at one place."""
    with ExitStack() as stack:
        logs: Path = bench.fresh_folder("logs")
        performers = {side.who: stack.enter_context(performing(side, logs)) for side in sides}
        for operation in operations:
            if operation.by_shell and not place.by_shell:
                continue
            name = worded(operation, found.size)
            reasons = opened(performers, place, operation)
            if not reasons:
                try:
                    found.taken[place.name, name] = taken = _taken(place, performers, bench.runs, found.size)
                except Failed as error:
                    reasons = {TREE: str(error)}
                else:
                    bench.say(f"{place.name}: {taken.worded(name)}")
            for who, reason in reasons.items():
                found.failed[place.name, name] = who, reason
                bench.say(f"{place.name}: {name}: FAILED ({who}): {reason}")


def _taken(place: Place, performers: dict[str, Performer], runs: int, size: str) -> Taken:
    """So many samples of each, in turns; who begins changes every time."""
    taken = Taken({who: [] for who in performers}, {who: [] for who in performers})
    known = not place.has_server or cpu_time.can_tell(place.server)
    order = list(performers)
    for _ in range(runs):
        for who in order:
            sample = performers[who].sample(size)
            taken.wall[who].append(sample["wall"])
            taken.cpu[who].append(sample["cpu"] + sample["server"] if known else sample["wall"])
        order.reverse()
    return taken
