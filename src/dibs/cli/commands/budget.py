"""Budgets: what may be used, and what was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given, number

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.model.views import Budget

UNITS = "usd (default), tokens, turns or seconds"


def ls_arguments(_parser: ArgumentParser) -> None:
    """Nothing to say: it shows all of them."""


def ls(args: Namespace) -> int:
    with looked_into(args) as queue:
        found = queue.budgets()
    if args.json:
        print_json(found)
        return 0
    from dibs.cli.render import Column, hint, print_table

    columns = (
        Column("BUDGET", wide=True),
        Column("LIMIT", right=True),
        Column("LEFT", right=True),
        Column("SPENT", right=True),
        Column("RESERVED", right=True, spare=True),
        Column("EACH RESERVES", right=True, spare=True),
        Column("WAITING", right=True),
    )
    if found or not on_terminal():
        print_table(columns, map(_row, found))
    else:
        hint("There are no budgets. Let a type of task cost $5 in all: dibs budget set type:research 5")
    return 0


def _row(budget: Budget) -> tuple[str, ...]:
    from dibs.rules.budgets import in_words, spent_in_words

    limit, left, reserved, default = (
        in_words(amount, budget.unit) for amount in (budget.limit, budget.left, budget.reserved, budget.default_reserve)
    )
    waiting = str(budget.waiting) if budget.waiting else ""
    if budget.window is not None:
        limit = f"{limit} a {budget.window}"
    return (budget.scope, limit, left, spent_in_words(budget), reserved, default, waiting)


def _scope(parser: ArgumentParser) -> None:
    parser.add_argument("scope", metavar="SCOPE", help="global, type:NAME, user:NAME, dag:ID or agent:NAME")


def _unit(parser: ArgumentParser) -> None:
    parser.add_argument("--unit", metavar="U", help=UNITS)


def set_arguments(parser: ArgumentParser) -> None:
    _scope(parser)
    parser.add_argument("limit", metavar="AMOUNT", type=number, help="what may be used in all")
    parser.add_argument(
        "--default-reserve",
        metavar="X",
        type=number,
        help="what a task without a limit of its own sets aside; default 0",
    )
    parser.add_argument("--per", metavar="WINDOW", dest="window", help="`day`: so much each day; default: for good")
    parser.add_argument("--tz", metavar="ZONE", dest="timezone", help="where the day ends: Europe/Berlin; default UTC")
    _unit(parser)


def set_(args: Namespace) -> int:
    with opened(args) as queue:
        options = given(args, "unit", "default_reserve", "window", "timezone")
        return _told(args, queue.set_budget(args.scope, args.limit, **options))


def raise_arguments(parser: ArgumentParser) -> None:
    _scope(parser)
    parser.add_argument("amount", metavar="AMOUNT", type=number, help="what is added to its limit")
    _unit(parser)


def raise_(args: Namespace) -> int:
    with looked_into(args) as queue:
        return _told(args, queue.raise_budget(args.scope, args.amount, **given(args, "unit")))


def rm_arguments(parser: ArgumentParser) -> None:
    _scope(parser)
    _unit(parser)


def rm(args: Namespace) -> int:
    with looked_into(args) as queue:
        return _told(args, queue.remove_budget(args.scope, **given(args, "unit")))


def _told(args: Namespace, budget: Budget) -> int:
    if args.json:
        print_json(budget)
    return 0


COMMANDS = {
    "budget ls": Command(
        ls_arguments,
        ls,
        about="In a pipe, between tabs: scope, limit, left, spent, reserved, what each reserves, how many wait.",
        example="dibs budget ls",
    ),
    "budget set": Command(
        set_arguments,
        set_,
        about="""
What runs already is counted, what was spent before is not. Setting it again changes the limit; below what is used it
stops new attempts only.
""",
        example="""
dibs budget set global 20 --default-reserve 0.25
dibs budget set type:research 1000000 --unit tokens
dibs budget set agent:coder-1 5 --per day --tz Europe/Berlin
""",
    ),
    "budget raise": Command(
        raise_arguments,
        raise_,
        about="Whoever waits for it and fits now is let in, the most urgent first.",
        example="dibs budget raise dag:dag_01j… 0.40",
    ),
    "budget rm": Command(rm_arguments, rm, about="It limits nothing any more.", example="dibs budget rm type:research"),
}
