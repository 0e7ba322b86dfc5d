"""Stopping and letting go: pauses, and what is closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import print_json
from dibs.cli.parsing import Command, given, moment, whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

NOTHING_TO_DO = 3


def _what(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--type", metavar="T", help="tasks of this type")
    add("--lane", metavar="N", type=whole, help="tasks of this lane: its id in `dibs stats --json`")
    add("--agent", metavar="A", help="what this agent would be given")
    add("--everything", action="store_true", help="all tasks")


def pause_arguments(parser: ArgumentParser) -> None:
    _what(parser)
    add = parser.add_argument
    add("--until", metavar="T", type=moment, help="it goes on by itself: 30m, or an instant")
    add("--reason", metavar="TEXT", help="why, for those who ask later")
    add("--by", metavar="WHO", help="who says so; default human:$USER")


def pause(args: Namespace) -> int:
    import os

    options = given(args, "type", "lane", "agent", "everything", "until", "reason", "by")
    if "by" not in options and os.environ.get("USER"):
        options["by"] = f"human:{os.environ['USER']}"
    with opened(args) as queue:
        closure = queue.pause(**options)
    if args.json:
        print_json(closure)
    else:
        print(closure.gate)
    return 0


def resume_arguments(parser: ArgumentParser) -> None:
    _what(parser)
    add = parser.add_argument
    add("--provider", metavar="NAME", help="what a rate limit of this provider keeps back")
    add("--limit", metavar="T", help="tasks of this type that a rate limit keeps back, if no provider is known")


def resume(args: Namespace) -> int:
    with opened(args) as queue:
        resumed = queue.resume(**given(args, "type", "lane", "agent", "everything", "provider", "limit"))
    if args.json:
        print_json({"resumed": resumed})
    elif not resumed:
        from dibs.cli.render import hint

        hint("That was not closed; `dibs gates` lists what is.")
    return 0 if resumed else NOTHING_TO_DO


def no_arguments(parser: ArgumentParser) -> None:
    """It takes no arguments of its own."""


def gates(args: Namespace) -> int:
    from dibs.cli.commands.look import when
    from dibs.cli.output import on_terminal
    from dibs.cli.render import Column, hint, print_table

    with looked_into(args) as queue:
        closures = queue.gates()
    if args.json:
        print_json(closures)
        return 0
    if not closures and on_terminal():
        hint("Nothing is closed.")
        return 0
    instant = when()
    columns = (
        Column("GATE"),
        Column("SINCE", style="bright_black"),
        Column("UNTIL"),
        Column("BY", spare=True),
        Column("REASON", wide=True),
        Column("TO OPEN IT", spare=True, style="bright_black"),
    )
    print_table(
        columns,
        (
            (
                closure.gate,
                instant(closure.since),
                instant(closure.until),
                closure.by or "",
                closure.reason or "",
                closure.help or "",
            )
            for closure in closures
        ),
    )
    return 0


COMMANDS = {
    "pause": Command(
        pause_arguments,
        pause,
        about="What is being worked on goes on; nothing new is handed out. Prints the name of the gate.",
        example='dibs pause --type code --until 2h --reason "the build is broken"',
    ),
    "resume": Command(
        resume_arguments,
        resume,
        about="Ends one pause, or opens what a rate limit closed; all else stays. Exit code 3 if there was none.",
        example="""
dibs resume --type code
dibs resume --provider anthropic
""",
    ),
    "gates": Command(
        no_arguments,
        gates,
        about="In a pipe, between tabs: gate, since, until, by, reason, the command that opens it.",
        example="dibs gates",
    ),
}
