"""Tasks from and for other programs' files. So far there is one format: Loki's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dibs.cli.connecting import looked_into, opened
from dibs.cli.output import print_json
from dibs.cli.parsing import Command, given
from dibs.errors import Invalid

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.loki.folder import Contents
    from dibs.loki.importing import Counts
    from dibs.loki.planning import Plan

FORMAT = "loki"
MANY = 500
"""From this many tasks on, a person sees how far it is."""
NAMED = 5
"""How many ids a line for people lists."""


def export_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("dir", metavar="DIR", help="the .loki folder; made if it is not there")
    _format(parser)
    add("--force", action="store_true", default=False, help="replace files that are there")
    add("--type", metavar="T", help="only this type")
    add("--tag", metavar="T", help="only those with this tag")
    add("--user", metavar="U", help="for whom")


def export(args: Namespace) -> int:
    from dibs.loki import exporting
    from dibs.loki.breakers import FILE, written

    _refuse_others(args)
    wanted = given(args, "type", "tag", "user")
    with looked_into(args) as queue, _Progress("read", args.json) as progress:
        files = exporting.export(queue, args.dir, force=args.force, progress=progress, **wanted)
        breakers = queue.breakers()
    settings, off = written(breakers)
    told = [] if settings is None else [each.type for each in breakers if each.own and each.enabled]
    if args.json:
        report = {"format": FORMAT, "dir": args.dir, "tasks": sum(files.values()), "files": files}
        print_json({**report, "breakers": told, "breakers_off": off})
    else:
        from dibs.cli.output import clean
        from dibs.cli.render import hint, print_facts

        facts = [(name, f"{count:,}") for name, count in files.items()]
        print_facts(facts + [(FILE, ", ".join(clean(type) for type in told))] * bool(told))
        if off:
            hint(f"Breakers that are off, for which Loki has no word, were left out: {_named(off)}.", always=True)
    return 0


def import_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("dir", metavar="DIR", help="the .loki folder")
    _format(parser)
    add("--dry-run", action="store_true", default=False, help="check everything, say what would be added, add nothing")
    add("--dead-letters", action="store_true", default=False, help="add dead letters too, with all their attempts")


def bring_in(args: Namespace) -> int:
    from dibs.loki import importing
    from dibs.loki.folder import read_folder
    from dibs.loki.planning import plan

    _refuse_others(args)
    contents = read_folder(args.dir)
    breakers, settings = _breakers(contents)
    planned = plan(contents.tasks, dead_letters=args.dead_letters)
    specs = importing.checked(planned)
    if args.dry_run:
        with looked_into(args) as queue:
            counts = importing.rehearse(queue, planned, specs)
    else:
        with opened(args) as queue, _Progress("added", args.json) as progress:
            counts = importing.add_planned(queue, planned, specs, progress)
            for type, options in settings.items():
                queue.set_breaker(type, **options)
    if args.json:
        print_json(_report(args, counts, planned, breakers))
    else:
        _tell(args, counts, planned, breakers)
    return 0


def _format(parser: ArgumentParser) -> None:
    parser.add_argument("--format", metavar="F", default=FORMAT, help="of the files; loki is the only one so far")


def _refuse_others(args: Namespace) -> None:
    if args.format != FORMAT:
        raise Invalid(f"format must be {FORMAT}, not {args.format!r}", field="format")
    if not args.dir.strip():  # a variable that is not set, most likely: it does not mean the working directory
        raise Invalid("dir must not be empty or blank.", field="dir")


def _breakers(contents: Contents) -> tuple[dict[str, Any] | None, dict[str, dict[str, Any]]]:
    """What the file about circuit breakers says, None if there is none; and what to set for each type."""
    if contents.breakers is None:
        return None, {}
    from dibs.cli.taskfiles import parse_yaml
    from dibs.loki.breakers import read_breakers, settings_of

    path = contents.folder.breakers
    try:
        content = parse_yaml(contents.breakers)
    except Invalid as error:
        raise Invalid(f"{path}: {error.message}", field="dir", code=error.code) from None
    said = read_breakers(content, path)
    return said, settings_of(said, path)


def _report(args: Namespace, counts: Counts, planned: Plan, breakers: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "dir": args.dir,
        "dry_run": args.dry_run,
        "added": counts.added,
        "already": counts.already,
        "added_from": counts.added_from,
        "left_out": planned.left_out,
        "stuck": planned.stuck,
        "in_two_files": planned.in_two_files,
        "breakers": None if breakers is None else {**breakers, "applied": not args.dry_run},
    }


def _tell(args: Namespace, counts: Counts, planned: Plan, breakers: dict[str, Any] | None) -> None:
    """The counts on standard output; beside them whatever a person should not overlook."""
    from dibs.cli.render import hint, print_facts

    left_out = ", ".join(f"{count:,} {queue}" for queue, count in planned.left_out.items() if count)
    came_from = ", ".join(f"{count:,} {queue}" for queue, count in counts.added_from.items())
    facts = [] if breakers is None else [("breakers", _settings(args, breakers))]
    print_facts(
        (
            ("to add" if args.dry_run else "added", f"{counts.added:,}" + (f" ({came_from})" if came_from else "")),
            ("there already", f"{counts.already:,}"),
            ("left out", left_out or "0"),
            *facts,
        )
    )
    if planned.left_out["dead-letter"]:
        hint("Dead letters were left out: --dead-letters adds them as new work.", always=True)
    if planned.stuck:
        hint(f"Left out, because they wait for a task that was: {_named(planned.stuck)}.", always=True)
    if planned.in_two_files:
        hint(f"In two files, of which the one further along counts: {_named(planned.in_two_files)}.", always=True)


def _settings(args: Namespace, breakers: dict[str, Any]) -> str:
    """What became of the file about circuit breakers."""
    from dibs.loki.breakers import FILE, in_words

    return f"{in_words(breakers) or 'on'} (from {FILE}; {'not set, dry run' if args.dry_run else 'set'})"


def _named(ids: list[str]) -> str:
    from dibs.cli.output import clean

    more = len(ids) - NAMED
    return ", ".join(clean(id) for id in ids[:NAMED]) + (f" and {more:,} more" if more > 0 else "")


class _Progress:
    """A sign of life beside the output, once there are many and a person looks on."""

    def __init__(self, verb: str, as_json: bool) -> None:
        self._verb = verb
        self._quiet = as_json or not sys.stderr.isatty()
        self._shown: Any = None

    def __call__(self, count: int) -> None:
        if self._quiet or count < MANY:
            return
        if self._shown is None:
            from dibs.cli.render import console

            self._shown = console(stderr=True).status("")
            self._shown.start()
        self._shown.update(f"{self._verb} {count:,} tasks …")

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown is not None:
            self._shown.stop()


COMMANDS = {
    "export": Command(
        export_arguments,
        export,
        about="""
Writes every task of the queue to the five files of DIR/queue (pending.json, in-progress.json, completed.json,
dead-letter.json, cancelled.json), under DIR/state/locks/queue.lock. Nothing changes in the queue: stop its workers if
somebody else shall go on with the files. How circuit breakers are set goes to DIR/config/circuit-breakers.yaml.

Prints how many tasks each file holds.
""",
        example="dibs export --format loki .loki",
    ),
    "import": Command(
        import_arguments,
        bring_in,
        about="""
Adds the pending and in-progress tasks of DIR/queue; what was in progress is ready again, so stop Loki's agents first.
Completed and cancelled tasks are left out, and so are dead letters unless asked for. The files stay as they are.
Circuit breakers are set as DIR/config/circuit-breakers.yaml says.

Importing again adds nothing twice.
""",
        example="""
dibs import --format loki .loki --dry-run
dibs import --format loki .loki
""",
    ),
}
