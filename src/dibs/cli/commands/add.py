"""`dibs add`: one task. On the shortest path from the shell to the store; mind what it imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.cli.connecting import opened
from dibs.cli.output import print_json
from dibs.cli.parsing import Command, given, listed, moment, number, whole
from dibs.cli.values import read_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_OPTIONS = (
    "title",
    "payload",
    "priority",
    "boost",
    "deadline",
    "on_deadline",
    "run_after",
    "after",
    "after_ended",
    "dag",
    "key",
    "requires",
    "assignee",
    "models",
    "fallback_models",
    "provider",
    "max_attempts",
    "retry",
    "timeout",
    "max_cost",
    "max_tokens",
    "max_turns",
    "locks",
    "coalesce_key",
    "coalesce_window",
    "tags",
    "user",
    "created_by",
    "expects",
    "approval",
    "context",
)


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("type", metavar="TYPE", help="what kind of work; picks who runs it")
    add("title", metavar="TITLE", nargs="?", help="a line for people")
    add("--payload", metavar="JSON|@file|-", help="what the agent gets")
    add("--priority", metavar="N", type=number, help="0 (now) to 100 (whenever); default 50")
    add("--boost", metavar="X", type=number, help="points of urgency gained per minute of waiting; default 0.1")
    add("--deadline", metavar="T", type=moment, help="when it should be done: 2h, or an ISO instant")
    add("--on-deadline", metavar="WHAT", help="keep (default) or cancel it when the deadline passes")
    add("--run-after", metavar="T", type=moment, help="not before: 10m, or an ISO instant")
    add("--after", metavar="ID", action="append", help="run once this task has completed; may be repeated")
    add("--after-ended", metavar="ID", action="append", help="run once this task has ended, in whatever way")
    add("--dag", metavar="ID", help="the dag it joins")
    add("--key", metavar="K", help="adding the same key again answers the existing task")
    add("--requires", metavar="a,b", type=listed, action="extend", help="capabilities an agent must have")
    add("--assignee", metavar="A", help="the only agent that may take it; !A: anybody but A")
    add("--model", metavar="M", dest="models", action="append", help="preferred model; repeat in order")
    add("--fallback-model", metavar="M", dest="fallback_models", action="append", help="after two failed attempts")
    add("--provider", metavar="P", help="who serves the model")
    add("--max-attempts", metavar="N", type=whole, help="default 3")
    add("--retry", metavar="HOW", help="exponential:10s:5m, linear:5s:5m, fixed:5s, immediate …")
    add("--timeout", metavar="T", type=moment, help="bounds one attempt")
    add("--max-cost", metavar="USD", type=number, help="what it may cost, over all attempts")
    add("--max-tokens", metavar="N", type=whole, help="what it may use, in and out")
    add("--max-turns", metavar="N", type=whole, help="how many turns of a model it may take")
    add("--lock", metavar="K", dest="locks", action="append", help="a lock it needs while it runs; may be repeated")
    add("--coalesce", metavar="K", dest="coalesce_key", help="one claim takes all that wait under this key")
    add("--window", metavar="T", dest="coalesce_window", type=moment, help="how long it waits for others; default 50ms")
    add("--tag", metavar="T", dest="tags", action="append", help="to find it by; may be repeated")
    add("--user", metavar="U", help="for whom")
    add("--created-by", metavar="WHO", help="by whom")
    add("--expects", metavar="JSON|@file", help='what its output must be like: {"validation": "json-schema", …}')
    add("--approval", action="store_true", help="a person must approve it before it runs: `dibs inbox`")
    add("--context", metavar="JSON|@file|-", help="goal, constraints, related_files, decisions …")


def run(args: Namespace) -> int:
    options = given(args, *_OPTIONS)
    for name in ("payload", "expects", "context"):
        if name in options:
            options[name] = read_json(options[name], name)
    with opened(args) as queue:
        task = queue.add(args.type, options.pop("payload", None), **options)
    if args.json:
        print_json(task)
    else:
        print(task.id)
    return 0


COMMANDS = {
    "add": Command(
        arguments,
        run,
        about="Prints the task's id; with --json the whole task.",
        example="""
dibs add research "What is CORS?" --payload '{"topic": "CORS"}' --priority 20
dibs add review --after "$(dibs add code --payload @spec.json)" --timeout 10m
""",
    )
}
