"""How the demo looks: a live picture on a terminal, one line per happening in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.constrain import Constrain
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dibs.demo.landing_page import TITLE
from dibs.demo.look import SIGNS, STYLES, console, on_terminal
from dibs.demo.scene import Happening, Scene, rows

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import RenderableType

    from dibs.demo.fleet import Member
    from dibs.model.task import Task

MIN_WIDTH, MIN_HEIGHT = 78, 24
MAX_WIDTH = 120
"""Wider, and a task would stand too far from its status."""
ROOMY = 92
"""From this many columns on the tree is drawn at its ease."""
GRAPH_LINES = 14 + 2
SUMMARY_LINES = 15
STORY_LINES = (6, 7, 16)
"""How many happenings are shown: on 24 lines, on more, and at most."""
_FAINT = "bright_black"


def view_for_this_terminal() -> View:
    """A picture where there is room for one, else lines."""
    surface = console()
    if on_terminal() and surface.width >= MIN_WIDTH and surface.height >= MIN_HEIGHT:
        return Picture(surface)
    return Lines(surface)


class View:
    """Where the demo is shown. Used in a `with` statement; this one shows nothing, for `--json`."""

    def __enter__(self) -> View:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the screen as people expect to find it."""

    def show(self, scene: Scene) -> None:
        """Show how things are now."""


class Lines(View):
    """One line for each happening, as it happens."""

    def __init__(self, surface: Console) -> None:
        self._surface = surface
        self._told = 0

    def show(self, scene: Scene) -> None:
        for happening in scene.story[self._told :]:
            self._surface.print(_story_line(happening), soft_wrap=True)
        self._told = len(scene.story)


class Picture(View):
    """The graph, the agents and the last happenings, drawn again several times a second."""

    def __init__(self, surface: Console) -> None:
        self._surface = surface
        self._live = Live(console=surface, auto_refresh=False, vertical_overflow="crop")

    def __enter__(self) -> View:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def show(self, scene: Scene) -> None:
        self._live.update(picture(scene, self._surface.width, self._surface.height), refresh=True)


def picture(scene: Scene, width: int, height: int) -> RenderableType:
    """One moment of the demo, for a terminal of this size."""
    lines = _story_lines(height)
    below = Table.grid(expand=True, padding=(0, 1, 0, 0))
    below.add_column(ratio=5)
    below.add_column(ratio=8)
    roomy = width >= ROOMY
    agents, story = _agents(scene, lines, roomy=roomy), _story(scene, lines)
    below.add_row(
        Panel(agents, title="agents: real processes", title_align="left", border_style=_FAINT, height=lines + 2),
        Panel(story, title="what happens", title_align="left", border_style=_FAINT, height=lines + 2),
    )
    done = sum(task.status == "completed" for task in scene.dag.tasks)
    state = Text(f"{done}/{len(scene.dag.tasks)} done · {scene.elapsed_s:.1f}s", style=_FAINT)
    graph = Panel(
        _graph(scene, roomy=roomy),
        title=Text(f"dibs demo · {TITLE}", style="bold"),
        title_align="left",
        subtitle=state,
        subtitle_align="right",
        border_style=_FAINT,
    )
    return Constrain(Group(graph, below), MAX_WIDTH)


def _story_lines(height: int) -> int:
    """As many as leave room for the picture now and, on a tall terminal, for the summary below it."""
    least, usual, most = STORY_LINES
    if height < GRAPH_LINES + usual + 2:
        return least
    return min(max(height - GRAPH_LINES - 2 - SUMMARY_LINES, usual), most)


def _graph(scene: Scene, *, roomy: bool) -> Table:
    table = Table.grid(expand=True, padding=(0, 1, 0, 0))
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    bar = 8 if roomy else 6
    for size in (12, bar, 8, 18 if roomy else 10):
        table.add_column(width=size, no_wrap=True, overflow="ellipsis")
    for row in rows(scene.dag):
        # A level is three columns wide; where room is short the middle one, a dash or a space, is left out.
        bars = row.bars if roomy else "".join(row.bars[at] + " " for at in range(0, len(row.bars), 3))
        table.add_row(*_cells(row.task, bars, bar))
    return table


def _cells(task: Task, bars: str, bar: int) -> tuple[Text, Text, Text, Text, Text]:
    style = STYLES[task.status]
    quiet = _FAINT if task.status == "pending" else ""
    tree = Text(bars, style=_FAINT).append(f"{SIGNS[task.status]} ", style=style)
    tree.append(task.title or task.type, style=quiet)
    # The waiting parent of a child is pending like one that never began; say the difference.
    status = "on its child" if task.status == "pending" and task.fence else task.status.value
    return (
        tree,
        Text(status, style="magenta" if status == "on its child" else style),
        _bar(task, bar),
        Text(task.agent or "", style="" if task.status == "running" else _FAINT),
        _tries(task),
    )


def _bar(task: Task, length: int) -> Text:
    """How much is done; also told by the strength of the line, for those who see no colours."""
    if task.status == "running":
        filled = round(length * (task.progress or 0))
        return Text("━" * filled, style="yellow").append("─" * (length - filled), style=_FAINT)
    return Text("━" * length, style="green") if task.status == "completed" else Text()


def _tries(task: Task) -> Text:
    said = Text()
    failed = task.attempts - task.crashes - (task.status == "completed")
    if task.crashes:
        said.append("1 crash" if task.crashes == 1 else f"{task.crashes} crashes", style="red")
    if failed > 0:
        said.append(", " if said else "").append(
            "1 failure" if failed == 1 else f"{failed} failures", style="dark_orange3"
        )
    return said


def _agents(scene: Scene, lines: int, *, roomy: bool) -> Table:
    table = Table.grid(expand=True, padding=(0, 1, 0, 0))
    table.add_column(width=9, no_wrap=True)
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    doing = {task.agent: task for task in scene.dag.tasks if task.status == "running"}
    members = list(scene.fleet.members.values())
    if len(members) > lines:
        # The dead have been replaced by now.
        members = [member for member in members if not member.killed]
    for member in members:
        task = doing.get(member.name)
        table.add_row(*_agent(member, task, "can: " if roomy else ""))
    return table


def _agent(member: Member, task: Task | None, can: str) -> tuple[Text, Text]:
    if member.killed:
        return Text(f"✗ {member.name}", style="red"), Text(f"kill -9, pid {member.pid}", style="red")
    if task is None:
        return Text(f"○ {member.name}", style=_FAINT), Text(f"{can}{member.can}", style=_FAINT)
    return Text(f"● {member.name}", style="yellow"), Text(task.note or task.title or "")


def _story(scene: Scene, lines: int) -> Text:
    told = Text("\n").join(_story_line(each) for each in scene.story[-lines:])
    told.no_wrap, told.overflow = True, "ellipsis"
    return told


def _story_line(happening: Happening) -> Text:
    at = f"{max(happening.at_s, 0):4.1f}s  "
    return Text(at, style=_FAINT).append(happening.text, style=happening.style)
