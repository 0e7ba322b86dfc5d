"""`dibs bench`: how fast this store is on this machine."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dibs.cli.output import on_terminal, print_json, print_row
from dibs.cli.parsing import Command, moment, whole
from dibs.errors import Invalid

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from dibs.cli.bench.figures import Figures, Latency, Rate
    from dibs.cli.bench.measures import Bounds
    from dibs.cli.bench.places import Place

TASKS, MOST_TASKS = 20_000, 1_000_000
SECONDS, MOST_SECONDS = 15.0, 600.0
MEASURES = 5


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--tasks", metavar="N", type=whole, default=TASKS, help=f"at most so many in each measure; default {TASKS:,}")
    add("--seconds", metavar="T", type=moment, default=SECONDS, help=f"for all of it, about; default {SECONDS:g}")
    add("--yes", action="store_true", default=False, help="do it on a server, which others may be using")


def bench(args: Namespace) -> int:
    from dibs.rules.validation import duration_s, whole
    from dibs.stores import chosen, shown

    tasks = whole(args.tasks, "tasks", 10, MOST_TASKS)
    seconds = duration_s(args.seconds, "seconds", low=1.0, high=MOST_SECONDS)
    url = chosen(args.url)
    _ask_first(url, seconds, args.yes)

    from dibs.cli.bench.measures import Bounds
    from dibs.cli.bench.places import place

    with _politely(), _Progress(args.json) as progress, place(url) as where:
        found = _measure(where, Bounds(tasks, seconds / MEASURES), progress)
        found.url = shown(url)
    if args.json:
        print_json(found)
    else:
        _print(found)
    return 0


def _ask_first(url: str, seconds: float, yes: bool) -> None:
    """Whoever shares a server with others is told before it is kept busy."""
    from dibs.cli.bench.places import told
    from dibs.stores import shown

    what = told(url)
    if what is not None and not yes:
        raise Invalid(
            f"This would keep {shown(url)} busy for about {seconds:g} s, {what}. Nothing was done: add --yes to do it.",
            field="yes",
        )


@contextmanager
def _politely() -> Iterator[None]:
    """Told to end, it leaves as after Ctrl-C: with what it made removed."""
    import signal

    before = signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _measure(where: Place, bounds: Bounds, progress: _Progress) -> Figures:
    import asyncio
    import os
    import platform

    from dibs import __version__
    from dibs.cli.bench.figures import Figures
    from dibs.cli.bench.measures import measured
    from dibs.connecting import connect

    async def run() -> tuple[list[Rate], Latency]:
        async with connect(where.url, token=where.token) as queue, connect(where.url, token=where.token) as other:
            return await measured(queue, other, bounds, progress.begin)

    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    rates, latency = asyncio.run(run())
    return Figures(
        url=where.url,
        version=__version__,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        cores=os.cpu_count() or 1,
        load=load,
        rates=rates,
        latency=latency,
    )


def _print(found: Figures) -> None:
    latency = found.latency
    if not on_terminal():
        for rate in found.rates:
            print_row((rate.name, rate.tasks, rate.seconds, rate.per_second))
        print_row((latency.name, latency.tasks, latency.p50_ms, latency.p99_ms))
        return
    from dibs.cli.render import Column, print_facts, print_table

    load = "" if found.load is None else f", load {found.load:g} before"
    print_facts(
        (
            ("store", found.url),
            ("machine", f"{found.cores} core{'' if found.cores == 1 else 's'}{load}"),
            ("versions", f"dibs {found.version}, {found.python}"),
        )
    )
    print()
    columns = (
        Column("MEASURED"),
        Column("TASKS", right=True),
        Column("SECONDS", right=True, spare=True),
        Column("PER SECOND", right=True, style="bold"),
    )
    print_table(
        columns,
        [(each.name, f"{each.tasks:,}", f"{each.seconds:.2f}", f"{each.per_second:,.0f}") for each in found.rates],
    )
    print()
    columns = (
        Column("MEASURED"),
        Column("TASKS", right=True),
        Column("MEDIAN", right=True, style="bold"),
        Column("99 %", right=True),
    )
    print_table(columns, [(latency.name, f"{latency.tasks:,}", f"{latency.p50_ms:.2f} ms", f"{latency.p99_ms:.2f} ms")])


class _Progress:
    """Which measure it is at, for a person who waits."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet or not sys.stderr.isatty()
        self._shown: Any = None

    def begin(self, place: int) -> None:
        from dibs.cli.bench.measures import NAMES

        if self._shown is not None:
            self._shown.update(self._row, description=NAMES[place], completed=place)

    def __enter__(self) -> _Progress:
        if not self._quiet:
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            from dibs.cli.render import console

            columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
            self._shown = Progress(*columns, console=console(stderr=True), transient=True)
            self._shown.start()
            self._row = self._shown.add_task("opening a store", total=MEASURES)
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown is not None:
            self._shown.stop()


COMMANDS = {
    "bench": Command(
        arguments,
        bench,
        about="""
Measures the store at --url on this machine: adding, claiming and completing, one at a time and many at once, and how
long a task waits for a worker that has nothing to do. It never touches your tasks: it works in a store of its own in
the same place, which is gone afterwards, also after Ctrl-C. That is a file in the same folder, a schema of the same
database, a namespace of the same Redis. On a server (--url http://…) it is a project of its own, and takes an admin's
token.

A server that others may be using is kept busy meanwhile: that takes --yes.
""",
        example="""
dibs bench
dibs bench --url postgresql://localhost/agents --yes
dibs bench --seconds 60 --tasks 100000 --json
""",
    ),
}
