"""Dead letters: tasks that ran out of attempts wait here until somebody decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli import wording
from dibs.cli.connecting import looked_into
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given, moment, whole
from dibs.errors import Conflict, IllegalTransition, Invalid

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.model.task import Task
    from dibs.sync import SyncQueue


def ls_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--type", metavar="T", help="only this type")
    add("--dag", metavar="D", help="only the tasks of this dag")
    add("--limit", metavar="N", type=whole, help="default 50")
    add("--cursor", metavar="C", help="where the previous page ended")


def ls(args: Namespace) -> int:
    from dibs.cli.commands.look import when
    from dibs.cli.render import Column, hint, print_table

    with looked_into(args) as queue:
        page = queue.find(status="dead_lettered", **given(args, "type", "dag", "limit", "cursor"))
    if args.json:
        print_json(page)
        return 0
    instant = when()
    columns = (
        Column("ID"),
        Column("TYPE"),
        Column("TITLE", spare=True),
        Column("ATTEMPTS", right=True, spare=True),
        Column("DIED", spare=True, style="bright_black"),
        Column("REASON", spare=True, style="red"),
        Column("ERROR", wide=True),
    )
    if page.items or not on_terminal():
        print_table(
            columns,
            (
                (
                    task.id,
                    task.type,
                    wording.brief(task.title, 30) if on_terminal() else task.title or "",
                    f"{task.attempts}/{task.max_attempts}",
                    instant(task.dead_lettered_at),
                    task.reason or "",
                    wording.first_line(task.error, 500 if on_terminal() else None),
                )
                for task in page.items
            ),
        )
    else:
        hint("There are no dead letters.")
    if page.cursor:
        hint(f"There are more: add --cursor {page.cursor}", always=True)
    return 0


def retry_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("ids", metavar="ID", nargs="*", default=[], help="dead-lettered tasks")
    add("--all", action="store_true", default=False, help="every one of them (see --type)")
    add("--type", metavar="T", help="with --all: only this type")
    add("--delay", metavar="T", type=moment, help="not at once: 5m")


def retry(args: Namespace) -> int:
    if bool(args.ids) == args.all:
        raise Invalid("name the ids of the tasks to retry (`dibs dlq ls` shows them), or pass --all", field="ids")
    from dibs.cli.render import hint

    if "type" in args and not args.all:
        raise Invalid("--type goes with --all", field="type")
    revived: list[Task] = []
    refused: Conflict | None = None
    with looked_into(args) as queue:
        for id in _all_ids(queue, **given(args, "type")) if args.all else args.ids:
            task = queue.get(id)
            try:
                if task.status != "dead_lettered":
                    raise IllegalTransition(f"{id} is {task.status}, not dead-lettered; `dibs retry` may help")
                revived.append(queue.retry(id, **given(args, "delay")))
            except Conflict as error:
                # The others shall live again all the same; the first refusal is told in the end.
                refused = refused or error
    if args.json:
        print_json(revived)
    else:
        for task in revived:
            print(task.id)
        if args.all and not revived and refused is None:
            hint("There are no dead letters.")
    if refused is not None:
        raise refused
    return 0


def _all_ids(queue: SyncQueue, **wanted: str) -> list[str]:
    """Every dead letter, oldest first: a task can only live again after the ones it depends on."""
    ids: list[str] = []
    cursor = None
    while True:
        page = queue.find(status="dead_lettered", limit=1000, cursor=cursor, **wanted)
        ids += [task.id for task in page.items]
        cursor = page.cursor
        if cursor is None:
            return ids[::-1]


COMMANDS = {
    "dlq ls": Command(
        ls_arguments,
        ls,
        about="In a pipe, between tabs: id, type, title, attempts, died, reason, error.",
        example="dibs dlq ls --type research",
    ),
    "dlq retry": Command(
        retry_arguments,
        retry,
        about="Prints the ids of the tasks that live again.",
        example="dibs dlq retry --all --type research --delay 1m",
    ),
}
