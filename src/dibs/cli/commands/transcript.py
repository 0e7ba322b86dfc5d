"""What an agent says while it works, and all that it said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.connecting import opened
from dibs.cli.output import clean, print_json_line
from dibs.cli.parsing import Command, given, whole
from dibs.cli.piping import while_read

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.model.task import Task
    from dibs.sync import SyncQueue

LOOK_S = 0.5


def transcript_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("id", metavar="ID", help="a task")
    add("--follow", action="store_true", help="go on until the task has ended")
    add("--raw", action="store_true", help="all that the program wrote, as it wrote it, once the attempt has ended")
    add("--fence", metavar="N", type=whole, help="with --raw: of which claim; default: the last one that has any")


def transcript(args: Namespace) -> int:
    from dibs.errors import Invalid

    if "fence" in args and "raw" not in args:
        raise Invalid("--fence chooses among transcripts; add --raw.", field="fence")
    if "raw" in args and "follow" in args:
        raise Invalid("--raw is of an attempt that has ended; leave --follow out.", field="follow")
    with opened(args) as queue, while_read():
        task = queue.get(args.id)
        if "raw" in args:
            return _raw(queue, task, given(args, "fence").get("fence"))
        return _follow(queue, task, follow="follow" in args, as_json=args.json)


def _raw(queue: SyncQueue, task: Task, fence: int | None) -> int:
    import sys

    from dibs.errors import NotFound

    kept = {artifact.name: artifact for artifact in task.artifacts}
    fences = range(task.fence, 0, -1) if fence is None else (fence,)
    found = next((kept[f"transcript-{each}"] for each in fences if f"transcript-{each}" in kept), None)
    if found is None:
        raise NotFound(
            f"{task.id} has no transcript there. `dibs artifact ls {task.id}` shows what it left.", field="id"
        )
    stream = queue.open_artifact(found)
    while chunk := stream.next_chunk():
        sys.stdout.buffer.write(chunk)
    return 0


def _follow(queue: SyncQueue, task: Task, *, follow: bool, as_json: bool) -> int:
    from time import sleep

    from msgspec.json import decode

    from dibs.model.status import FINAL
    from dibs.rules.tailing import unseen

    seen: list[str] = []
    while True:
        # Looked at before its log: what was written until then is there.
        over = not follow or task.status in FINAL
        lines = [decode(entry.value, type=str) for entry in queue.journal(task.id) if entry.kind == "log"]
        for line in unseen(seen, lines):
            if as_json:
                print_json_line({"line": line})
            else:
                print(clean(line), flush=True)
        seen = lines
        if over:
            return 0
        sleep(LOOK_S)
        task = queue.get(task.id)


COMMANDS = {
    "transcript": Command(
        transcript_arguments,
        transcript,
        about="""
A line for each thing that the agent said or did: the task's log, of which the last 1,000 lines are kept. --raw prints
the transcript itself, which `dibs run --preset` keeps as an artifact for each attempt.
""",
        example="dibs transcript task_01… --follow",
    ),
}
