"""Triggers: tasks and dags that are made when something happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.byname import by_name
from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given, moment, number, whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.model.trigger import Trigger

_SAID = (
    *("on", "where", "rate", "max_depth", "paused", "scheme", "secret", "events", "failure_rate", "cost", "window"),
    *("least", "cool_down", "paths", "replace"),
)


def add_arguments(parser: ArgumentParser) -> None:
    from dibs.cli import templatefiles

    add = parser.add_argument
    add("name", metavar="NAME", nargs="?", help="what it is called; default: what the file says")
    add("--on", metavar="WHAT", help="webhook, event, friction or files; told by the options below, if they do")
    add("--event", metavar="TYPE", dest="events", action="append", help="task.dead_lettered, dag.completed, task.* …")
    add("--webhook", metavar="SCHEME", dest="scheme", help="POST /in/NAME, signed: github, slack or standard")
    add("--secret", metavar="TEXT|@file", action="append", help="what it is signed with; one is drawn if left out")
    add("--friction", metavar="TYPE", dest="of_type", help="when tasks of this type fail or cost too much")
    add("--failure-rate", metavar="X", type=number, help="so many of those that ended failed: 0.4")
    add("--cost", metavar="USD", type=number, help="they cost so much")
    add("--window", metavar="T", type=moment, help="in the last: 6h; default 1d")
    add("--least", metavar="N", type=whole, help="once so many have ended; default 10")
    add("--cool-down", metavar="T", type=moment, help="not again before; default: the window")
    add("--path", metavar="PATH", dest="paths", action="append", help="/srv/docs/**/*.md; may be repeated")
    add("--where", metavar="PATH=VALUE", action="append", help="event.data.ref=main; * stands for anything")
    templatefiles.arguments(parser, "on, events, where, task, dag, rate …")
    add("--rate", metavar="RATE", help="no more than: 60/min (default)")
    add("--max-depth", metavar="N", type=whole, help="so many triggers may lie one behind the other; default 3")
    add("--paused", action="store_true", help="make nothing until it is resumed")
    add("--replace", action="store_true", help="in the place of another one of this name")


def add(args: Namespace) -> int:
    from dibs.cli import templatefiles
    from dibs.errors import Invalid

    if isinstance(given(args, "where").get("where"), list):
        args.where = _where(args.where)
    if isinstance(given(args, "secret").get("secret"), list):
        args.secret = [_secret(each) for each in args.secret]
    said = templatefiles.options(args, _SAID, written=("type",))
    name = templatefiles.named(args, said)
    if "of_type" in args:
        said["type"] = args.of_type
    signs = {"events": "event", "scheme": "webhook", "type": "friction", "paths": "files"}
    on = said.pop("on", None) or next((kind for part, kind in signs.items() if said.get(part)), None)
    if on is None:
        raise Invalid("say what it waits for: --event, --webhook, --friction or --path", field="on")
    with opened(args) as queue:
        trigger = queue.add_trigger(name, on, **said)
    if args.json:
        print_json(trigger)
        return 0
    print(trigger.name)
    if trigger.secrets and "secret" not in said:
        import sys

        print(f"its secret, which is not shown again: {trigger.secrets[0]}", file=sys.stderr)
    return 0


def _where(written: list[str]) -> dict[str, object]:
    """`PATH=VALUE`: a JSON value if it is one, else text."""
    from msgspec import DecodeError, json

    from dibs.errors import Invalid

    read: dict[str, object] = {}
    for each in written:
        path, equals, value = each.partition("=")
        if not equals:
            raise Invalid(f"where is PATH=VALUE, not {each!r:.80}", field="where")
        try:
            read[path] = json.decode(value.encode("utf-8", "surrogateescape"))
        except (DecodeError, RecursionError):
            read[path] = value
    return read


def _secret(written: str) -> str:
    from dibs.cli.values import read_source

    return read_source(written, "secret").decode("utf-8", "surrogateescape").strip()


def ls_arguments(_parser: ArgumentParser) -> None:
    """Nothing to say: it shows all of them."""


def ls(args: Namespace) -> int:
    with looked_into(args) as queue:
        found = queue.triggers()
    if args.json:
        print_json(found)
        return 0
    from dibs.cli import templatefiles
    from dibs.cli.commands.look import when
    from dibs.cli.render import Column, hint, print_table
    from dibs.rules.triggers import in_words

    if not found and on_terminal():
        hint(
            "There are no triggers. Look into dead letters: dibs trigger add fix --event task.dead_lettered --type fix"
        )
        return 0
    instant = when()
    columns = (
        Column("NAME"),
        Column("WHEN", wide=True),
        Column("MAKES"),
        Column("MADE", right=True),
        Column("DROPPED", right=True, spare=True),
        Column("LAST", spare=True, style="bright_black"),
        Column("STATE"),
    )
    print_table(
        columns,
        (
            (
                trigger.name,
                in_words(trigger),
                templatefiles.makes(trigger),
                str(trigger.made),
                str(trigger.dropped) if trigger.dropped else "",
                instant(trigger.last_at),
                _state(trigger),
            )
            for trigger in found
        ),
    )
    return 0


def _state(trigger: Trigger) -> str:
    if trigger.paused:
        return "paused"
    return "waiting" if trigger.error is None else "failing"


def named(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a trigger")


def show(args: Namespace) -> int:
    with looked_into(args) as queue:
        trigger = queue.get_trigger(args.name)
    if args.json:
        print_json(trigger)
        return 0
    from dibs.cli import templatefiles, wording
    from dibs.cli.commands.look import when
    from dibs.cli.render import print_facts
    from dibs.rules.triggers import in_words

    instant = when()
    print_facts(
        (
            ("state", _state(trigger)),
            ("when", in_words(trigger)),
            *((path, wording.brief(wanted)) for path, wanted in trigger.where.items()),
            ("made", str(trigger.made)),
            ("dropped", str(trigger.dropped) if trigger.dropped else ""),
            ("last", instant(trigger.last_at)),
            ("last made", trigger.last_id or ""),
            ("error", trigger.error or ""),
            ("cools until", instant(trigger.cools_until)),
            ("at most", trigger.rate),
            ("depth", str(trigger.max_depth)),
            ("created", instant(trigger.created_at)),
        )
    )
    templatefiles.print_made(trigger)
    return 0


def test_arguments(parser: ArgumentParser) -> None:
    named(parser)
    parser.add_argument("event", metavar="JSON|@file|-", help='what happened: {"type": "push", "data": {…}}')


def test(args: Namespace) -> int:
    from dibs.cli.values import read_json

    event = read_json(args.event, "event")
    with looked_into(args) as queue:
        tried = queue.preview_trigger(args.name, event)
    if args.json:
        print_json(tried)
    elif tried.fits:
        print_json(tried.task or tried.dag)
    else:
        from dibs.cli.render import hint

        hint("it does not fit: nothing would be made", always=True)
    return 0 if tried.fits else 3


COMMANDS = {
    "trigger add": Command(
        add_arguments,
        add,
        about="Say what it waits for and what is made: a task (--type or --task) or a dag (--dag). In a title, payload"
        " or tag, {{event.data.x}} is filled in from what happened. Prints the name; a secret that was drawn is told"
        " beside it, once. Webhooks come in, and files are looked at, where `dibs up` runs.",
        example="""
