"""Processes that work: the handlers of an app, or any command as an agent."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dibs.cli.parsing import Command, given, listed, moment, whole
from dibs.errors import DibsError, Invalid

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from dibs.worker import App

OPTIONS = ("agent", "agent_type", "capabilities", "concurrency", "lease", "drain")


def _working(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--agent", metavar="A", help="who claims; default host:pid:random")
    add("--agent-type", metavar="T", help="what it is; tasks assigned to T are for it, too")
    add("--can", metavar="a,b", dest="capabilities", type=listed, action="extend", help="what it is capable of")
    add("--lease", metavar="T", type=moment, help="how long a task is its own without a renewal; default 60s")
    add("--drain", action="store_true", help="leave when nothing is left to do")


def worker_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("app", metavar="MODULE:APP", help="where the dibs.App is: worker:app, package.module:app")
    parser.add_argument("--concurrency", metavar="N", type=whole, help="handlers at once; default 10")
    _working(parser)


def worker(args: Namespace) -> int:
    app = load_app(args.app)
    return _work(args, app)


def run_arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--type", metavar="T", dest="types", action="append", required=True, help="what it takes; may be repeated")
    add("--concurrency", metavar="N", type=whole, default=1, help="commands at once; default 1")
    add("--timeout", metavar="T", type=moment, help="for tasks that have none of their own")
    add("--preset", metavar="P", help="a coding agent that dibs knows: aider, claude, codex, gemini, opencode")
    add("--worktree", action="store_true", help="run each task in a git worktree and on a branch of its own")
    add("--base", metavar="REF", help="with --worktree: where branches begin; default: what is checked out")
    add("--merge", metavar="BRANCH", help="with --worktree: merge what is done into BRANCH, one task after another")
    _working(parser)


def run(args: Namespace) -> int:
    if not args.program and "preset" not in args:
        raise Invalid("write the command after --: dibs run --type code -- my-agent {prompt}", field="command")
    from dibs.worker import command_app

    options = given(args, "timeout", "preset")
    if "worktree" in args:
        import os

        from dibs.worker.worktrees import open_worktrees

        options["worktrees"] = open_worktrees(os.getcwd(), **given(args, "base", "merge"))
    elif "base" in args or "merge" in args:
        field = "base" if "base" in args else "merge"
        raise Invalid(f"--{field} says something about worktrees; add --worktree.", field=field)
    app = command_app(args.types, args.program, **options)
    if "preset" in args:
        from dibs.presets import find

        _must_be_there(find(args.preset).program, "preset")
    elif "{" not in args.program[0] and not ("worktree" in args and "/" in args.program[0]):
        # What is only in a worktree, or told by the task, cannot be looked for here.
        _must_be_there(args.program[0], "command")
    return _work(args, app)


def _must_be_there(program: str, field: str) -> None:
    """Who misspelt a program, or has not installed it, should hear of it now, and not from every task."""
    import os
    from shutil import which

    if which(program) is not None:
        return
    if "/" in program and os.path.isfile(program):
        raise Invalid(f"{program} may not be run: `chmod +x` it, or write what runs it in front of it.", field=field)
    place = "there is none at that path" if "/" in program else "it is not installed here, or not on the PATH"
    raise Invalid(f"{program} cannot be run: {place}.", field=field)


def load_app(where: str) -> App:
    """The app that `MODULE:APP` names; modules in the working directory are found too."""
    from importlib import import_module

    from dibs.worker import App

    module_name, colon, name = where.partition(":")
    if not module_name or not colon or not name:
        raise Invalid(f"write MODULE:APP, such as worker:app, not {where!r}", field="app")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        # A module that is there but imports one that is not must say so itself.
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise _broken(module_name, error) from error
        raise Invalid(f"app: there is no module {error.name!r} here or on the Python path", field="app") from None
    except (TypeError, ValueError) as error:
        if module_name.strip("."):
            raise _broken(module_name, error) from error
        raise Invalid(f"{module_name!r} is not the name of a module", field="app") from None
    except Exception as error:
        raise _broken(module_name, error) from error
    app = getattr(module, name, None)
    if not isinstance(app, App):
        found = "nothing" if app is None else f"a {type(app).__name__}"
        apps = [f"{module_name}:{each}" for each, value in vars(module).items() if isinstance(value, App)]
        instead = f"; {' and '.join(apps)} {'is' if len(apps) == 1 else 'are'}" if apps else ""
        raise Invalid(f"{where} is {found}, not a dibs.App{instead}", field="app")
    return app


def _broken(module_name: str, error: Exception) -> Exception:
    """What is wrong with a module of the user's own, and in which of its lines."""
    import os
    import traceback

    if os.environ.get("DIBS_DEBUG"):
        return error
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if os.path.abspath(frame.filename).startswith(os.path.join(os.getcwd(), ""))]
    line = f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""
    said = f"{type(error).__name__}: {error}".rstrip(".: ")
    return DibsError(
        f"{module_name} cannot be imported: {said}{line}. DIBS_DEBUG=1 shows all of it.", code="unexpected"
    )


def _work(args: Namespace, app: App) -> int:
    from dibs.tracing.exporting import set_up
    from dibs.worker import run_worker

    _log(as_json=args.json)
    send_last = set_up("dibs-worker")
    if sys.stderr.isatty() and not args.json:
        print(f"taking {', '.join(sorted(app.handlers))}; Ctrl-C leaves when what runs is done", file=sys.stderr)
    try:
        run_worker(app, args.url, **given(args, *OPTIONS))
    finally:
        send_last()
    return 0


def _log(*, as_json: bool) -> None:
    """What the worker has to say goes to standard error.

    A person at a terminal hears of every task, a file of what is wrong, a program that reads JSON of errors only.
    """
    import logging

    from dibs.cli.output import clean_block

    class Lines(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return clean_block(super().format(record))

    handler = logging.StreamHandler()
    handler.setFormatter(Lines("%(asctime)s %(message)s", "%H:%M:%S"))
    level = logging.ERROR if as_json else logging.INFO if sys.stderr.isatty() else logging.WARNING
    logging.basicConfig(handlers=[handler], level=level)


COMMANDS = {
    "worker": Command(
        worker_arguments,
        worker,
        about="SIGTERM or Ctrl-C: finish what is running and leave. A second one: give it back and leave at once.",
        example="dibs worker app:app --concurrency 4 --drain",
    ),
    "run": Command(
        run_arguments,
        run,
        about="""
Each task runs the command once: no shell, each ARG stays one argument. {prompt}, {payload.key}, {id}, {title} and
{type} inside an ARG are replaced. The whole claim is on its standard input and in $DIBS_CLAIM_FILE. What it prints is
the output: JSON if it parses, text otherwise. An exit code other than 0 fails the attempt.

With --preset dibs knows the command: what stands after -- are more arguments for it, if any. The goal, the inputs and
what was tried before become its prompt; progress, tokens and cost are read from what it writes.
""",
        example="""
dibs run --type code --timeout 10m -- my-agent -p "{prompt}"
dibs run --preset claude --type code --concurrency 5 --worktree -- --model opus
""",
        program=True,
    ),
}
