"""Watching time pass: `tail` prints events, `wait` returns when something has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.cli import wording
from dibs.cli.connecting import opened
from dibs.cli.output import on_terminal, print_json, print_json_line, print_row
from dibs.cli.parsing import Command, given, moment, whole
from dibs.cli.piping import while_read
from dibs.cli.render import console, hint, line
from dibs.errors import DibsError, Invalid

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from rich.console import Console

    from dibs.model.event import Event
    from dibs.sync import SyncQueue

SHOWN_AT_FIRST = 20
ROOMY = 66
"""Columns of a terminal in which an event's type and its task stand below those of others."""


class TimedOut(DibsError):
    """What was waited for has not ended yet."""

    code = "timeout"
    exit_code = 3


def tail_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--after", metavar="SEQ", type=whole, help="events after this one; 0: from the oldest kept")
    add("--no-follow", dest="follow", action="store_false", default=True, help="stop when all are printed")
    add("--type", metavar="T", dest="types", action="append", help="task.completed, or dag for all of dag.*; repeat")


def tail(args: Namespace) -> int:
    after = given(args, "after").get("after")
    if after is not None and after < 0:
        raise Invalid("after must be 0 or more", field="after")
    types = tuple(given(args, "types").get("types", ()))
    with opened(args) as queue, while_read():
        if after is None:
            after = _end(queue) - SHOWN_AT_FIRST if args.follow and on_terminal() else 0
        surface = console() if on_terminal() and not args.json else None
        if surface is not None and _end(queue) == 0:
            hint("No events yet." + (" Waiting for them; Ctrl-C leaves." if args.follow else ""))
        for event in _events(queue, max(after, 0), follow=args.follow):
            if not types or any(event.type == one or event.type.startswith(f"{one}.") for one in types):
                _print_event(event, surface, as_json=args.json)
    return 0


def _end(queue: SyncQueue) -> int:
    from dibs.sync import drive

    return drive(queue.queue.store.last_seq())


def _events(queue: SyncQueue, after: int, *, follow: bool) -> Iterator[Event]:
    if follow:
        yield from queue.events(after)
        return
    end = _end(queue)
    while after < end:
        batch = queue.read_events(after)
        if not batch:
            return
        yield from batch
        after = batch[-1].seq


def _print_event(event: Event, surface: Console | None, *, as_json: bool) -> None:
    if as_json:
        print_json_line(event)
        return
    about = wording.about_event(event, None if surface is None else 60)
    subject = event.task_id or event.dag_id or str(event.data.get("gate") or event.data.get("type") or "")
    if surface is None:
        print_row((event.seq, wording.absolute(event.at), event.type, subject, about))
        _flush()
        return
    status = event.type.partition(".")[2]
    style = wording.STYLES.get(status, "")
    clock = event.at.astimezone().strftime("%H:%M:%S")
    # Where the columns do not fit, the id is worth more than they are: it is what one copies.
    gap, wide = ("  ", 19) if surface.width >= ROOMY else (" ", 0)
    surface.print(
        line(
            (f"{clock}{gap}", "bright_black"),
            (f"{event.type:<{wide}}{gap}", style),
            (subject, ""),
            (f"  {about}", "bright_black"),
        ),
        no_wrap=True,
        overflow="ellipsis",
    )


def _flush() -> None:
    import sys

    sys.stdout.flush()


def wait_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a task or a dag")
    parser.add_argument("--timeout", metavar="T", type=moment, help="give up after this long: exit code 3")


def wait(args: Namespace) -> int:
    timeout = given(args, "timeout").get("timeout")
    with opened(args) as queue:
        try:
            if args.id.startswith("dag_") and on_terminal() and not args.json:
                ended = _wait_with_a_bar(queue, args.id, timeout)
            else:
                ended = queue.wait(args.id, timeout)
        except TimeoutError as error:
            more = "tree" if args.id.startswith("dag_") else "why"
            raise TimedOut(f"{error}; `dibs {more} {args.id}` tells more") from None
    if args.json:
        print_json(ended)
    else:
        print(ended.status)
    return 0


def _wait_with_a_bar(queue: SyncQueue, id: str, timeout: float | str | None) -> Any:
    """Wait for a dag in small steps, with a bar of what has ended so far."""
    import time

    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from dibs.rules.validation import duration_s

    deadline = None if timeout is None else time.monotonic() + duration_s(timeout, "timeout")
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(), transient=True) as progress:
        bar = progress.add_task("")
        while True:
            dag = queue.get_dag(id)
            total = len(dag.tasks)
            ended = sum(dag.counts.get(status, 0) for status in ("completed", "dead_lettered", "cancelled"))
            name = wording.brief(dag.title or dag.id, 40)
            progress.update(bar, description=name, total=total, completed=ended)
            left = 0.25 if deadline is None else min(0.25, deadline - time.monotonic())
            try:
                return queue.wait(id, max(left, 0))
            except TimeoutError:
                if deadline is not None and time.monotonic() >= deadline:
                    raise


COMMANDS = {
    "tail": Command(
        tail_arguments,
        tail,
        about=(
            f"On a terminal it begins with the last {SHOWN_AT_FIRST}; in a pipe with the oldest kept: "
            "seq, instant, type, task, about, with tabs between."
        ),
        example="dibs tail --type task.completed --json | jq .task_id",
    ),
    "wait": Command(
        wait_arguments,
        wait,
        about="Prints the final status. Exit code 3 when it has not ended in time.",
        example="dibs wait task_01j… --timeout 5m && dibs show task_01j…",
    ),
}
