"""Schedules: tasks and dags that are made again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.byname import by_name
from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given, moment, whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.model.schedule import Schedule

_SAID = ("cron", "every", "at", "timezone", "missed", "max_missed", "overlap", "jitter", "paused", "replace")


def add_arguments(parser: ArgumentParser) -> None:
    from dibs.cli import templatefiles

    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="what it is called; default: what the file says")
    add("--cron", metavar="EXPR", help="'30 2 * * MON-FRI', @daily …; six fields: seconds in front")
    add("--timezone", metavar="ZONE", help="whose clocks cron goes by: Europe/Berlin; default UTC")
    add("--every", metavar="T", type=moment, help="so often, from now on: 90s, 5m, 1d")
    add("--at", metavar="T", type=moment, help="once: 2h from now, or an ISO instant")
    templatefiles.arguments(parser, "cron, timezone, every, at, task, dag, missed, overlap, jitter …")
    add("--missed", metavar="WHAT", help="if nobody kept time: one for all (default), skip, all")
    add("--max-missed", metavar="N", type=whole, help="with all: at most the latest N; default 100")
    add("--overlap", metavar="WHAT", help="if the one before has not ended: allow (default), skip, cancel it")
    add("--jitter", metavar="T", type=moment, help="later by up to so long, the same for each tick")
    add("--paused", action="store_true", help="make nothing until it is resumed")
    add("--replace", action="store_true", help="in the place of another one of this name")


def add(args: Namespace) -> int:
    from dibs.cli import templatefiles

    said = templatefiles.options(args, _SAID)
    name = templatefiles.named(args, said)
    with opened(args) as queue:
        schedule = queue.add_schedule(name, **said)
    if args.json:
        print_json(schedule)
    else:
        print(schedule.name)
    return 0


def ls_arguments(_parser: ArgumentParser) -> None:
    """Nothing to say: it shows all of them."""


def ls(args: Namespace) -> int:
    with looked_into(args) as queue:
        found = queue.schedules()
    if args.json:
        print_json(found)
        return 0
    from dibs.cli import templatefiles
    from dibs.cli.commands.look import when
    from dibs.cli.render import Column, hint, print_table
    from dibs.rules.ticks import in_words

    if not found and on_terminal():
        hint("Nothing is scheduled. Every night: dibs schedule add audit --cron '30 2 * * *' --type audit")
        return 0
    instant = when()
    columns = (
        Column("NAME"),
        Column("WHEN", wide=True),
        Column("MAKES"),
        Column("NEXT"),
        Column("MADE", right=True),
        Column("LAST", spare=True, style="bright_black"),
        Column("STATE"),
    )
    print_table(
        columns,
        (
            (
                schedule.name,
                in_words(schedule),
                templatefiles.makes(schedule),
                "" if schedule.paused else instant(schedule.next_at),
                str(schedule.made),
                instant(schedule.last_at),
                _state(schedule),
            )
            for schedule in found
        ),
    )
    return 0


def _state(schedule: Schedule) -> str:
    if schedule.paused:
        return "paused"
    if schedule.error is not None:
        return "failing"
    return "waiting" if schedule.next_at is not None else "over"


def named(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a schedule")


def show(args: Namespace) -> int:
    with looked_into(args) as queue:
        schedule = queue.get_schedule(args.name)
    _show(args, schedule)
    return 0


def _show(args: Namespace, schedule: Schedule) -> None:
    if args.json:
        print_json(schedule)
        return
    from dibs.cli import templatefiles
    from dibs.cli.commands.look import when
    from dibs.cli.render import print_facts
    from dibs.rules.ticks import in_words

    instant = when()
    missed = f"{schedule.missed}, at most {schedule.max_missed}" if schedule.missed == "all" else schedule.missed
    print_facts(
        (
            ("state", _state(schedule)),
            ("when", in_words(schedule)),
            ("next", "" if schedule.paused else instant(schedule.next_at)),
            ("made", str(schedule.made)),
            ("skipped", str(schedule.skipped) if schedule.skipped else ""),
            ("last", instant(schedule.last_at)),
            ("last made", schedule.last_id or ""),
            ("error", schedule.error or ""),
            ("missed ticks", missed),
            ("overlap", schedule.overlap),
            ("jitter", f"{schedule.jitter:g}s" if schedule.jitter else ""),
            ("created", instant(schedule.created_at)),
        )
    )
    templatefiles.print_made(schedule)


def next_arguments(parser: ArgumentParser) -> None:
    named(parser)
    parser.add_argument("--count", metavar="N", type=whole, help="how many; default 5")


def next_runs(args: Namespace) -> int:
    with looked_into(args) as queue:
        runs = queue.next_runs(args.name, **given(args, "count"))
    if args.json:
        print_json(runs)
        return 0
    from dibs.cli.commands.look import when
    from dibs.cli.render import Column, print_table

    instant = when()
    columns = (Column("TICK"), Column("FROM NOW"))
    print_table(columns, ((run.local, instant(run.due_at)) for run in runs))
    return 0


COMMANDS = {
    "schedule add": Command(
        add_arguments,
        add,
        about="Say when (--cron, --every or --at) and what is made: a task (--type or --task) or a dag (--dag). Each"
        " tick makes one, however many servers and workers keep time. {{schedule.tick}} in a title or payload is"
        " its time. Prints the name.",
        example="""
dibs schedule add audit --cron '30 2 * * MON-FRI' --timezone Europe/Berlin --type audit --payload '{"deep": true}'
dibs schedule add digest --every 6h --overlap skip --dag digest.yaml
""",
    ),
    "schedule ls": Command(
        ls_arguments,
        ls,
        about="In a pipe, between tabs: name, when, what it makes, the next tick, how many were made, the last one,"
        " state (waiting, paused, failing, over).",
        example="dibs schedule ls",
    ),
    "schedule show": Command(named, show, example="dibs schedule show audit"),
    "schedule pause": Command(
        named, by_name("pause_schedule"), about="What it has made goes on.", example="dibs schedule pause audit"
    ),
    "schedule resume": Command(
        named,
        by_name("resume_schedule"),
        about="It goes on with the next tick; those that passed meanwhile were not missed.",
        example="dibs schedule resume audit",
    ),
    "schedule rm": Command(
        named, by_name("remove_schedule"), about="What it made stays.", example="dibs schedule rm audit"
    ),
    "schedule next": Command(
        next_arguments,
        next_runs,
        about="In a pipe, between tabs: the tick as the clocks of its time zone show it, and when it is due (later by"
        " its jitter).",
        example="dibs schedule next audit --count 3",
    ),
}
