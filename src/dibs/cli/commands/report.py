"""Decision reports: in which fields those of a type must say something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.byname import by_name
from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def ls_arguments(_parser: ArgumentParser) -> None:
    """Nothing to say: it shows all of them."""


def ls(args: Namespace) -> int:
    with looked_into(args) as queue:
        found = queue.reports()
    if args.json:
        print_json(found)
        return 0
    from dibs.cli.render import Column, hint, print_table

    if not found and on_terminal():
        hint("Decision reports say decision and reasoning. More of a type: dibs report set review decision risks")
        return 0
    columns = (Column("TYPE", wide=True), Column("FIELDS", wide=True))
    print_table(columns, ((report.type, ", ".join(report.fields)) for report in found))
    return 0


def set_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("type", metavar="TYPE", help="tasks of this type; '*': of every type without its own")
    parser.add_argument("fields", metavar="FIELD", nargs="+", help="what their reports must say something about")


def set_(args: Namespace) -> int:
    with opened(args) as queue:
        report = queue.set_report(args.type, args.fields)
    if args.json:
        print_json(report)
    return 0


def rm_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("type", metavar="TYPE", help="tasks of this type")


COMMANDS = {
    "report ls": Command(
        ls_arguments,
        ls,
        about="In a pipe, between tabs: type, fields.",
        example="dibs report ls",
    ),
    "report set": Command(
        set_arguments,
        set_,
        about="""
For tasks that are added from now on and expect {"validation": "decision-report"} without naming fields of their own.
""",
        example="""
dibs report set review decision reasoning risks
dibs report set '*' decision reasoning confidence
""",
    ),
    "report rm": Command(
        rm_arguments,
        by_name("remove_report", "type"),
        about="Tasks that were added keep what they expect.",
        example="dibs report rm review",
    ),
}
