"""Rates: how many tasks of a type are handed out in a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.byname import by_name
from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given, whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def ls_arguments(_parser: ArgumentParser) -> None:
    """Nothing to say: it shows all of them."""


def ls(args: Namespace) -> int:
    with looked_into(args) as queue:
        found = queue.rates()
    if args.json:
        print_json(found)
        return 0
    from dibs.cli.commands.look import when
    from dibs.cli.render import Column, hint, print_table
    from dibs.rules.rates import in_words

    if not found and on_terminal():
        hint("Tasks of any type are handed out as fast as agents ask. Not so: dibs rate set research 10/min")
        return 0
    instant = when()
    columns = (
        Column("TYPE", wide=True),
        Column("RATE", right=True),
        Column("AT ONCE", right=True),
        Column("LEFT", right=True),
        Column("NEXT", style="bright_black"),
    )
    print_table(
        columns,
        ((rate.type, in_words(rate), str(rate.burst), str(rate.left), instant(rate.opens_at)) for rate in found),
    )
    return 0


def set_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("type", metavar="TYPE", help="tasks of this type")
    parser.add_argument("rate", metavar="RATE", help="10/min, 100/hour, 3/30s")
    parser.add_argument("--burst", metavar="N", type=whole, help="how many at once; default: as many as the rate says")


def set_(args: Namespace) -> int:
    with opened(args) as queue:
        rate = queue.set_rate(args.type, args.rate, **given(args, "burst"))
    if args.json:
        print_json(rate)
    return 0


def rm_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("type", metavar="TYPE", help="tasks of this type")


COMMANDS = {
    "rate ls": Command(
        ls_arguments,
        ls,
        about="In a pipe, between tabs: type, rate, how many at once, how many are left now, when there is the next.",
        example="dibs rate ls",
    ),
    "rate set": Command(
        set_arguments,
        set_,
        about="""
So many at once, then one by one, evenly. A task counts each time it is handed out. No waiting task is touched for it.
""",
        example="""
dibs rate set research 10/min
dibs rate set mail 100/hour --burst 5
""",
    ),
    "rate rm": Command(
        rm_arguments,
        by_name("remove_rate", "type"),
        about="As many as agents ask for.",
        example="dibs rate rm research",
    ),
}
