"""Escalation: what follows when tasks of a type or dag keep failing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import print_json
from dibs.cli.parsing import Command, given
from dibs.cli.values import read_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.model.escalation import Ladder


def no_arguments(parser: ArgumentParser) -> None:
    """It takes no arguments of its own."""


def _whose(parser: ArgumentParser) -> None:
    parser.add_argument("--type", metavar="TYPE", help="a type; '*' is every type without a ladder of its own")
    parser.add_argument("--dag", metavar="DAG", help="a dag; its ladder wins over that of a type")


def ls(args: Namespace) -> int:
    with looked_into(args) as queue:
        _show(args, queue.escalations())
    return 0


def show(args: Namespace) -> int:
    with looked_into(args) as queue:
        _show(args, queue.get_escalation(**given(args, "type", "dag")))
    return 0


def set_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("ladder", metavar="JSON|@file|-", help="a list of rungs")
    _whose(parser)


def set_one(args: Namespace) -> int:
    ladder = read_json(args.ladder, "escalation")
    with opened(args) as queue:
        _show(args, queue.set_escalation(ladder, **given(args, "type", "dag")))
    return 0


def clear(args: Namespace) -> int:
    with opened(args) as queue:
        queue.clear_escalation(**given(args, "type", "dag"))
    if args.json:
        print_json({"cleared": True})
    return 0


def apply_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="dibs.toml, or the same as YAML or JSON")


def apply(args: Namespace) -> int:
    from dibs.cli.ladderfiles import read_ladders

    written = read_ladders(args.file)
    with opened(args) as queue:
        _show(args, [queue.set_escalation(rungs, type=type) for type, rungs in written.items()])
    return 0


def _show(args: Namespace, found: Ladder | list[Ladder]) -> None:
    """One ladder, or several; a line for each rung."""
    if args.json:
        print_json(found)
        return
    from dibs.cli import wording
    from dibs.cli.output import on_terminal
    from dibs.cli.render import Column, hint, print_table
    from dibs.rules.escalation import in_words

    ladders = found if isinstance(found, list) else [found]
    if on_terminal() and not ladders:
        hint("Nothing is done about tasks that keep failing, but to try again: dibs escalation set --help")
        return
    columns = (
        Column("FOR"),
        Column("AFTER", right=True),
        Column("DO", style="yellow"),
        Column("QUESTION", wide=True),
        Column("WAITS", spare=True, right=True),
        Column("ELSE", spare=True),
    )
    print_table(
        columns,
        (
            (
                f"type {ladder.type}" if ladder.dag is None else ladder.dag,
                str(rung.after),
                in_words(rung),
                rung.question or "",
                "" if rung.timeout_s is None else f"{wording.number(rung.timeout_s)}s",
                "" if rung.default is None else wording.brief(rung.default),
            )
            for ladder in ladders
            for rung in ladder.rungs
        ),
    )


_RUNGS = (
    'A rung has "after" (failed attempts) and "do": notify ("to"), reassign ("agent" or "model"), ask ("to",'
    ' "question", "timeout", "default"), fail_dag.'
)

COMMANDS = {
    "escalation ls": Command(
        no_arguments,
        ls,
        about="In a pipe, between tabs, a line for each rung: for what, after how many failures, what is done, the"
        " question, how long an answer is waited for, the answer if there is none.",
        example="dibs escalation ls",
    ),
    "escalation show": Command(
        _whose, show, about="As dibs escalation ls.", example="dibs escalation show --type code"
    ),
    "escalation set": Command(
        set_arguments,
        set_one,
        about=f"{_RUNGS} It replaces the ladder before, and holds from the next failure on.",
        example='dibs escalation set --type code \'[{"after": 2, "do": "reassign", "model": "opus"},'
        ' {"after": 3, "do": "ask", "to": "oncall"}]\'',
    ),
    "escalation clear": Command(
        _whose,
        clear,
        about="Failed tasks are tried again, and nothing more.",
        example="dibs escalation clear --type code",
    ),
    "escalation apply": Command(
        apply_arguments,
        apply,
        about="Sets what the file says, once all of it was found right. In dibs.toml: [[escalation.code]] with the"
        " parts of one rung, as often as there are rungs; [[escalation.defaults]] is for every other type.",
        example="dibs escalation apply dibs.toml",
    ),
}
