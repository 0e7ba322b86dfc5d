"""A contest: everybody on one server, taking turns, so that a machine that slows down slows all.

An error of one contestant ends its part in that measure and nothing else.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import dibs
from benchmarks import machine, report
from benchmarks.bench import Bench, real_disk, temporary_folder
from benchmarks.contest import presenting
from benchmarks.contest.stage import Contest, Contestant, Unable, last_line
from benchmarks.contest.standings import RAW, Standings
from benchmarks.environments import Missing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import ModuleType

    from benchmarks.contest.presenting import Heading
    from benchmarks.contest.server import Server
    from benchmarks.contest.sizes import Sizes
    from benchmarks.findings import Floor
    from benchmarks.peers.peer import Peer


@dataclass(frozen=True)
class Arena:
    """A kind of server, who meets on it, and what is measured there."""

    heading: Heading
    schemes: tuple[str, ...]
    """Of the URLs that name such a server."""
    peers: Mapping[str, Peer]
    variants: Mapping[str, Peer]
    """Run only when they are asked for by name."""
    contested: Mapping[str, ModuleType]
    """Measures of contestants, by name; `measures/__init__.py` says what such a module has."""
    limits: Mapping[str, Callable[[Contest], float]]
    """What the server itself can do per second."""
    sizes: Mapping[str, Sizes]
    serving: Callable[[str | None, Path, int | None, Callable[[str], None]], AbstractContextManager[Server]]
    """The server at a URL, else one of our own: with its files under a folder, at a port."""
    floors: Callable[[Standings], list[Floor]]

    @property
    def measures(self) -> tuple[str, ...]:
        return (RAW, *self.contested)

    def contestants(self) -> list[str]:
        """For --list."""
        return [f"{peer.name}: {peer.about}" for peer in [*self.peers.values(), *self.variants.values()]]

    def choose(self, named: Sequence[str], without: Sequence[str]) -> list[Peer]:
        """dibs and those named; everybody if nobody was."""
        known = {**self.peers, **self.variants}
        unknown = [name for name in [*named, *without] if name not in known and name != "none"]
        if unknown:
            raise SystemExit(f"no peer {', '.join(unknown)}; there are: {' '.join(known)}")
        names = list(self.peers) if not named else [dibs.__name__, *named]
        return [known[name] for name in dict.fromkeys(names) if name in known and name not in without]


def run(arena: Arena, chosen: Sequence[str], options: argparse.Namespace) -> bool:
    """Measure what was chosen, report it, and say whether dibs did all of it and kept all bounds."""
    sizes = arena.sizes[options.size]
    found = Standings(arena.choose(options.peers, options.without), sizes)
    with temporary_folder(options.folder) as folder:
        bench = Bench(folder, runs=options.runs, sizes=sizes)
        ready = prepare(bench, found)
        bench.mind_the_load()
        about = {**report.when(options.runs, options.size), **machine.describe(folder)}
        named = options.server if urlsplit(options.server or "").scheme in arena.schemes else None
        with arena.serving(named, real_disk(options.folder), options.port, bench.say) as server:
            about |= server.describe()
            interrupted = measured_until_interrupted(arena, Contest(bench, server), ready, chosen, found)
    kept = arena.floors(found) + found.floors
    presenting.show(found, kept, about)
    if interrupted:
        raise KeyboardInterrupt
    whole = set(chosen) == set(arena.measures) and not options.peers and not options.without
    kept_in = report.results_folder(options, whole=whole)
    if kept_in is not None:
        presenting.keep(kept_in, arena.heading, found, kept, about)
        bench.say(f"kept in {kept_in}")
    dibs_failed = any(who == dibs.__name__ for who, _ in found.failed)
    return not dibs_failed and all(floor.met or floor.goal for floor in kept)


def measured_until_interrupted(
    arena: Arena, contest: Contest, ready: list[Contestant], chosen: Sequence[str], found: Standings
) -> bool:
    """Was it? What has been found by then is worth showing: a full run takes long."""
    try:
        for name in chosen:
            if name == RAW:
                measure_raw(contest, arena.limits, found)
            else:
                measure(contest, ready, name, arena.contested[name], found)
    except KeyboardInterrupt:
        contest.bench.say("interrupted; this is what was measured")
        return True
    return False


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


def measure_raw(contest: Contest, limits: Mapping[str, Callable[[Contest], float]], found: Standings) -> None:
    """What the server itself can do."""
    for quantity, once in limits.items():
        try:
            samples = contest.bench.repeat(f"raw limit, {quantity}", partial(once, contest))
            found.keep(RAW, quantity, "/s", list(samples))
        except Exception as error:
            fail(contest, found, RAW, RAW, error)


def measure(contest: Contest, ready: list[Contestant], name: str, module: ModuleType, found: Standings) -> None:
    """One measure, everybody in turn, as often as there are runs."""
    if hasattr(module, "compared"):
        compare(contest, ready, name, module, found)
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


def compare(contest: Contest, ready: list[Contestant], name: str, module: ModuleType, found: Standings) -> None:
    """A measure that is about dibs alone: figures beside figures of its own."""
    for contestant in ready:
        try:
            here = module.compared(contest, contestant)
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
