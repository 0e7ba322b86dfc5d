"""Locks: who has them, who waits for them, how many they let in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli import wording
from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given, whole
from dibs.cli.render import Column, hint, now, print_table

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable
    from datetime import datetime

    from dibs.model.views import Lock

COLUMNS = (
    Column("LOCK", wide=True),
    Column("HELD", right=True),
    Column("WAITING", right=True),
    Column("HELD BY"),
    Column("AGENT", spare=True),
    Column("SINCE", spare=True, style="bright_black"),
)


def locks_arguments(_parser: ArgumentParser) -> None:
    """Nothing to say: it shows all of them."""


def locks(args: Namespace) -> int:
    with looked_into(args) as queue:
        found = queue.locks()
    if args.json:
        print_json(found)
        return 0
    instant = now()
    if found or not on_terminal():
        print_table(COLUMNS, (row for lock in found for row in _rows(lock, instant)))
    else:
        hint("No lock is held or waited for. A task names what it needs: dibs add code --lock repo:myapp")
    return 0


def _rows(lock: Lock, instant: datetime) -> Iterable[tuple[str, ...]]:
    """A line for each holder; the first says everything about the lock."""
    held = f"{len(lock.holders)}/{lock.slots}"
    waiting = str(lock.waiting) if lock.waiting else ""
    kept = f"kept for {lock.reserved_for}" if lock.reserved_for else ""
    if not lock.holders:
        yield (lock.name, held, waiting, kept, "", "")
    for place, holder in enumerate(lock.holders):
        since = wording.relative(holder.since, instant)
        first = (lock.name, held, waiting) if not place else ("", "", "")
        yield (*first, holder.task_id, holder.agent or "", since)


def slots_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="LOCK", nargs="?", help="as tasks name it: repo:myapp")
    parser.add_argument("slots", metavar="N", type=_slots, help="how many tasks may hold it at once")
    parser.add_argument("--type", metavar="T", help="instead of a lock: how many tasks of this type may run; or `any`")


def _slots(text: str) -> int | None:
    """A number; `any`: there is no limit."""
    return None if text == "any" else whole(text)


def slots(args: Namespace) -> int:
    with opened(args) as queue:
        admitted = queue.set_slots(slots=args.slots, **given(args, "name", "type"))
    if args.json:
        print_json(admitted)
    return 0


COMMANDS = {
    "locks": Command(
        locks_arguments,
        locks,
        about="Only those that are held or waited for, or that admit more than one task.",
        example="dibs locks",
    ),
    "slots": Command(
        slots_arguments,
        slots,
        about="""
A lock admits one task unless told otherwise. Whoever holds it keeps it. Of a type any number of tasks runs at once,
unless it is given slots; what runs already counts, and goes on.
""",
        example="""
dibs slots gpu 4
dibs slots --type render 3
dibs slots --type render any
""",
    ),
}
