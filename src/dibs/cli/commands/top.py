"""`dibs top`: counts, lanes, who works on what, and what happened last — live, or one snapshot in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from dibs.cli import wording
from dibs.cli.commands.look import LANE_COLUMNS, NO_TASKS, lane_row, print_stats_rows
from dibs.cli.connecting import opened
from dibs.cli.output import on_terminal, print_json, print_row
from dibs.cli.parsing import Command, moment
from dibs.cli.render import Column, drawn_table, line, now
from dibs.errors import NotFound
from dibs.model.event import Event
from dibs.model.task import Task
from dibs.model.views import Stats

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from rich.console import RenderableType

    from dibs.sync import SyncQueue

HELD = ("claimed", "running")
RUNNING_COLUMNS = (
    Column("RUNNING"),
    Column("AGENT"),
    Column("FOR", right=True),
    Column("DONE", right=True, spare=True),
    Column("TYPE", spare=True),
    Column("TITLE", wide=True),
    Column("NOTE", wide=True, spare=True),
)


class Snapshot(Struct):
    """All that is shown, read together."""

    stats: Stats
    running: list[Task]
    events: list[Event]


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--every", metavar="T", type=moment, default=1.0, help="how often it looks; default 1s")


def run(args: Namespace) -> int:
    from dibs.rules.validation import duration_s

    every_s = duration_s(args.every, "every", low=0.1, high=3600)
    with opened(args) as queue:
        if on_terminal() and not args.json:
            _live(queue, every_s)
            return 0
        seen = look(queue, running=1000, events=10)
    if args.json:
        print_json(seen)
    else:
        _print(seen, now())
    return 0


def look(queue: SyncQueue, *, running: int, events: int) -> Snapshot:
    """Read what is shown: at most so many running tasks and recent events."""
    from dibs.sync import drive

    end = drive(queue.queue.store.last_seq())
    recent = queue.read_events(max(end - events, 0), events)
    return Snapshot(queue.stats(), queue.find(status=HELD, limit=running).items, recent)


def _live(queue: SyncQueue, every_s: float) -> None:
    from dibs.cli.live import keep_drawing
    from dibs.stores import shown

    names: dict[str, str] = {}

    def draw(width: int, height: int) -> tuple[RenderableType, bool]:
        seen = look(queue, running=100, events=50)
        _learn(queue, seen.events, names)
        return draw_snapshot(seen, shown(queue.url), now(), width, height, names), False

    keep_drawing(draw, every_s)


def _learn(queue: SyncQueue, events: Sequence[Event], names: dict[str, str]) -> None:
    """Look up what the tasks of these events are called, each once; names that are no longer shown are forgotten."""
    wanted = {event.task_id for event in events if event.task_id}
    for id in names.keys() - wanted:
        del names[id]
    for id in wanted - names.keys():
        try:
            task = queue.get(id)
        except NotFound:
            names[id] = id
        else:
            names[id] = wording.title_of(task) or task.type


def draw_snapshot(
    seen: Snapshot, url: str, moment: datetime, width: int, height: int, names: Mapping[str, str]
) -> RenderableType:
    """The view, cut to the height of the terminal: counts always, then running, lanes, and events with what is left."""
    from rich.console import Group

    clock = moment.astimezone().strftime("%H:%M:%S")
    parts: list[RenderableType] = [
        line(("dibs top  ", "bold"), (url, "bright_black"), (f"  {clock}  q leaves", "bright_black")),
        _counts(seen.stats.by_status),
        "",
    ]
    left = max(height - 4, 6)
    running = _oldest_first(seen.running)
    shown = running[: max(left // 2 - 2, 2)]
    if shown:
        parts.append(drawn_table(RUNNING_COLUMNS, (_drawn_row(task, moment) for task in shown), width))
    elif any(seen.stats.by_status.values()):
        parts.append(line(("nothing is running", "bright_black")))
    left -= len(shown) + 1
    if len(running) > len(shown):
        parts.append(line((f"… {len(running) - len(shown)} more", "bright_black")))
        left -= 1
    lanes = sorted(seen.stats.lanes, key=lambda lane: -lane.ready)[: max(left // 2 - 2, 1)]
    if lanes:
        rows = (lane_row(lane, lambda at: wording.relative(at, moment)) for lane in lanes)
        parts += ["", drawn_table(LANE_COLUMNS, rows, width)]
        left -= len(lanes) + 2
    recent = seen.events[-max(left - 2, 0) :] if left > 2 else []
    if recent:
        parts.append("")
        room = min(max((width - 31) // 2, 16), 40)
        parts.extend(_event_line(event, moment, names, room) for event in recent)
    return Group(*parts)


def _counts(by_status: dict[str, int]) -> RenderableType:
    counted = [(status, count) for status, count in by_status.items() if count]
    if not counted:
        return line((NO_TASKS, "bright_black"))
    from rich.columns import Columns

    return Columns(
        [
            line((f"{wording.SIGNS.get(status, '')} {count:,} {status}", wording.STYLES.get(status, "")))
            for status, count in counted
        ],
        padding=(0, 3),
    )


def _event_line(event: Event, moment: datetime, names: Mapping[str, str], room: int) -> RenderableType:
    from rich.cells import set_cell_size

    status = event.type.partition(".")[2]
    name = wording.brief(names.get(event.task_id or "", event.task_id or event.dag_id or ""), room)
    drawn = line(
        (f"{wording.relative(event.at, moment):>8}  ", "bright_black"),
        (f"{event.type:<19}  ", wording.STYLES.get(status, "")),
        (set_cell_size(name, room), ""),
        (f"  {wording.about_event(event)}", "bright_black"),
    )
    drawn.no_wrap, drawn.overflow = True, "ellipsis"
    return drawn


def _oldest_first(tasks: Sequence[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: (task.claimed_at is None, task.claimed_at, task.id))


def _drawn_row(task: Task, moment: datetime) -> tuple[str, ...]:
    """A held task as the cells of RUNNING_COLUMNS."""
    return (
        task.id,
        task.agent or "",
        wording.elapsed(task, moment),
        wording.percent(task.progress),
        task.type,
        wording.title_of(task),
        task.note or "",
    )


def _running_row(task: Task, moment: datetime) -> tuple[str, ...]:
    """The same for programs."""
    return (
        task.id,
        task.type,
        task.agent or "",
        wording.elapsed(task, moment),
        wording.percent(task.progress),
        task.note or task.title or "",
    )


def _print(seen: Snapshot, moment: datetime) -> None:
    """One snapshot, a record per line: what it is, then its cells."""
    print_stats_rows(seen.stats)
    for task in _oldest_first(seen.running):
        print_row(("running", *_running_row(task, moment)))
    for event in seen.events:
        subject = event.task_id or event.dag_id or ""
        about = wording.about_event(event, None)
        print_row(("event", event.seq, wording.absolute(event.at), event.type, subject, about))


COMMANDS = {
    "top": Command(arguments, run, about="q or Ctrl-C leaves. In a pipe: one snapshot.", example="dibs top --every 2s")
}
