"""Questions to people: agents ask, people look into the inbox and answer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dibs.cli.commands.claim import held
from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import print_json
from dibs.cli.parsing import Command, given, moment, whole
from dibs.cli.values import read_json, read_source

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def ask_arguments(parser: ArgumentParser) -> None:
    held(parser)
    add = parser.add_argument
    add("question", metavar="QUESTION", help="what a person shall answer")
    add("--schema", metavar="JSON|@file|-", help="what the answer must look like: a JSON Schema")
    add("--assignee", metavar="WHO", help="whom it is meant for")
    add("--timeout", metavar="T", type=moment, help="how long to wait for an answer")
    add("--default", metavar="JSON|@file|-", help="the answer if nobody gives one within --timeout")
    add("--name", metavar="NAME", help="tells the questions of one task apart; else what is asked does")


def ask(args: Namespace) -> int:
    options = given(args, "assignee", "timeout", "name")
    for name in ("schema", "default"):
        if name in args:
            options[name] = read_json(getattr(args, name), name)
    with opened(args) as queue:
        asked = queue.ask_under((args.id, args.fence), args.question, **options)
    if args.json:
        print_json(asked)
    elif asked.suspended:
        print(asked.question.id)
    else:
        print_json(asked.question.answer)
        print(f"it is answered; you still hold {args.id}", file=sys.stderr)
    return 0


def inbox_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--assignee", metavar="WHO", help="only what is meant for them, or for nobody in particular")
    parser.add_argument("--limit", metavar="N", type=whole, help="default 1000")


def inbox(args: Namespace) -> int:
    with looked_into(args) as queue:
        found = queue.inbox(**given(args, "assignee", "limit"))
    if args.json:
        print_json(found)
        return 0
    from dibs.cli import wording
    from dibs.cli.commands.look import when
    from dibs.cli.output import on_terminal
    from dibs.cli.render import Column, hint, print_table

    if on_terminal() and not found:
        hint("Nobody waits for an answer.")
        return 0
    instant = when()
    columns = (
        Column("ID"),
        Column("KIND"),
        Column("QUESTION", wide=True),
        Column("TASK", spare=True),
        Column("TITLE", spare=True),
        Column("FOR", spare=True),
        Column("ASKED", spare=True, style="bright_black"),
        Column("UNTIL", spare=True, style="bright_black"),
    )
    print_table(
        columns,
        (
            (
                question.id,
                question.kind,
                wording.first_line(question.question, 500 if on_terminal() else None),
                question.task_id,
                question.title or question.type,
                question.assignee or "",
                instant(question.asked_at),
                instant(question.expires_at),
            )
            for question in found
        ),
    )
    if on_terminal():
        hint("Answer one: dibs answer ID VALUE")
    return 0


def answer_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("id", metavar="QID", help="the question")
    add("value", metavar="VALUE|@file|-", help="JSON, or just text; yes or no where that is the question")
    add("--by", metavar="WHO", help="who answers")


def answer(args: Namespace) -> int:
    from dibs.errors import Invalid
    from dibs.rules.questions import spoken

    try:
        said = read_source(args.value, "value").decode()
    except UnicodeDecodeError:
        raise Invalid("value is not UTF-8 text.", field="value") from None
    with opened(args) as queue:
        question = queue.get_question(args.id)
        answered = queue.answer(args.id, spoken(question, said.removesuffix("\n")), **given(args, "by"))
        if args.json:
            print_json(answered)
        else:
            print(queue.get(answered.task_id).status)
    return 0


COMMANDS = {
    "ask": Command(
        ask_arguments,
        ask,
        about="""
Ends your claim, without an attempt being counted: stop working on the task. It waits, and is claimed again once
somebody has answered, with the answer in the claim's `answers`. Prints the question's id. The same question again is
the same question: if it is answered, prints the answer instead, and you still hold the task. --json prints
{"question": …, "suspended": …}.
""",
        example='dibs ask task_01j… --fence 1 "Which colour?" --schema \'{"enum": ["red", "blue"]}\'',
    ),
    "inbox": Command(
        inbox_arguments,
        inbox,
        about="Oldest first. In a pipe, between tabs: id, kind, question, task, title, for whom, asked, until.",
        example="dibs inbox --assignee grace",
    ),
    "answer": Command(
        answer_arguments,
        answer,
        about="""
Its task goes on: prints where it is now. An approval takes true or false (or yes, no); a task that is not approved is
cancelled. So does a validation, with a reason if it is no ("no: it has no tests"): then the work is tried again. Saying
the same again is answered the same; saying something else is refused.
""",
        example="dibs answer q_01j… red --by grace\ndibs answer q_01k… yes\ndibs answer q_01m… 'no: it has no tests'",
    ),
}
