"""Circuit breakers: see them, set them, open and close them by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import print_json
from dibs.cli.parsing import Command, given, moment, whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.model.closures import Breaker


def no_arguments(parser: ArgumentParser) -> None:
    """It takes no arguments of its own."""


def ls(args: Namespace) -> int:
    with looked_into(args) as queue:
        found = queue.breakers()
    _show(args, found)
    return 0


def set_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("type", metavar="TYPE", help="a type; '*' is every type without settings of its own")
    add("--threshold", dest="failure_threshold", metavar="N", type=whole, help="so many failures in a row open it")
    add("--cooldown", dest="cooldown_s", metavar="T", type=moment, help="failures are forgotten after this long")
    add("--half-open-after", dest="half_open_after_s", metavar="T", type=moment, help="open, it tries one task then")
    add("--off", dest="enabled", action="store_false", help="switch it off, and close it")


def set_one(args: Namespace) -> int:
    options = given(args, "failure_threshold", "cooldown_s", "half_open_after_s", "enabled")
    with opened(args) as queue:
        _show(args, queue.set_breaker(args.type, **options))
    return 0


def type_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("type", metavar="TYPE", help="whose breaker")


def open_arguments(parser: ArgumentParser) -> None:
    type_arguments(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why, for those who ask later")


def open_one(args: Namespace) -> int:
    with opened(args) as queue:
        _show(args, queue.open_breaker(args.type, **given(args, "reason")))
    return 0


def close_one(args: Namespace) -> int:
    with opened(args) as queue:
        _show(args, queue.close_breaker(args.type))
    return 0


def reset_one(args: Namespace) -> int:
    with opened(args) as queue:
        _show(args, queue.reset_breaker(args.type))
    return 0


def apply_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="dibs.toml, or Loki's circuit-breakers.yaml")


def apply(args: Namespace) -> int:
    from dibs.cli.breakerfiles import read_settings

    settings = read_settings(args.file)
    with opened(args) as queue:
        _show(args, [queue.set_breaker(type, **options) for type, options in settings.items()])
    return 0


def _show(args: Namespace, found: Breaker | list[Breaker]) -> None:
    """One breaker, or several; a line each."""
    if args.json:
        print_json(found)
        return
    from dibs.cli import wording
    from dibs.cli.commands.look import when
    from dibs.cli.render import Column, print_table

    instant = when()
    columns = (
        Column("TYPE"),
        Column("STATE", style="yellow"),
        Column("FAILURES", right=True),
        Column("LAST FAILURE", spare=True, style="bright_black"),
        Column("OPENED", spare=True, style="bright_black"),
        Column("HALF-OPEN", spare=True, style="bright_black"),
        Column("COOLDOWN", right=True, spare=True),
        Column("TRIES AFTER", right=True, spare=True),
        Column("REASON", wide=True),
    )
    print_table(
        columns,
        (
            (
                each.type,
                _state(each),
                f"{each.failures}/{each.failure_threshold}",
                instant(each.last_failure_at),
                instant(each.opened_at),
                instant(each.half_open_at or each.half_open_due_at),
                f"{wording.number(each.cooldown_s)}s",
                f"{wording.number(each.half_open_after_s)}s",
                each.reason or "",
            )
            for each in (found if isinstance(found, list) else [found])
        ),
    )


def _state(breaker: Breaker) -> str:
    """`off` where nothing is counted and nothing stopped."""
    return "off" if not breaker.enabled and breaker.state == "closed" else breaker.state


COMMANDS = {
    "breaker ls": Command(
        no_arguments,
        ls,
        about="In a pipe, between tabs: type, state, failures/threshold, last failure, opened, half-open, cooldown, "
        "when it tries again, reason. A type without a line is as the line of *.",
        example="dibs breaker ls",
    ),
    "breaker set": Command(
        set_arguments,
        set_one,
        about="Switches it on unless --off is given. What is left out stays as it was set, else is as for '*', else: "
        "5 failures, 300s, 60s.",
        example="dibs breaker set '*'\ndibs breaker set code --threshold 3 --half-open-after 2m",
    ),
    "breaker open": Command(
        open_arguments,
        open_one,
        about="Nothing of the type is handed out until it tries one task, or is closed.",
        example='dibs breaker open code --reason "the API is down"',
    ),
    "breaker close": Command(
        type_arguments,
        close_one,
        about="The failures it counted are forgotten; work flows at once.",
        example="dibs breaker close code",
    ),
    "breaker reset": Command(
        type_arguments,
        reset_one,
        about="Forgets what it remembers and what was set for it.",
        example="dibs breaker reset code",
    ),
    "breaker apply": Command(
        apply_arguments,
        apply,
        about="Sets what the file says, once all of it was found right. In dibs.toml: [breakers.code] with "
        "failure_threshold, cooldown_s, half_open_after_s, enabled; [breakers.defaults] is for every other type.",
        example="dibs breaker apply dibs.toml",
    ),
}
