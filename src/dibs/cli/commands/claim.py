"""Taking work and holding it: every command but `claim` names the task and the fence that proves the claim."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dibs.cli.connecting import opened
from dibs.cli.output import print_json, print_row
from dibs.cli.parsing import Command, given, listed, moment, number, whole
from dibs.cli.values import read_output

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

NOTHING = 3


def held(parser: ArgumentParser) -> None:
    """The arguments that name a claim."""
    parser.add_argument("id", metavar="ID", help="the task you hold")
    parser.add_argument("--fence", metavar="N", type=whole, required=True, help="the fence that `claim` printed")


def usage(parser: ArgumentParser) -> None:
    """The options that say what an attempt has used."""
    add = parser.add_argument
    add("--cost", metavar="USD", type=number, help="what it cost")
    add("--tokens-in", metavar="N", type=whole, help="tokens that the model read, all of them")
    add("--tokens-out", metavar="N", type=whole, help="tokens that it wrote")
    add("--tokens-cached", metavar="N", type=whole, help="of those it read: from its cache")
    add("--tokens-cache-written", metavar="N", type=whole, help="of those it read: into its cache")
    add("--turns", metavar="N", type=whole, help="how often it was asked")
    add("--model", metavar="M", help="the model that did it")


USAGE = ("cost", "tokens_in", "tokens_out", "tokens_cached", "tokens_cache_written", "turns", "model")


def claim_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--agent", metavar="A", required=True, help="who you are")
    add("--can", metavar="a,b", dest="capabilities", type=listed, action="extend", help="what you are capable of")
    add("--type", metavar="T", dest="types", action="append", help="take only this type; may be repeated")
    add("--model", metavar="M", dest="models", action="append", help="a model you offer; may be repeated")
    add("--lease", metavar="T", type=moment, help="how long it is yours without a renewal; default 60s")
    add("--wait", metavar="T", type=moment, help="how long to wait for work; default 0")
    add("--no-start", dest="start", action="store_false", help="claim only; `dibs start` follows")
    add("--claim-id", metavar="K", help="repeating it answers the same claim")


def claim(args: Namespace) -> int:
    options = given(args, "capabilities", "types", "models", "lease", "wait", "start", "claim_id")
    with opened(args) as queue:
        claims = queue.claim(args.agent, limit=1, **options)
        # Only a task that was claimed before can have spawned others.
        ended = queue.hear(claims[0]) if claims and claims[0].fence > 1 else []
    if not claims:
        if args.json and (claims.slow_down or claims.reason):
            from msgspec.json import encode

            print(encode({"slow_down": claims.slow_down, "reason": claims.reason}).decode(), file=sys.stderr)
        elif claims.slow_down and not args.json:
            print(f"A rate limit keeps work back: ask again in {claims.slow_down:.0f} s.", file=sys.stderr)
        elif sys.stderr.isatty() and not args.json:
            print("Nothing to do. `dibs ls --status ready` shows what others may take.", file=sys.stderr)
        return NOTHING
    taken = claims[0]
    # What it waited for is in its children already.
    ended = [each for each in ended if (each.ref or each.task_id) not in taken.children]
    if ended:
        from msgspec import to_builtins

        print_json({**to_builtins(taken), "ended": ended})
    else:
        print_json(taken)
    return 0


def start(args: Namespace) -> int:
    with opened(args) as queue:
        queue.start((args.id, args.fence))
        if args.json:
            print_json(queue.get(args.id))
    return 0


def renew_arguments(parser: ArgumentParser) -> None:
    held(parser)
    add = parser.add_argument
    add("--lease", metavar="T", type=moment, help="how long from now; default: as claimed")
    add("--progress", metavar="X", type=number, help="how much is done: 0 to 1")
    add("--note", metavar="TEXT", help="what is being done")
    usage(parser)


def renew(args: Namespace) -> int:
    with opened(args) as queue:
        news = queue.renew((args.id, args.fence), **given(args, "lease", "progress", "note", *USAGE))
        ended = [] if news.cancel else queue.hear((args.id, args.fence))
    if args.json:
        from msgspec import to_builtins

        print_json({**to_builtins(news), "ended": ended} if ended else news)
        return 0
    if news.cancel:
        print("cancel")
    elif "exceeded" in news.limits:
        print("exceeded", news.limits["exceeded"])
    for each in ended:
        print_row(("ended", each.task_id, each.status, each.title or each.type))
    return 0


def log_arguments(parser: ArgumentParser) -> None:
    held(parser)
    parser.add_argument("text", metavar="TEXT", help="the line")


def log(args: Namespace) -> int:
    with opened(args) as queue:
        queue.log((args.id, args.fence), args.text)
    if args.json:
        print_json({"id": args.id, "fence": args.fence, "logged": True})
    return 0


def checkpoint_arguments(parser: ArgumentParser) -> None:
    held(parser)
    parser.add_argument("data", metavar="JSON|@file|-", help="replaces the previous checkpoint")


def checkpoint(args: Namespace) -> int:
    data = read_output(args.data, "data")
    with opened(args) as queue:
        queue.checkpoint((args.id, args.fence), data)
    if args.json:
        print_json({"id": args.id, "fence": args.fence, "stored": True})
    return 0


def spawn_arguments(parser: ArgumentParser) -> None:
    held(parser)
    parser.add_argument("file", metavar="FILE|-", help="a list of tasks, YAML or JSON")
    parser.add_argument(
        "--wait", action="store_true", default=False, help="end this claim; the task resumes with their outputs"
    )


def spawn(args: Namespace) -> int:
    from dibs.cli.taskfiles import read_tasks

    tasks = read_tasks(args.file)
    with opened(args) as queue:
        spawned = queue.spawn_below((args.id, args.fence), tasks, wait=args.wait)
    children = spawned.tasks
    if args.json:
        # Whoever waits must know whether the claim is still theirs.
        print_json({"suspended": spawned.suspended, "tasks": children} if args.wait else children)
        return 0
    for child in children:
        print(child.id)
    if args.wait and not spawned.suspended:
        print(f"all of them have ended; you still hold {args.id}", file=sys.stderr)
    return 0


COMMANDS = {
    "claim": Command(
        claim_arguments,
        claim,
        about="Prints one claim as JSON: task, fence, inputs … Exit code 3 and no output when there is nothing to do.",
        example="dibs claim --agent coder-1 --can python,web-search --wait 30s",
    ),
    "start": Command(held, start, example="dibs start task_01j… --fence 1"),
    "renew": Command(
        renew_arguments,
        renew,
        about="""
Prints `cancel` when the task was cancelled, and `exceeded max_cost` when it used more than it may: stop working on it.
After `exceeded budget:…` complete what is done, or release it: it goes on when that budget has room again.
""",
        example='dibs renew task_01j… --fence 1 --progress 0.5 --note "reading the sources"',
    ),
    "log": Command(log_arguments, log, example='dibs log task_01j… --fence 1 "found three sources"'),
    "checkpoint": Command(
        checkpoint_arguments, checkpoint, example="dibs checkpoint task_01j… --fence 1 '{\"page\": 7}'"
    ),
    "spawn": Command(
        spawn_arguments,
        spawn,
        about="""
The file holds a list of tasks as in `dibs dag submit --help`. Prints their ids. With --wait the claim ends, unless
all of them have ended already: then you still hold the task. --wait --json prints {"suspended": …, "tasks": […]}.
""",
        example="""echo '[{"type": "research", "payload": {"topic": "CORS"}}]' | dibs spawn task_01j… --fence 1 -""",
    ),
}
