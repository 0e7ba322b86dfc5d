"""Whole graphs: submitted from a file in one atomic step, shown, cancelled."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dibs.cli import wording
from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from contextlib import AbstractContextManager

    from dibs.model.dag import Dag

MANY = 500
"""From this many tasks on, a person is told that it may take a moment."""


def submit_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("file", metavar="FILE|-", help="YAML or JSON; - reads standard input")
    add("--title", metavar="TEXT", help="instead of the file's")
    add("--key", metavar="K", help="submitting the same key again answers the existing dag")
    add("--user", metavar="U", help="for whom")
    add("--created-by", metavar="WHO", help="by whom")


def submit(args: Namespace) -> int:
    from dibs.cli.taskfiles import read_dag
    from dibs.errors import Invalid

    title, tasks, options = read_dag(args.file)
    title = given(args, "title").get("title", title)
    if title is None:
        raise Invalid("the dag has no title; add one to the file or pass --title", field="title")
    options.update(given(args, "key", "user", "created_by"))
    with opened(args) as queue, _patience(len(tasks), args.json):
        dag = queue.add_dag(title, tasks, **options)
    if args.json:
        print_json(dag)
    else:
        print(dag.id)
    return 0


def _patience(count: int, as_json: bool) -> AbstractContextManager[Any]:
    """A sign of life beside the output while a large graph is written."""
    if count < MANY or as_json or not sys.stderr.isatty():
        from contextlib import nullcontext

        return nullcontext()
    from dibs.cli.render import console

    return console(stderr=True).status(f"submitting {count:,} tasks …")


def show_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a dag, or any task of it")


def show(args: Namespace) -> int:
    """Also reached as `dibs show dag_…`."""
    with looked_into(args) as queue:
        dag = queue.get_dag(args.id if args.id.startswith("dag_") else queue.get(args.id).dag_id)
    if args.json:
        print_json(dag)
        return 0
    from dibs.cli.commands.look import TASK_COLUMNS, task_row, when
    from dibs.cli.render import print_facts, print_line, print_table

    instant = when()
    print_line((dag.title or dag.id, "bold"))
    counts = ", ".join(f"{count} {status}" for status, count in dag.counts.items() if count)
    print_facts(
        (
            ("status", dag.status),
            ("id", dag.id),
            ("tasks", counts),
            ("on failure", dag.on_failure),
            ("key", dag.key or ""),
            ("user", dag.user or ""),
            ("created by", dag.created_by or ""),
            ("created", instant(dag.created_at)),
            ("started", instant(dag.started_at)),
            ("ended", instant(dag.ended_at)),
            ("critical path", f"{len(dag.critical_path)} tasks" if len(dag.critical_path) > 1 else ""),
            ("cost", "" if dag.cost_usd is None else wording.usd(dag.cost_usd)),
            ("judging it cost", "" if dag.judging_usd is None else wording.usd(dag.judging_usd)),
            ("escalation", _ladder(dag)),
        )
    )
    if on_terminal():
        print()
    print_table(TASK_COLUMNS, (task_row(task, instant) for task in dag.tasks))
    return 0


def _ladder(dag: Dag) -> str:
    """What follows when its tasks keep failing."""
    if not dag.escalation:
        return ""
    from dibs.rules.escalation import in_words

    return ", ".join(f"after {rung.after} failed {in_words(rung)}" for rung in dag.escalation)


def cancel_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a dag")
    parser.add_argument("--reason", metavar="TEXT", help="why, for those who ask later")


def cancel(args: Namespace) -> int:
    from dibs.cli.commands.steer import cancel as cancel_any
    from dibs.errors import Invalid

    if not args.id.startswith("dag_"):
        raise Invalid(f"{args.id!r} is not the id of a dag; `dibs cancel` takes tasks", field="id")
    return cancel_any(args)


COMMANDS = {
    "dag submit": Command(
        submit_arguments,
        submit,
        about="""
The file: title, tasks, and optionally key, on_failure (fail_fast, continue, threshold:3, threshold:20%), escalation
(a list of rungs, as in `dibs escalation set`), user, created_by. Each task: type, and optionally ref, title, payload,
after, after_ended, priority … as in `dibs add`. `after` lists refs of the same file, or ids.

Prints the dag's id.
""",
        example="""
cat > page.yaml <<END
title: Landing page
tasks:
  - {ref: facts, type: research, payload: {topic: competitors}}
  - {ref: design, type: design}
  - {ref: build, type: code, after: [facts, design], timeout: 10m}
END
dibs tree "$(dibs dag submit page.yaml)"
""",
    ),
    "dag show": Command(show_arguments, show, example="dibs dag show dag_01j…"),
    "dag cancel": Command(
        cancel_arguments, cancel, about="Prints the ids of all it ended.", example="dibs dag cancel dag_01j…"
    ),
}
