"""Changing the course of tasks that exist."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dibs.cli import sweeping
from dibs.cli.connecting import opened
from dibs.cli.output import print_json
from dibs.cli.parsing import Command, given, moment, number
from dibs.cli.values import read_json
from dibs.errors import Invalid

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def cancel_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", nargs="?", help="a task or a dag")
    sweeping.arguments(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why, for those who ask later")


def cancel(args: Namespace) -> int:
    if sweeping.wanted(args):
        return sweeping.swept(args, "cancel_found", **given(args, "reason"))
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
    add("id", metavar="ID", nargs="?", help="a dead-lettered or cancelled task")
    sweeping.arguments(parser)
    add("--payload", metavar="JSON|@file|-", help="try with another payload")
    add("--delay", metavar="T", type=moment, help="not at once: 5m")
    add("--forget-steps", dest="keep_steps", action="store_false", help="run steps again that had finished")


def retry(args: Namespace) -> int:
    options = given(args, "delay", "keep_steps")
    if sweeping.wanted(args):
        if "payload" in args:
            raise Invalid("--payload is for one task: give its ID.", field="payload")
        return sweeping.swept(args, "retry_found", **options)
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
    parser.add_argument("id", metavar="ID", nargs="?", help="a task that has not ended")
    parser.add_argument("priority", metavar="N", type=number, help="0 (now) to 100 (whenever)")
    sweeping.arguments(parser)


def priority(args: Namespace) -> int:
    if sweeping.wanted(args):
        return sweeping.swept(args, "set_priority_found", args.priority)
    with opened(args) as queue:
        task = queue.set_priority(args.id, args.priority)
    if args.json:
        print_json(task)
    return 0


def tag_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("id", metavar="ID", nargs="?", help="a task, wherever it is in its life")
    sweeping.arguments(parser)
    add("--add", metavar="T", action="append", help="give it this tag; may be repeated")
    add("--remove", metavar="T", action="append", help="take this tag away; may be repeated")


def tag(args: Namespace) -> int:
    options = given(args, "add", "remove")
    if sweeping.wanted(args):
        return sweeping.swept(args, "tag_found", **options)
    with opened(args) as queue:
        task = queue.tag(args.id, **options)
    if args.json:
        print_json(task)
    else:
        for name in task.tags:
            print(name)
    return 0


def reassign_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a task that nobody holds")
    parser.add_argument("assignee", metavar="AGENT", nargs="?", help="an agent, a type of agents, or !AGENT: any other")
    parser.add_argument("--anybody", action="store_true", default=False, help="it is for whoever can do it")


def reassign(args: Namespace) -> int:
    if args.anybody == ("assignee" in args):
        raise Invalid("say whom it is for: AGENT, or --anybody.", field="assignee")
    with opened(args) as queue:
        task = queue.reassign(args.id, None if args.anybody else args.assignee)
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
        about="Prints the ids of all it ended; nothing if it had ended before. With --query: of those it found.",
        example='dibs cancel task_01j… --reason "no longer needed"\ndibs cancel --query "type:code age>1d" --yes',
    ),
    "retry": Command(
        retry_arguments,
        retry,
        about="What was cancelled because of it comes back too. Prints its new status.",
        example='dibs retry task_01j… --payload \'{"topic": "CORS", "depth": 2}\'',
    ),
    "priority": Command(priority_arguments, priority, example="dibs priority task_01j… 10"),
    "tag": Command(
        tag_arguments,
        tag,
        about="Prints the tags that it has then.",
        example='dibs tag task_01j… --add repo:x\ndibs tag --query "type:code age>1d" --add old --yes',
    ),
    "reassign": Command(
        reassign_arguments,
        reassign,
        about="What is held stays with its agent until that is over.",
        example="dibs reassign task_01j… coder-2\ndibs reassign task_01j… --anybody",
    ),
    "link": Command(link_arguments, link, example="dibs link task_01j… --after task_01k…"),
}
