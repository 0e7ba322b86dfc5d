"""Commands about all tasks that a query finds: without `--yes` they only say which those are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dibs.cli.connecting import opened
from dibs.cli.output import print_json
from dibs.cli.parsing import given
from dibs.errors import Conflict, Invalid

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

SHOWN = 5


def arguments(parser: ArgumentParser) -> None:
    """The options of a command that takes an ID or a query."""
    parser.add_argument("--query", metavar="Q", help="all that this finds, instead of one; see `dibs ls`")
    parser.add_argument("--yes", action="store_true", help="do it; without this, only say what is found")


def wanted(args: Namespace) -> bool:
    """Whether a query was given, in the place of an ID."""
    if ("query" in args) == ("id" in args and args.id is not None):
        raise Invalid("Give either an ID or --query.", field="query" if "query" in args else "id")
    return "query" in args


def swept(args: Namespace, verb: str, *values: Any, **options: Any) -> int:
    """Do this to all that is found, a stretch at a time; or say how many that are, and which come first."""
    with opened(args) as queue:
        if not given(args, "yes"):
            return _previewed(queue, args)
        from dibs.model.found import Handled

        total, cursor = Handled(), None
        while True:
            part = getattr(queue, verb)(args.query, *values, cursor=cursor, **options)
            total.done += part.done
            total.left += part.left
            total.refused += part.refused
            if not args.json:
                for id in part.done:
                    print(id)
            cursor = part.cursor
            if cursor is None:
                break
    if args.json:
        print_json(total)
    else:
        for refused in total.refused:
            print(f"{refused.task_id}: {refused.message}", file=sys.stderr)
    return Conflict.exit_code if total.refused and not total.done else 0


def _previewed(queue: Any, args: Namespace) -> int:
    count = queue.count(args.query)
    page = queue.find(query=args.query, limit=SHOWN)
    if args.json:
        print_json({"count": count.count, "more": count.more, "newest": [task.id for task in page.items]})
        return 0
    for task in page.items:
        print(f"{task.id}  {task.status}  {task.type}  {task.title or ''}".rstrip())
    many = f"{count.count:,}{'+' if count.more else ''} {'task' if count.count == 1 else 'tasks'}"
    print(f"{many} found; nothing was changed: add --yes to do it.", file=sys.stderr)
    return 0
