"""Dead letters: tasks that ran out of attempts wait here until somebody decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import on_terminal, print_json
from dibs.cli.parsing import Command, given, moment, whole
from dibs.errors import DibsError, Invalid

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from dibs.model.task import Task
    from dibs.sync import SyncQueue

NOTHING_TO_DO = 3
_PAGE = 50


def _filters(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--type", metavar="T", help="only this type")
    add("--fingerprint", metavar="F", help="only this kind of failure (see --groups)")
    add("--tag", metavar="T", help="only those with this tag")
    add("--dag", metavar="D", help="only the tasks of this dag")
    add("--user", metavar="U", help="for whom")
    add("--text", metavar="X", help="in the title, the payload or the error")
    add("--since", metavar="T", type=moment, help="dead-lettered since then: 2h (ago), or an instant")
    add("--until", metavar="T", type=moment, help="dead-lettered before then")
    add("--unreviewed", dest="reviewed", action="store_false", help="only those nobody has decided about")


def wanted(args: Namespace) -> dict[str, Any]:
    """The filters that were given, as the queue knows them."""
    return given(args, "type", "fingerprint", "tag", "dag", "user", "text", "since", "until", "reviewed")


def author(args: Namespace) -> str:
    """Who decides: as said, else whoever is logged in."""
    if "by" in args:
        return str(args.by)
    from getpass import getuser

    return f"human:{getuser()}"


def ls_arguments(parser: ArgumentParser) -> None:
    _filters(parser)
    add = parser.add_argument
    add("--groups", action="store_true", default=False, help="those that failed alike together, largest group first")
    add("--limit", metavar="N", type=whole, default=_PAGE, help=f"default {_PAGE}")
    add("--cursor", metavar="C", help="where the previous page ended")


def ls(args: Namespace) -> int:
    if args.groups and "cursor" in args:
        raise Invalid("--groups shows them all; leave --cursor out", field="cursor")
    with looked_into(args) as queue:
        if args.groups:
            from dibs.cli.deadletters import print_groups

            groups = queue.dead_letters(**wanted(args))
            if args.json:
                print_json(groups)
            else:
                print_groups(groups)
            return 0
        tasks, cursor = _page(queue, args)
    if args.json:
        from dibs.model.views import Page

        print_json(Page(items=tasks, cursor=cursor))
        return 0
    from dibs.cli.deadletters import print_dead_letters
    from dibs.cli.render import hint

    print_dead_letters(tasks)
    if cursor:
        hint(f"There are more: add --cursor {cursor}", always=True)
    return 0


def _page(queue: SyncQueue, args: Namespace) -> tuple[list[Task], str | None]:
    """Dead letters that fit, newest first, and where the next page begins."""
    from dibs.sync import drive

    filters = wanted(args)
    ids = queue.dead_letter_ids(**filters, limit=args.limit, before=vars(args).get("cursor"))
    found = [task for task in drive(queue.queue.store.get(ids, listed=True)) if task is not None]
    more = len(ids) == args.limit and queue.dead_letter_ids(**filters, limit=1, before=ids[-1])
    return found, ids[-1] if more else None


def show_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a dead-lettered task")


def show(args: Namespace) -> int:
    from dibs.rules.review import mark_of

    with looked_into(args) as queue:
        task = queue.get(args.id)
        attempts = queue.history(args.id)
        mark = mark_of(attempts[-1] if attempts else None)
        alike = sum(group.count for group in queue.dead_letters(type=task.type, fingerprint=mark))
    if args.json:
        print_json({"task": task, "fingerprint": mark, "alike": alike, "attempts": attempts})
        return 0
    from dibs.cli.deadletters import print_dead_letter

    print_dead_letter(task, attempts, mark, alike)
    return 0


def _decision_arguments(
    parser: ArgumentParser, *more: Callable[[ArgumentParser], None], all_help: str = "every dead letter"
) -> None:
    add = parser.add_argument
    add("ids", metavar="ID", nargs="*", default=[], help="dead-lettered tasks; or say which by the options below")
    add("--all", action="store_true", default=False, help=all_help)
    _filters(parser)
    for each in more:
        each(parser)
    add("--note", metavar="TEXT", help="why, for those who ask later")
    add("--by", metavar="WHO", help="who decides; default human:$USER")
    add("--dry-run", action="store_true", default=False, help="only say how many it would be")
    add("--yes", action="store_true", default=False, help="do not ask; needed in a pipe, unless ids are named")


def _delay(parser: ArgumentParser) -> None:
    parser.add_argument("--delay", metavar="T", type=moment, help="not at once: 5m")


def _to(parser: ArgumentParser) -> None:
    parser.add_argument("--to", metavar="WHO", required=True, help="a person or a role")
    parser.add_argument("--question", metavar="TEXT", help="what they are asked; default: retry, drop or keep it?")


def retry(args: Namespace) -> int:
    return _decide(args, "retried", "retry")


def drop(args: Namespace) -> int:
    return _decide(args, "dropped", "drop")


def keep(args: Namespace) -> int:
    return _decide(args, "kept", "keep")


def escalate(args: Namespace) -> int:
    return _decide(args, "escalated", "escalate")


def _decide(args: Namespace, resolution: str, verb: str) -> int:
    """Which they are, how many they are, whether that is meant; then one decision about all of them."""
    filters = wanted(args)
    if bool(args.ids) == (args.all or bool(filters)):
        raise Invalid(
            "name the tasks by their ids (`dibs dlq ls` shows them) or by options such as --type, or pass --all",
            field="ids",
        )
    with looked_into(args) as queue:
        # Oldest first: a task can only live again after the ones it depends on.
        ids = args.ids or queue.dead_letter_ids(**filters)[::-1]
        if args.dry_run or not ids:
            _tell(queue, args, ids, resolution)
            return 0
        if not args.ids and not args.yes and not _agreed(f"{verb} {_counted(len(ids))}", len(ids)):
            return NOTHING_TO_DO
        answers = queue.review_many(ids, resolution, by=author(args), **given(args, "note", "delay", "to", "question"))
    done = [answer for answer in answers if not isinstance(answer, DibsError)]
    refused = [answer for answer in answers if isinstance(answer, DibsError)]
    if args.json and (done or not refused):
        print_json(done)
    elif not args.json:
        for task in done:
            print(task.id)
    if refused:
        # The others are decided about all the same; the first refusal is told in the end.
        raise refused[0]
    return 0


def _tell(queue: SyncQueue, args: Namespace, ids: list[str], resolution: str) -> None:
    """What would be decided about, if it were."""
    from dibs.cli.render import hint

    groups = [] if args.ids else queue.dead_letters(**wanted(args))
    if args.json:
        print_json({"count": len(ids), "groups": groups} if args.dry_run else [])
    elif not ids:
        hint("No dead letter is like that." if wanted(args) else "There are no dead letters.")
    else:
        from dibs.cli.deadletters import print_groups

        print(f"{_counted(len(ids))} would be {resolution}")
        if groups:
            print_groups(groups)


def _agreed(what: str, count: int) -> bool:
    """Whether the person at the terminal wants it."""
    import sys

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Invalid(f"this would {what}; add --yes to do it, or --dry-run to see which", field="yes")
    print(f"{what[0].upper()}{what[1:]}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _counted(count: int) -> str:
    return "1 dead letter" if count == 1 else f"{count:,} dead letters"


def review_arguments(parser: ArgumentParser) -> None:
    _filters(parser)
    add = parser.add_argument
    add("--by", metavar="WHO", help="who decides; default human:$USER")
    add("--export", metavar="FILE", nargs="?", const="", help="write down what was decided; dlq-review-DATE.md")


def review(args: Namespace) -> int:
    import sys

    if not (sys.stdin.isatty() and on_terminal()):
        raise Invalid(
            "dlq review asks what to do, so it needs a terminal; in a script use `dibs dlq retry` or `dibs dlq drop`",
            field="terminal",
        )
    from dibs.cli.reviewing import Report, Walk

    report = Report.at(args.export) if "export" in args else None
    filters = {**wanted(args), "reviewed": False}
    with opened(args) as queue:
        walk = Walk(queue, filters, author(args), report)
        walk.run()
    if args.json:
        print_json(walk.made)
    elif report is not None and walk.made:
        print(f"written to {report.path}")
    return 0


_COLUMNS = "id, type, title, attempts, died, reason, error, poison pill, what was decided"
_GROUP_COLUMNS = "how many, type, fingerprint, first died, last died, poison pills, not reviewed, cost, error"
_BULK = "Says how many and asks, unless ids are named. "

COMMANDS = {
    "dlq ls": Command(
        ls_arguments,
        ls,
        about=f"In a pipe, between tabs: {_COLUMNS}. With --groups: {_GROUP_COLUMNS}.",
        example="dibs dlq ls --groups\ndibs dlq ls --type research --since 2h",
    ),
    "dlq show": Command(
        show_arguments,
        show,
        about="Every attempt with its whole error, what it cost in total, how many failed alike, what was decided.",
        example="dibs dlq show task_01j…",
    ),
    "dlq review": Command(
        review_arguments,
        review,
        about="Walks the groups of dead letters that nobody has decided about, and asks: retry now or later, modify"
        " the payload in $EDITOR and retry, drop, escalate, keep, skip. Leave with q and go on another time.",
        example="dibs dlq review --since 1d --export",
    ),
    "dlq retry": Command(
        lambda parser: _decision_arguments(parser, _delay),
        retry,
        about=_BULK + "Prints the ids of the tasks that live again.",
        example="dibs dlq retry --type research --since 2h --delay 1m --yes",
    ),
    "dlq drop": Command(
        _decision_arguments,
        drop,
        about=_BULK + "They become cancelled, and go a week later. Prints their ids.",
        example='dibs dlq drop --fingerprint 5f0c… --note "the page is gone"',
    ),
    "dlq keep": Command(
        _decision_arguments,
        keep,
        about=_BULK + "They stay dead letters, do not come up for review again, and go a week later. Prints their ids.",
        example="dibs dlq keep task_01j… --note known",
    ),
    "dlq escalate": Command(
        lambda parser: _decision_arguments(parser, _to),
        escalate,
        about=_BULK + "Each is a question in the inbox of whom you name, who answers retry, drop, keep, or with a"
        ' note; {"do": "retry", "note": "…"} says both. They stay dead letters until then. Prints their ids.',
        example='dibs dlq escalate task_01j… --to team:payments --question "Is the card valid?"\n'
        "dibs inbox --assignee team:payments\ndibs answer q_01j…_d1 retry --by grace",
    ),
}
