"""Moving everything to another store, while it is in use."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from dibs.cli.output import print_json
from dibs.cli.parsing import Command
from dibs.errors import Conflict, Invalid

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.migrating import Migration, Report

STEPS = ("follow", "shadow", "cutover", "rollback", "finish")
MANY = 500
"""From this many tasks on, a person sees how far it is."""
NAMED = 10
MAX_SKEW_S = 1.0


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--from", dest="source", metavar="URL", default=None, help="where the tasks are kept now")
    add("--to", dest="target", metavar="URL", default=None, help="where they shall be kept; empty, or being filled")
    add("--follow", action="store_true", default=False, help="copy, and then replay what happens, until interrupted")
    add("--shadow", action="store_true", default=False, help="compare every task in both; exit 5 if some differ")
    add("--cutover", action="store_true", default=False, help="use the new store from now on")
    add("--rollback", action="store_true", default=False, help="go back to the old store, with all that happened since")
    add("--finish", action="store_true", default=False, help="there is no way back any more")
    add("--announce", metavar="URL", default=None, help="what clients are sent to; default: --to without its password")
    add("--from-artifacts", metavar="URL", default=None, help="where artifacts are kept now")
    add("--to-artifacts", metavar="URL", default=None, help="where they shall be kept")


def migrate(args: Namespace) -> int:
    from dibs.artifacts.moving import Carrier
    from dibs.migrating import Migration
    from dibs.sync import drive

    step = _step(args)
    source_url, target_url = _urls(args)
    source, target = _opened(source_url, target_url)
    carrier = Carrier(source.url, target.url, args.from_artifacts, args.to_artifacts)
    try:
        with _Bar(args.json) as bar:
            migration = Migration(source, target, told=args.announce, progress=bar, carry_bytes=carrier)
            report = drive(_run(migration, step))
    finally:
        for store in (source, target):
            drive(store.close())
    _tell(args, report, carrier.missing)
    different = [] if report.compared is None else report.compared.different
    return Conflict.exit_code if different else 0


def _step(args: Namespace) -> str:
    asked = [name for name in STEPS if getattr(args, name)]
    if len(asked) > 1:
        raise Invalid(f"--{asked[0]} and --{asked[1]} are two steps: one at a time.", field=asked[1])
    return asked[0] if asked else "copy"


def _urls(args: Namespace) -> tuple[str | None, str]:
    if args.target is None:
        raise Invalid("say where everything shall be kept: --to URL.", field="to")
    if args.source is not None and args.url is not None:
        raise Invalid("--from and --url name the same thing: give one of them.", field="url")
    source = args.source or args.url
    for name, url in (("from", source), ("to", args.target)):
        if url is not None and url.partition(":")[0] == "memory":
            raise Invalid(
                "a memory: store is gone with its process; move it from inside, with dibs.migrating.", field=name
            )
    from dibs.stores import missing_file

    path = missing_file(source)
    if path is not None:
        raise Invalid(f"there is no store at {path}.", field="from")
    return source, args.target


def _opened(source_url: str | None, target_url: str) -> tuple[Any, Any]:
    """Both stores themselves: whoever moves them must not be sent from one to the other."""
    from dibs.stores import open_store
    from dibs.sync import drive

    stores: list[Any] = []
    try:
        for name, url in (("from", source_url), ("to", target_url)):
            try:
                store = open_store(url, blocking=True)
            except Invalid as error:
                raise Invalid(error.message, field=name, code=error.code) from None
            stores.append(store)
            drive(store.connect())
    except BaseException:
        for store in stores:
            drive(store.close())
        raise
    return stores[0], stores[1]


async def _run(migration: Migration, step: str) -> Report:
    if step == "follow":
        return await _until_interrupted(migration)
    steps = {
        "copy": migration.copy,
        "shadow": migration.shadow,
        "cutover": migration.cutover,
        "rollback": migration.rollback,
        "finish": migration.finish,
    }
    return await steps[step]()


async def _until_interrupted(migration: Migration) -> Report:
    import signal

    stopped: list[int] = []
    before = {
        number: signal.signal(number, lambda number, _: stopped.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        return await migration.follow(lambda: not stopped)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(args: Namespace, report: Report, missing: list[str]) -> None:
    from msgspec import to_builtins

    if args.json:
        print_json({**to_builtins(report), "missing_bytes": missing})
        return
    from dibs.cli.render import hint, print_facts

    compared = report.compared
    facts = [
        ("did", report.did),
        ("from", report.source),
        ("to", report.target),
        ("old store", report.source_is),
        ("new store", report.target_is),
        ("tasks", f"{report.tasks:,}"),
        ("carried", f"{report.carried:,}" if report.carried else ""),
        ("events", f"{report.events:,}" if report.events else ""),
        ("bytes", f"{report.bytes_copied:,} of artifacts" if report.bytes_copied else ""),
    ]
    if compared is not None:
        facts.append(("compared", f"{compared.tasks:,}; {compared.behind:,} were behind and are not any more"))
        facts.append(("different", f"{len(compared.different):,}" if compared.different else ""))
    print_facts(facts)
    for each in [] if compared is None else compared.different[:NAMED]:
        hint(f"{each.task_id} is not the same: {', '.join(each.fields)}", always=True)
    if missing:
        hint(f"The bytes of {len(missing)} artifacts were not where they should be: {missing[0]} …", always=True)
    if abs(report.clock_skew_s) > MAX_SKEW_S:
        hint(
            f"The clocks of the two stores differ by {report.clock_skew_s} s: leases end by the new one's.", always=True
        )


class _Bar:
    """How far it is, for a person who waits for long enough to want to know."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet or not sys.stderr.isatty()
        self._shown: Any = None
        self._tasks: dict[str, Any] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        if self._quiet or max(done, total) < MANY:
            return
        if self._shown is None:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            from dibs.cli.render import console

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._shown = Progress(*columns, console=console(stderr=True), transient=True)
            self._shown.start()
        if what not in self._tasks:
            self._tasks[what] = self._shown.add_task(what, total=total or None)
        self._shown.update(self._tasks[what], completed=done, total=total or None)

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown is not None:
            self._shown.stop()


COMMANDS = {
    "migrate": Command(
        arguments,
        migrate,
        about="""
Moves everything from one store to another while it is in use. Without a step it copies: the old store stays in use, and
the new one takes nothing from anybody else meanwhile. Stopped anywhere, the same command goes on where it was.

--cutover takes moments: nobody can claim, settle or add while the rest is copied and compared; then everybody goes on
in the new store. Whoever holds a task settles it there. Programs that use dibs follow by themselves.
With --follow the old store is kept up to date from then on, and --rollback goes back to it; --finish ends that.

Events are not copied; their numbers go on where they were.
""",
        example="""
dibs migrate --from sqlite:work.db --to postgresql://localhost/agents
dibs migrate --from sqlite:work.db --to postgresql://localhost/agents --shadow
dibs migrate --from sqlite:work.db --to postgresql://localhost/agents --cutover
dibs migrate --from sqlite:work.db --to postgresql://localhost/agents --finish
""",
    ),
}
