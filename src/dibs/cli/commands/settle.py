"""Ending a claim: complete, fail or release it. Saying the same thing twice is fine; saying another is a conflict.

With --group, all that was claimed together ends together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.cli.commands.claim import USAGE, usage
from dibs.cli.connecting import opened
from dibs.cli.grouping import group_of, held_or_group, told
from dibs.cli.output import print_json
from dibs.cli.parsing import Command, given, moment, whole
from dibs.cli.values import read_json, read_output
from dibs.errors import Invalid

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def complete_arguments(parser: ArgumentParser) -> None:
    held_or_group(parser)
    add = parser.add_argument
    add("--output", metavar="JSON|@file|-", help="what it produced; a file or - may also be plain text")
    add("--decision", metavar="JSON|@file|-", help="what was decided, and why")
    usage(parser)


def complete(args: Namespace) -> int:
    group = group_of(args)
    options = given(args, *USAGE)
    output = read_output(args.output, "output") if "output" in args else None
    if "decision" in args:
        options["decision"] = read_json(args.decision, "decision")
    with opened(args) as queue:
        if group is not None:
            return told(args, group, queue.complete_group(group, output, **options))
        settled = queue.complete((args.id, args.fence), output, **options)
        if settled.outcome == "rejected":
            raise _rejected(args, queue, settled)
        _tell(args, queue, settled)
    return 0


def _rejected(args: Namespace, queue: Any, settled: Any) -> Invalid:
    """The output was not what the task expects. The claim has ended all the same, and where the task went is told."""
    from dibs.rules.contracts import MAX_REASONS

    if args.json:
        print_json(settled)
    else:
        print(settled.status)
    error = next((attempt.error for attempt in queue.history(args.id) if attempt.fence == args.fence), None)
    lines = (error or "refused").splitlines()
    # More than the reasons there can be: the last words of a command, left as they are.
    told = "; ".join(lines) + "." if len(lines) <= MAX_REASONS else "\n".join(lines) + "\n"
    return Invalid(f"the output was {told} The task is {settled.status}.", code="invalid_output", field="output")


def fail_arguments(parser: ArgumentParser) -> None:
    held_or_group(parser)
    add = parser.add_argument
    add("--error", metavar="TEXT", required=True, help="what went wrong")
    add("--reason", metavar="R", help="error (default), timeout, rate_limit, auth_failure, invalid_input …")
    add("--retry-after", metavar="T", type=moment, help="not before: 30s, 5m")
    add("--no-retry", dest="retry", action="store_false", help="there is no point in trying again")
    add("--exit-code", metavar="N", type=whole, help="of the command that failed")
    usage(parser)


def fail(args: Namespace) -> int:
    group = group_of(args)
    options = given(args, "reason", "retry_after", "retry", "exit_code", *USAGE)
    with opened(args) as queue:
        if group is not None:
            return told(args, group, queue.fail_group(group, args.error, **options))
        settled = queue.fail((args.id, args.fence), args.error, **options)
        _tell(args, queue, settled)
    return 0


def release_arguments(parser: ArgumentParser) -> None:
    held_or_group(parser)
    parser.add_argument("--delay", metavar="T", type=moment, help="when others may take it: 30s, 5m; default now")


def release(args: Namespace) -> int:
    group = group_of(args)
    with opened(args) as queue:
        if group is not None:
            return told(args, group, queue.release_group(group, **given(args, "delay")))
        settled = queue.release((args.id, args.fence), **given(args, "delay"))
        _tell(args, queue, settled)
    return 0


def _tell(args: Namespace, queue: Any, settled: Any) -> None:
    """The task as it is now for programs; for people the status it went to."""
    if args.json:
        print_json(queue.get(args.id))
    elif settled is not None:
        print(settled.status)


_GROUP = (
    "With --group, all tasks that were claimed together end together, in one commit: a line each, its id and where it"
    " went, or why it did not."
)

COMMANDS = {
    "complete": Command(
        complete_arguments,
        complete,
        about=f"Output that is not what the task expects is refused: exit code 2, the reasons, and where the task went."
        f"\n\n{_GROUP}",
        example="dibs complete task_01j… --fence 1 --output '{\"answer\": 42}' --cost 0.03\n"
        "dibs complete --group @claim.json --output '\"sent\"'",
    ),
    "fail": Command(
        fail_arguments,
        fail,
        about=f"Prints where the task went: retrying, ready or dead_lettered.\n\n{_GROUP}",
        example='dibs fail task_01j… --fence 1 --error "429 Too Many Requests" --reason rate_limit --retry-after 30s',
    ),
    "release": Command(
        release_arguments, release, about=_GROUP, example="dibs release task_01j… --fence 1 --delay 30s"
    ),
}
