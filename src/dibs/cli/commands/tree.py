"""`dibs tree`: a dag with the status of each task, once or for as long as one looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.connecting import looked_into
from dibs.cli.drawing import heading, tree
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, moment
from dibs.cli.render import console, line, now, print_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rich.console import RenderableType

    from dibs.model.dag import Dag
    from dibs.sync import SyncQueue

ENDED = ("completed", "failed", "cancelled")


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("id", metavar="DAG", help="a dag, or any task of it")
    add("--watch", action="store_true", default=False, help="keep it live until the dag has ended")
    add("--every", metavar="T", type=moment, default=0.5, help="how often --watch looks; default 0.5s")


def run(args: Namespace) -> int:
    from dibs.rules.validation import duration_s

    every_s = duration_s(args.every, "every", low=0.05, high=3600)
    with looked_into(args) as queue:
        id = args.id if args.id.startswith("dag_") else queue.get(args.id).dag_id
        if args.watch and on_terminal() and not args.json:
            _watch(queue, id, every_s)
            return 0
        dag = queue.get_dag(id)
    if args.json:
        print_json(dag)
    else:
        _print(dag)
    return 0


def _print(dag: Dag) -> None:
    moment = now()
    if not on_terminal():
        for parts in (heading(dag), *tree(dag, moment)):
            print("".join(text for text, _ in parts).rstrip())
        return
    surface = console()
    for parts in (heading(dag, surface.width), *tree(dag, moment, surface.width)):
        surface.print(line(*parts), soft_wrap=True)


def _watch(queue: SyncQueue, id: str, every_s: float) -> None:
    """Draw the dag on a screen of its own until it has ended or the person leaves; its last state stays, whole."""
    from dibs.cli.live import keep_drawing

    last = [queue.get_dag(id)]

    def draw(width: int, height: int) -> tuple[RenderableType, bool]:
        from rich.console import Group

        dag = queue.get_dag(id)
        last[:] = [dag]
        lines = [line(*parts) for parts in (heading(dag, width), *tree(dag, now(), width))]
        hidden = len(lines) - (height - 1)
        foot = f"… {hidden:,} more below  q leaves" if hidden > 0 else "q leaves"
        return Group(*lines[: height - 1], line((foot, "bright_black"))), dag.status in ENDED

    if last[0].status not in ENDED:
        keep_drawing(draw, every_s)
    _print(last[0])
    if last[0].status == "failed":
        print_line(("`dibs why TASK` tells more about a task.", "bright_black"))


COMMANDS = {
    "tree": Command(
        arguments,
        run,
        about="Each task stands once, below the parent that keeps it waiting longest.",
        example="dibs tree dag_01j… --watch",
    )
}
