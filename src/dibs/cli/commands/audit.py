"""The audit: what was done to tokens and settings, by whom, and what was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.connecting import looked_into
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given, whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

NOT_SOUND = 1


def ls_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--after", metavar="N", type=whole, help="those after this number; default: the last ones")
    parser.add_argument("--limit", metavar="N", type=whole, help="at most so many; default 100")
    parser.add_argument("--act", metavar="A", help="of this kind only, such as create_token")
    parser.add_argument("--by", metavar="WHO", help="of this one only")


def ls(args: Namespace) -> int:
    with looked_into(args) as queue:
        found = queue.audit(**given(args, "after", "limit", "act", "by"))
    if args.json:
        print_json(found)
        return 0
    from dibs.cli.commands.look import when
    from dibs.cli.render import Column, hint, print_table

    if not found and on_terminal():
        hint("Nothing was recorded.")
        return 0
    instant = when()
    columns = (
        Column("NUMBER", right=True),
        Column("WHEN", style="bright_black"),
        Column("BY"),
        Column("ACT"),
        Column("TARGET", wide=True),
        Column("OUTCOME"),
        Column("TIMES", right=True, spare=True),
        Column("PROJECT", spare=True),
    )
    print_table(
        columns,
        (
            (
                str(entry.number),
                instant(entry.at),
                entry.by or "",
                entry.act,
                entry.target,
                entry.outcome,
                str(entry.count),
                entry.project,
            )
            for entry in found
        ),
    )
    return 0


def verify_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--noted", metavar="NUMBER:DIGEST", help="an entry as it was printed before; must be there")


def verify(args: Namespace) -> int:
    with looked_into(args) as queue:
        verdict = queue.verify_audit(**given(args, "noted"))
    if args.json:
        print_json(verdict)
    elif verdict.sound:
        print(f"{verdict.number}:{verdict.head}")
        if on_terminal():
            from dibs.cli.render import hint

            hint(f"{verdict.checked:,} entries, none changed or missing. Note the line above to prove it later.")
    else:
        for fault in verdict.faults:
            print(fault.detail)
    return 0 if verdict.sound else NOT_SOUND


def prune_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--keep", metavar="N", type=whole, help="how many of the newest stay; default 20000")


def prune(args: Namespace) -> int:
    with looked_into(args) as queue:
        count = queue.prune_audit(**given(args, "keep"))
    print_json({"pruned": count}) if args.json else print(count)
    return 0


COMMANDS = {
    "audit ls": Command(
        ls_arguments,
        ls,
        about="In a pipe, between tabs: number, when, by whom, act, target, outcome, how often, project.",
        example="dibs audit ls --act create_token",
    ),
    "audit verify": Command(
        verify_arguments,
        verify,
        about="""
Every entry has the SHA-256 of the one before. Prints the number and digest of the last one, or what is wrong (exit 1).
""",
        example="dibs audit verify --noted 17:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ),
    "audit prune": Command(
        prune_arguments,
        prune,
        about="Of more than 20,000 entries the oldest are dropped by themselves. Prints how many were.",
        example="dibs audit prune --keep 5000",
    ),
}
