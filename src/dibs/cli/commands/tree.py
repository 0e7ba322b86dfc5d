"""`dibs tree`: a dag with the state of each task, once or for as long as one looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.connecting import opened
from dibs.cli.drawing import heading, tree
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, moment
from dibs.cli.render import console, line, now, print_line

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rich.console import RenderableType

    from dibs.model.dag import Dag
    from dibs.sync import SyncQueue


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("id", metavar="DAG", help="a dag, or any task of it")
    add("--watch", action="store_true", default=False, help="keep it live until the dag has ended")
    add("--every", metavar="T", type=moment, default=0.5, help="how often --watch looks; default 0.5s")


def run(args: Namespace) -> int:
    with opened(args) as queue:
        id = args.id if args.id.startswith("dag_") else queue.get(args.id).dag_id
        if args.watch and on_terminal() and not args.json:
            _watch(queue, id, args.every)
            return 0
        dag = queue.get_dag(id)
    if args.json:
        print_json(dag)
    else:
        _print(dag)
    return 0


def _print(dag: Dag) -> None:
    moment = now()
    lines = [heading(dag), *tree(dag, moment, 40 if on_terminal() else None)]
    if not on_terminal():
        for parts in lines:
            print("".join(text for text, _ in parts).rstrip())
        return
    surface = console()
    for parts in lines:
        surface.print(line(*parts), soft_wrap=True)


def _watch(queue: SyncQueue, id: str, every: float | str) -> None:
    from dibs.cli.live import keep_drawing
    from dibs.rules.validation import duration_s

    final: list[Dag] = []

    def draw(_: int, height: int) -> tuple[RenderableType, bool]:
        from rich.console import Group

        dag = queue.get_dag(id)
        over = dag.status in ("completed", "failed", "cancelled")
        final[:] = [dag]
        lines = [line(*parts) for parts in (heading(dag), *tree(dag, now()))]
        for drawn in lines:
            drawn.no_wrap, drawn.overflow = True, "ellipsis"
        if len(lines) > height - 1:
            hidden = len(lines) - (height - 2)
            lines = [*lines[: height - 2], line((f"… {hidden:,} more lines: a taller terminal, or no --watch", ""))]
        return Group(*lines), over

    keep_drawing(draw, duration_s(every, "every", low=0.05, high=3600), screen=False)
    if final and final[0].status == "failed":
        print_line(("`dibs why TASK` tells more about a task.", "bright_black"))


COMMANDS = {
    "tree": Command(
        arguments,
        run,
        about="Each task stands once, below the parent that keeps it waiting longest.",
        example="dibs tree dag_01j… --watch",
    )
}
