"""Looking after the store, and the demo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.cli.connecting import opened
from dibs.cli.output import print_json
from dibs.cli.parsing import Command, number
from dibs.errors import DibsError, Unavailable

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.sync import SyncQueue

MANY_LANES = 2_000
FEW_AGENTS = 8
IN_STORE = "in the store"


def nothing(parser: ArgumentParser) -> None:
    """These commands take no arguments of their own."""


def doctor(args: Namespace) -> int:
    """Exit code 0 when the store is sound (warnings do not count), 6 when it is not or cannot be opened."""
    try:
        report = _examine(args)
    except Unavailable as error:
        from dibs.pricing import Prices

        report = {
            "url": args.url,
            "version": None,
            "findings": [error.message],
            "warnings": [],
            "lanes": 0,
            "agents": [],
            "prices": Prices().versions,
            "large_values": None,
        }
    sound = not report["findings"]
    if args.json:
        print_json({"sound": sound, **report})
    else:
        _print_report(report, sound)
    return 0 if sound else Unavailable.exit_code


def _examine(args: Namespace) -> dict[str, Any]:
    from dibs.pricing import Prices
    from dibs.stores import missing_file, shown
    from dibs.sync import drive

    path = missing_file(args.url)
    if path is not None:
        raise Unavailable(f"There is no store at {path} yet: `dibs add` makes it, or name another with --url.")
    with opened(args) as queue:
        store = queue.queue.store
        findings = drive(store.check())
        stats = queue.stats()
        warnings = drive(store.advise())
        if len(stats.lanes) > MANY_LANES:
            warnings.append(
                f"{len(stats.lanes):,} lanes have something ready (more than {MANY_LANES:,}): claims slow down. "
                "Use fewer combinations of type, requires, assignee, models and boost."
            )
        prices = Prices()
        versions = prices.versions
        if prices.trouble is not None:
            warnings.append(f"Tokens are not priced, and costs that agents do not tell stay unknown: {prices.trouble}")
        dead = sum(group.count for group in queue.dead_letters(reviewed=False))
        if dead:
            warnings.append(f"{dead:,} dead letters wait for a decision: `dibs dlq ls`.")
        large_values = None
        try:
            large_values = queue.look_at_artifacts() or IN_STORE
        except DibsError as error:
            findings.append(f"Artifacts, and payloads and outputs above 64 KiB, cannot be reached: {error.message}")
        return {
            "url": shown(queue.url),
            "version": _version(queue),
            "findings": findings,
            "warnings": warnings,
            "lanes": len(stats.lanes),
            "agents": stats.agents,
            "prices": versions,
            "large_values": large_values,
        }


def _version(queue: SyncQueue) -> int | None:
    """The version of the schema; of a server's store, as it says."""
    store: Any = queue.queue.store
    if queue.queue.far:
        from dibs.sync import drive

        drive(store.about())
    version: int | None = store.schema_version
    return version


def _print_report(report: dict[str, Any], sound: bool) -> None:
    from dibs.cli.commands.look import when
    from dibs.cli.render import print_facts, print_line
    from dibs.pricing import INSTALL

    instant = when()
    schema = "" if report["version"] is None else f"version {report['version']}"
    known = report["agents"]
    agents = ", ".join(f"{agent.id} ({instant(agent.heard_at)})" for agent in known[:FEW_AGENTS])
    if len(known) > FEW_AGENTS:
        agents += f" and {len(known) - FEW_AGENTS:,} more: `dibs stats`"
    print_facts(
        (
            ("store", report["url"] or ""),
            ("schema", schema),
            ("lanes", f"{report['lanes']:,} with something ready"),
            ("agents", agents or "none heard of in the last day"),
            ("prices", ", then ".join(report["prices"]) or f"none: the cost of tokens stays unknown; {INSTALL}"),
            ("large values", report["large_values"] or ""),
        )
    )
    for finding in report["findings"]:
        print_line(("✗ ", "red"), (finding, ""))
    for warning in report["warnings"]:
        print_line(("! ", "yellow"), (warning, ""))
    if sound:
        print_line(("✓ ", "green"), ("the store is sound", ""))


def upgrade(args: Namespace) -> int:
    """Opening a store migrates it; this says what it has become."""
    from dibs.stores import shown

    with opened(args) as queue:
        version = _version(queue)
        url = shown(queue.url)
    if args.json:
        print_json({"url": url, "version": version})
    else:
        which = "" if version is None else f": schema version {version}"
        print(f"{url} is up to date{which}")
    return 0


def prune(args: Namespace) -> int:
    with opened(args) as queue:
        count = queue.prune()
    if args.json:
        print_json({"pruned": count})
    else:
        print(f"{count} task{'' if count == 1 else 's'} deleted")
    return 0


def demo_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--serve", action="store_true", default=False, help="with the dashboard; agents go on working")
    parser.add_argument("--pace", metavar="X", type=number, help="how long the pretended work takes: 0 to 2; default 1")


def demo(args: Namespace) -> int:
    from dibs.demo import main

    argv = ["--json"] if args.json else []
    argv += [f"--url={args.url}"] if args.url else []
    argv += [f"--pace={args.pace}"] if "pace" in args else []
    argv += ["--serve"] if args.serve else []
    return main(argv)


COMMANDS = {
    "doctor": Command(
        nothing, doctor, about="Exit code 0 when the store is sound, 6 when it is not.", example="dibs doctor"
    ),
    "upgrade": Command(
        nothing,
        upgrade,
        about="Opening a store brings it up to date by itself; this does only that, and says the version.",
        example="dibs upgrade --url sqlite:work.db",
    ),
    "prune": Command(
        nothing,
        prune,
        about="Completed and cancelled tasks are kept for 7 days; dead letters stay until somebody decides.",
        example="dibs prune",
    ),
    "demo": Command(
        demo_arguments,
        demo,
        about="No network, no keys, a fresh store in a temporary folder. One agent fails twice, one is killed.",
        example="dibs demo\ndibs demo --serve",
    ),
}