dibs trigger add repair --event task.dead_lettered --type fix --payload '{"of": "{{event.task.id}}"}'
dibs trigger add review --webhook github --secret @secret.txt --where event.type=pull_request --dag review.yaml
dibs trigger add refactor --friction auth --failure-rate 0.4 --window 1d --type refactor
dibs trigger add reread --path '/srv/docs/**/*.md' --type index --payload '{"path": "{{event.data.path}}"}'
""",
    ),
    "trigger ls": Command(
        ls_arguments,
        ls,
        about="In a pipe, between tabs: name, what it waits for, what it makes, how many were made, how many dropped,"
        " the last one, state (waiting, paused, failing).",
        example="dibs trigger ls",
    ),
    "trigger show": Command(named, show, example="dibs trigger show repair"),
    "trigger pause": Command(
        named, by_name("pause_trigger"), about="Webhooks are refused meanwhile.", example="dibs trigger pause repair"
    ),
    "trigger resume": Command(
        named,
        by_name("resume_trigger"),
        about="What happened meanwhile is not made up for.",
        example="dibs trigger resume repair",
    ),
    "trigger rm": Command(
        named, by_name("remove_trigger"), about="What it made stays.", example="dibs trigger rm repair"
    ),
    "trigger test": Command(
        test_arguments,
        test,
        about="Prints the task or dag as it would be made, and makes nothing. Exit code 3: the event does not fit.",
        example="""dibs trigger test review '{"type": "pull_request", "data": {"number": 7}}'""",
    ),
}
