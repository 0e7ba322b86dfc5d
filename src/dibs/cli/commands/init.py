"""Agents' first steps: making a project ready for them, and the rules they need."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dibs.cli.output import print_json, print_row
from dibs.cli.parsing import Command
from dibs.cli.render import hint

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.cli.project import Change


def init_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", metavar="FOLDER", nargs="?", help="default: the repository around the working directory")
    add("--remove", action="store_true", help="undo what it did; a store that was used is kept")
    add("--dry-run", action="store_true", help="only say what would be done")


def init(args: Namespace) -> int:
    from dibs.cli import project
    from dibs.errors import Invalid

    root = os.path.abspath(args.folder) if "folder" in args else project.root_of(os.getcwd())
    if "folder" in args and ("\0" in args.folder or not args.folder or not os.path.isdir(root)):
        raise Invalid(f"there is no folder {args.folder[:200]!r}.", field="folder")
    dry = "dry_run" in args
    if "remove" in args:
        changes = project.plan_removal(root)
        _tell(args, root, changes if dry else project.remove(root, changes), dry)
        return 0
    changes = project.plan(root)
    # Somebody who keeps the tasks elsewhere needs no store here.
    stores = args.url is None and "DIBS_URL" not in os.environ
    if stores and not os.path.exists(os.path.join(root, project.STORE)):
        project.must_be_writable(root, project.STORE)
        changes.append(project.Change(project.STORE, "created"))
    if not dry:
        project.apply(root, changes)
        if changes[-1].path == project.STORE:
            _make_store(root)
    _tell(args, root, changes, dry)
    return 0


def _make_store(root: str) -> None:
    from dibs.cli import project
    from dibs.sync import connect_sync

    with connect_sync(f"sqlite:{os.path.join(root, project.STORE)}"):
        pass
    project.remember_store(root)


def _tell(args: Namespace, root: str, changes: list[Change], dry: bool) -> None:
    if args.json:
        files = [{"path": change.path, "change": change.change, "text": change.text} for change in changes]
        if not dry:
            for file in files:
                del file["text"]
        print_json({"folder": root, "dry_run": dry, "files": files})
        return
    for change in changes:
        print_row((change.change, change.path))
    if not changes:
        print("nothing of dibs is here")
    if dry:
        hint("Nothing was changed: this is what would be.", always=True)
    elif "remove" not in args:
        hint('Next: dibs add code "What is to be done", and an agent: dibs run --preset claude --type code')


def prime_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--mcp", action="store_true", help="for an agent that has the tools of `dibs mcp`")


def prime(args: Namespace) -> int:
    from dibs.priming import IN_A_SHELL, OVER_MCP, primer

    text = primer(OVER_MCP if "mcp" in args else IN_A_SHELL)
    if args.json:
        print_json({"text": text})
    else:
        print(text, end="")
    return 0


COMMANDS = {
    "init": Command(
        init_arguments,
        init,
        about="""
Writes .dibs/ with a store, a few lines in AGENTS.md, a skill, and where Claude Code, Codex, Cursor and VS Code find the
MCP server. What is in these files already stays as it is; doing it twice is doing it once. If one of them is in the
way (read-only, not JSON …), nothing is changed.
""",
        example="dibs init\ndibs init --remove",
    ),
    "prime": Command(
        prime_arguments,
        prime,
        about="Less than 400 tokens: let an agent read them once, at the beginning.",
        example="dibs prime",
    ),
}
