"""Hooks: who is told when something happens, and how telling them goes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given, listed, moment, whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.model.hook import Delivery, Hook
    from dibs.sync import SyncQueue

WAIT_S = 10.0
PAUSE_S = 0.1


def no_arguments(_parser: ArgumentParser) -> None:
    """Nothing to say: it shows all of them."""


def _name(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the hook")


def _place(parser: ArgumentParser) -> None:
    """Where to tell, and of what."""
    # The option that every command has is already called --url.
    parser.add_argument("to", metavar="URL", help="https://…, or mailto:somebody@example.com")
    parser.add_argument(
        "--on",
        metavar="EVENTS",
        dest="events",
        type=listed,
        help="task.completed,dag.* or *:out_of_memory; default all, for slack and email what needs a person",
    )
    parser.add_argument("--task", metavar="ID", help="only what happens to this task")
    parser.add_argument("--dag", metavar="ID", help="only what happens in this dag")
    parser.add_argument("--agent", metavar="A", help="only what this agent does")
    parser.add_argument("--source", metavar="REF", help="what events say they come from; default /dibs/PROJECT")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="what it is called here")
    _place(parser)
    parser.add_argument("--kind", metavar="K", help="cloudevents (default), slack or email")
    parser.add_argument("--after", metavar="SEQ", type=whole, help="also what happened after this event; default now")


def add(args: Namespace) -> int:
    options = given(args, "kind", "events", "task", "dag", "agent", "source", "after")
    with opened(args) as queue:
        return _told(args, queue.add_hook(args.name, args.to, **options))


def set_arguments(parser: ArgumentParser) -> None:
    _name(parser)
    _place(parser)


def set_(args: Namespace) -> int:
    with opened(args) as queue:
        options = given(args, "events", "task", "dag", "agent", "source")
        return _told(args, queue.set_hook(args.name, args.to, **options))


def ls(args: Namespace) -> int:
    with looked_into(args) as queue:
        found = queue.hooks()
    if args.json:
        print_json(found)
        return 0
    from dibs.cli.render import Column, hint, print_table

    if not found and on_terminal():
        hint("Nobody is told what happens: dibs hook add --help")
        return 0
    columns = (
        Column("NAME"),
        Column("KIND", spare=True),
        Column("STATUS", style="yellow"),
        Column("URL", wide=True),
        Column("EVENTS", wide=True, spare=True),
        Column("SEQ", right=True),
        Column("ERROR", wide=True, spare=True),
    )
    rows = (
        (hook.name, hook.kind, hook.status, hook.url, ",".join(hook.events), str(hook.seq), hook.error or "")
        for hook in found
    )
    print_table(columns, rows)
    return 0


def show(args: Namespace) -> int:
    with looked_into(args) as queue:
        return _told(args, queue.get_hook(args.name))


def rm(args: Namespace) -> int:
    with opened(args) as queue:
        queue.remove_hook(args.name)
    if args.json:
        print_json({"removed": args.name})
    return 0


def pause(args: Namespace) -> int:
    with opened(args) as queue:
        return _told(args, queue.pause_hook(args.name))


def resume(args: Namespace) -> int:
    with opened(args) as queue:
        return _told(args, queue.resume_hook(args.name))


def rotate_arguments(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--overlap", metavar="T", type=moment, help="how long both are used; default 24h")


def rotate(args: Namespace) -> int:
    with opened(args) as queue:
        return _told(args, queue.rotate_hook(args.name, **given(args, "overlap")))


def replay_arguments(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--after", metavar="SEQ", type=whole, required=True, help="the event before the first")


def replay(args: Namespace) -> int:
    with opened(args) as queue:
        return _told(args, queue.replay_hook(args.name, args.after))


def deliveries_arguments(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--limit", metavar="N", type=whole, help="how many at most; default 50")


def deliveries(args: Namespace) -> int:
    with looked_into(args) as queue:
        _show_deliveries(args, queue.deliveries(args.name, **given(args, "limit")))
    return 0


def test_arguments(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--wait", metavar="T", type=moment, help="how long to wait for how it went; default 10s")


def test(args: Namespace) -> int:
    from dibs.rules.validation import duration_s

    patience = duration_s(getattr(args, "wait", WAIT_S), "wait", high=3_600)
    with opened(args) as queue:
        id = queue.test_hook(args.name)
        sent = _sent(queue, args.name, id, patience)
    if sent is None:
        import sys

        print(f"nothing was sent within {patience:g}s: does a server (`dibs up`) run on this store?", file=sys.stderr)
        return 3
    _show_deliveries(args, [sent], alone=True)
    return 0 if sent.outcome == "delivered" else 1


def _sent(queue: SyncQueue, name: str, id: str, patience: float) -> Delivery | None:
    """How a test message went, once it was sent."""
    until = time.monotonic() + patience
    while True:
        for delivery in queue.deliveries(name):
            if delivery.id == id:
                return delivery
        if time.monotonic() >= until:
            return None
        time.sleep(PAUSE_S)


def _told(args: Namespace, hook: Hook) -> int:
    """One hook, a line for each thing there is to know."""
    if args.json:
        print_json(hook)
        return 0
    from dibs.cli.commands.look import when
    from dibs.cli.render import print_facts

    instant = when()
    print_facts(
        (
            ("name", hook.name),
            ("id", hook.id),
            ("kind", hook.kind),
            ("url", hook.url),
            ("events", ",".join(hook.events)),
            *((only, getattr(hook, only) or "") for only in ("task", "dag", "agent", "source")),
            ("status", hook.status),
            ("told up to", str(hook.seq)),
            ("attempts", str(hook.attempts or "")),
            ("failing since", instant(hook.failing_since)),
            ("tried again", instant(hook.next_at)),
            ("error", hook.error or ""),
            ("disabled", instant(hook.disabled_at)),
            ("old secret until", instant(hook.old_secret_until)),
            ("created", instant(hook.created_at)),
            ("secret", hook.secret or ""),
        )
    )
    if hook.secret is not None and on_terminal():
        from dibs.cli.render import hint

        hint("The secret is shown only now. Receivers check signatures with it: docs/webhooks.md")
    return 0


def _show_deliveries(args: Namespace, found: list[Delivery], *, alone: bool = False) -> None:
    if args.json:
        print_json(found[0] if alone else found)
        return
    from dibs.cli.render import Column, hint, print_table

    if not found and on_terminal():
        hint("Nothing was sent yet. `dibs hook test NAME` sends a test message, where `dibs up` runs.")
        return
    columns = (
        Column("AT"),
        Column("SEQ", right=True),
        Column("EVENT"),
        Column("TRY", right=True),
        Column("OUTCOME", style="yellow"),
        Column("CODE", right=True),
        Column("TOOK", right=True, spare=True),
        Column("ID", spare=True),
        Column("ERROR", wide=True),
    )
    rows = (
        (
            each.at.isoformat(timespec="seconds"),
            str(each.seq or ""),
            each.type,
            str(each.attempt),
            each.outcome,
            str(each.code or ""),
            f"{each.took_s:.3f}s",
            each.id,
            each.error or "",
        )
        for each in found
    )
    print_table(columns, rows)


COMMANDS = {
    "hook add": Command(
        add_arguments,
        add,
        about="A server (`dibs up`) sends what happens, each event at least once and in order: as CloudEvents with the"
        " signatures of Standard Webhooks, as a message to a chat like Slack, or as mail. The secret is printed once.",
        example="dibs hook add ci https://ci.example.com/dibs --on task.completed,dag.failed\n"
        "dibs hook add oncall mailto:oncall@example.com --kind email",
    ),
    "hook set": Command(
        set_arguments,
        set_,
        about="What is not given is as for a new one. Its kind and secret stay; what was not delivered goes to the new"
        " place, at once.",
        example="dibs hook set ci https://ci.example.com/v2/dibs --on task.completed",
    ),
    "hook ls": Command(
        no_arguments,
        ls,
        about="In a pipe, between tabs: name, kind, status (active, paused, failing, disabled), URL, events, the number"
        " up to which everything was delivered, the last error.",
        example="dibs hook ls",
    ),
    "hook show": Command(_name, show, example="dibs hook show ci"),
    "hook rm": Command(_name, rm, example="dibs hook rm ci"),
    "hook pause": Command(
        _name, pause, about="What it misses is kept as long as events are.", example="dibs hook pause ci"
    ),
    "hook resume": Command(
        _name,
        resume,
        about="Also one that was disabled because nobody answered for days, or that waits for its next try.",
        example="dibs hook resume ci",
    ),
    "hook rotate": Command(
        rotate_arguments,
        rotate,
        about="For a while requests are signed with both, so that receivers can be changed without a gap.",
        example="dibs hook rotate ci --overlap 1h",
    ),
    "hook deliveries": Command(
        deliveries_arguments,
        deliveries,
        about="In a pipe, between tabs: when, the event's number and type, the how-manieth try, outcome (delivered,"
        " failed, refused), status, how long it took, the message's id, the error.",
        example="dibs hook deliveries ci",
    ),
    "hook replay": Command(
        replay_arguments,
        replay,
        about="Messages keep their ids, so receivers that remember them can tell.",
        example="dibs hook replay ci --after 1200",
    ),
    "hook test": Command(
        test_arguments,
        test,
        about="Exit 0 if it arrived, 1 if it did not, 3 if nobody sent it in time.",
        example="dibs hook test ci",
    ),
}
