"""Changing the course of tasks that exist."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dibs.cli.connecting import opened
from dibs.cli.output import print_json
from dibs.cli.parsing import Command, given, moment, number
from dibs.cli.values import read_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def cancel_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a task or a dag")
    parser.add_argument("--reason", metavar="TEXT", help="why, for those who ask later")


def cancel(args: Namespace) -> int:
    with opened(args) as queue:
        ended = queue.cancel(args.id, **given(args, "reason"))
    if args.json:
        print_json(ended)
    else:
        for id in ended:
            print(id)
        if not ended and sys.stderr.isatty():
            print(f"{args.id} had ended before; nothing was cancelled.", file=sys.stderr)
    return 0


def retry_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("id", metavar="ID", help="a dead-lettered or cancelled task")
    add("--payload", metavar="JSON|@file|-", help="try with another payload")
    add("--delay", metavar="T", type=moment, help="not at once: 5m")
    add("--forget-steps", dest="keep_steps", action="store_false", help="run steps again that had finished")


def retry(args: Namespace) -> int:
    options = given(args, "delay", "keep_steps")
    if "payload" in args:
        options["payload"] = read_json(args.payload, "payload")
    with opened(args) as queue:
        task = queue.retry(args.id, **options)
    if args.json:
        print_json(task)
    else:
        print(task.status)
    return 0


def priority_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a task that has not ended")
    parser.add_argument("priority", metavar="N", type=number, help="0 (now) to 100 (whenever)")


def priority(args: Namespace) -> int:
    with opened(args) as queue:
        task = queue.set_priority(args.id, args.priority)
    if args.json:
        print_json(task)
    return 0


def link_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("id", metavar="ID", help="a task that has not started")
    add("--after", metavar="ID", action="append", required=True, help="what it shall wait for; may be repeated")


def link(args: Namespace) -> int:
    with opened(args) as queue:
        task = queue.link(args.id, after=args.after)
    if args.json:
        print_json(task)
    return 0


COMMANDS = {
    "cancel": Command(
        cancel_arguments,
        cancel,
        about="Prints the ids of all it ended; nothing if it had ended before.",
        example='dibs cancel task_01j… --reason "no longer needed"',
    ),
    "retry": Command(
        retry_arguments,
        retry,
        about="What was cancelled because of it comes back too. Prints its new status.",
        example='dibs retry task_01j… --payload \'{"topic": "CORS", "depth": 2}\'',
    ),
    "priority": Command(priority_arguments, priority, example="dibs priority task_01j… 10"),
    "link": Command(link_arguments, link, example="dibs link task_01j… --after task_01k…"),
}
