"""All measures on PostgreSQL: everybody on one server, taking turns, so that a machine that slows down slows all.

An error of one contestant ends its part in that measure and nothing else.
"""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

import dibs
from benchmarks import machine, report
from benchmarks.bench import Bench, real_disk, temporary_folder
from benchmarks.environments import Missing
from benchmarks.peers.postgres import PEERS, VARIANTS
from benchmarks.postgres import presenting, raw, server
from benchmarks.postgres.floors import floors
from benchmarks.postgres.measures import (
    adding,
    backlog,
    bulk,
    drain,
    gates,
    graph,
    held,
    kill,
    latency,
    producers,
    restart,
)
from benchmarks.postgres.sizes import SIZES, Sizes
from benchmarks.postgres.stage import Contest, Contestant, Unable, last_line
from benchmarks.postgres.standings import RAW, Standings

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from types import ModuleType

    from benchmarks.peers.peer import Peer

CONTESTED: dict[str, ModuleType] = {
    "add": adding,
    "bulk": bulk,
    "drain": drain,
    "latency": latency,
    "backlog": backlog,
    "gates": gates,
    "held": held,
    "kill": kill,
    "restart": restart,
    "graph": graph,
    "producers": producers,
}
MEASURES = ("raw", *CONTESTED)


def contestants() -> list[str]:
    """For --list."""
    return [f"{peer.name}: {peer.about}" for peer in [*PEERS.values(), *VARIANTS.values()]]


def run(chosen: Sequence[str], options: argparse.Namespace) -> bool:
    """Measure what was chosen, report it, and say whether dibs did all of it and kept all bounds."""
    found = Standings(choose(options.peers, options.without), SIZES[options.size])
    with temporary_folder(options.folder) as folder:
        bench = Bench(folder, runs=options.runs, sizes=SIZES[options.size])
        ready = prepare(bench, found)
        bench.mind_the_load()
        about = {**report.when(options.runs, options.size), **machine.describe(folder)}
        with server.serving(options.server, real_disk(options.folder), options.port, bench.say) as serving:
            about |= serving.describe()
            contest = Contest(bench, serving)
            interrupted = measured_until_interrupted(contest, ready, chosen, found)
    kept = floors(found) + found.floors
    presenting.show(found, kept, about)
    if interrupted:
        raise KeyboardInterrupt
    whole = set(chosen) == set(MEASURES) and not options.peers and not options.without
    kept_in = report.results_folder(options, whole=whole)
    if kept_in is not None:
        presenting.keep(kept_in, found, kept, about)
        bench.say(f"kept in {kept_in}")
    dibs_failed = any(who == dibs.__name__ for who, _ in found.failed)
    return not dibs_failed and all(floor.met or floor.goal for floor in kept)


def measured_until_interrupted(
    contest: Contest, ready: list[Contestant], chosen: Sequence[str], found: Standings
) -> bool:
    """Was it? What has been found by then is worth showing: a full run takes long."""
    try:
        for name in chosen:
            if name == "raw":
                measure_raw(contest, found)
            else:
                measure(contest, ready, name, found)
    except KeyboardInterrupt:
        contest.bench.say("interrupted; this is what was measured")
        return True
    return False


def choose(named: Sequence[str], without: Sequence[str]) -> list[Peer]:
    """dibs and those named; everybody if nobody was."""
    known = {**PEERS, **VARIANTS}
    unknown = [name for name in [*named, *without] if name not in known and name != "none"]
    if unknown:
        raise SystemExit(f"no peer {', '.join(unknown)}; there are: {' '.join(known)}")
    names = list(PEERS) if not named else [dibs.__name__, *named]
    return [known[name] for name in dict.fromkeys(names) if name in known and name not in without]


def prepare(bench: Bench[Sizes], found: Standings) -> list[Contestant]:
    """Everybody whose environment can be had here."""
    ready = []
    for peer in found.peers:
        try:
            environment = peer.prepare(bench.say)
        except (Missing, RuntimeError) as error:
            found.skipped[peer.name] = str(error)
            bench.say(f"skipping {peer.name}: {error}")
            continue
        found.versions[peer.name] = environment.versions
        ready.append(Contestant(peer, environment))
    return ready


def measure_raw(contest: Contest, found: Standings) -> None:
    """What the server itself can do."""
    sizes = contest.sizes
    limits = {
        "claim and complete 100 rows": lambda: raw.claims_per_second(contest.server, sizes.raw_claims),
        "COPY": lambda: raw.copied_per_second(contest.server, sizes.raw_copies),
    }
    for quantity, once in limits.items():
        try:
            samples = contest.bench.repeat(f"raw limit, {quantity}", once)
            found.keep(RAW, quantity, "/s", list(samples))
        except Exception as error:
            fail(contest, found, RAW, "raw", error)


def measure(contest: Contest, ready: list[Contestant], name: str, found: Standings) -> None:
    """One measure, everybody in turn, as often as there are runs."""
    module = CONTESTED[name]
    if hasattr(module, "compared"):
        compare(contest, ready, name, found)
        return
    taking_part = []
    for contestant in ready:
        if name in contestant.peer.cannot:
            found.absent[contestant.name, name] = contestant.peer.cannot[name]
        else:
            taking_part.append(contestant)
    samples: dict[str, dict[str, list[float]]] = {contestant.name: {} for contestant in taking_part}
    runs = 1 if hasattr(module, "together") else contest.bench.runs
    for number in range(runs):
        for contestant in list(taking_part):
            try:
                if hasattr(module, "together"):
                    samples[contestant.name] = module.together(contest, contestant)
                    continue
                here = module.once(contest, contestant)
            except Unable as error:
                found.absent[contestant.name, name] = str(error)
                contest.bench.say(f"{name}, {contestant.name}: {error}")
                taking_part.remove(contestant)
            except Exception as error:
                fail(contest, found, contestant.name, name, error)
                taking_part.remove(contestant)
            else:
                for quantity, sample in here.items():
                    samples[contestant.name].setdefault(quantity, []).append(sample)
                latest = ", ".join(
                    f"{contest.sizes.worded(quantity)} {report.amount(sample, module.UNITS[quantity])}"
                    for quantity, sample in here.items()
                    if not quantity.startswith("latency p9")
                )
                contest.bench.say(f"{name}, {contestant.name}, run {number + 1}/{runs}: {latest}")
    for contestant in taking_part:
        for quantity, values in samples[contestant.name].items():
            found.keep(contestant.name, quantity, module.UNITS[quantity], values)


def compare(contest: Contest, ready: list[Contestant], name: str, found: Standings) -> None:
    """A measure that is about dibs alone: figures beside figures of its own."""
    for contestant in ready:
        try:
            here = CONTESTED[name].compared(contest, contestant)
        except Unable as error:
            found.absent[contestant.name, name] = str(error)
        except Exception as error:
            fail(contest, found, contestant.name, name, error)
        else:
            for figure in here.figures:
                found.keep(contestant.name, figure.name, figure.unit, list(figure.samples))
            found.floors += here.floors


def fail(contest: Contest, found: Standings, who: str, name: str, error: Exception) -> None:
    """Note it and go on: the last line says what happened, the rest goes to the log of this run."""
    reason = last_line(str(error)) if str(error) else type(error).__name__
    found.failed[who, name] = reason
    contest.bench.say(f"{name}, {who}: FAILED: {reason}")
    if not isinstance(error, (RuntimeError, TimeoutError)):
        traceback.print_exception(error)
