"""From arguments to an exit code: find the command, run it, and tell people and programs what went wrong."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

from dibs.errors import DibsError, Invalid, NotFound

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from dibs.cli.parsing import Command

INTERRUPTED = 130
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What writing to a file says when there is no room. Stores say so in words of their own."""


def run(argv: list[str]) -> int:
    """Run one command line; every error ends here as a message and an exit code."""
    _mend_streams()
    as_json = "--json" in (argv[: argv.index("--")] if "--" in argv else argv)
    try:
        code = _dispatch(argv)
        sys.stdout.flush()
    except DibsError as error:
        return _tell(error, as_json)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would flush again at exit, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("DIBS_DEBUG"):
            raise
        if isinstance(error, OSError) and error.filename is None and error.errno in _NO_ROOM:
            message = f"the output cannot be written: {os.strerror(error.errno)}."
            return _tell(DibsError(message, code="unexpected"), as_json)
        hint = "Set DIBS_DEBUG=1 to see where."
        return _tell(DibsError(f"{type(error).__name__}: {error}. {hint}", code="unexpected"), as_json)
    return code


def _mend_streams() -> None:
    """Output must not fail because it was closed, or because its encoding lacks a sign."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - it lasts as long as the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout.encoding.lower() != "utf-8" and hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")


def _dispatch(argv: list[str]) -> int:
    options, name, rest = _split(argv)
    if name is None or name == "--version":
        from dibs.cli.overview import overview, version

        print(version() if name else overview())
        return 0
    from dibs.cli.catalogue import ALONE, NESTED, module_of

    module = module_of(name)
    if module is None:
        raise Invalid(_unknown(name), field="command")
    if name in NESTED:
        asks = bool(rest) and rest[0] in ("-h", "--help", "help")
        more, second, rest = _split(rest)
        options += more
        second = second or (None if asks else ALONE.get(name))
        if second is None:
            from dibs.cli.overview import nested_overview

            print(nested_overview(name))
            return 0
        if second not in dict(NESTED[name]):
            raise Invalid(_unknown(f"{name} {second}"), field="command")
        name = f"{name} {second}"
    from dibs.cli.parsing import parse

    command = _load(module, name)
    args = parse(name, command, options + rest)
    if args is None:
        return 0
    try:
        return command.run(args)
    except DibsError as error:
        from dibs.cli.naming import options_of

        return _tell(error, args.json, options_of(command, args))


def _split(argv: list[str]) -> tuple[list[str], str | None, list[str]]:
    """The options before a command's name, the name, and what follows. `--url` and `--json` may stand before it."""
    options: list[str] = []
    rest = list(argv)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-h", "--help"):
            return options, None, []
        if option in ("-V", "--version"):
            return options, "--version", []
        if option == "--json" or option.startswith("--url="):
            options.append(option)
        elif option == "--url" and rest:
            options += [option, rest.pop(0)]
        elif option == "--url":
            raise Invalid("--url needs a value, such as sqlite:work.db", field="url")
        else:
            field = option.lstrip("-").partition("=")[0]
            raise Invalid(f"there is no option {option} before the command; try `dibs --help`", field=field)
    if rest and rest[0] == "help":
        rest = [*rest[1:], "--help"] if len(rest) > 1 else []
    return (options, rest[0], rest[1:]) if rest else (options, None, [])


def _load(module: str, name: str) -> Command:
    """The command itself; its module is imported only now."""
    loaded: ModuleType = __import__(f"dibs.cli.commands.{module}", fromlist=["COMMANDS"])
    command: Command = loaded.COMMANDS[name]
    return command


def _unknown(name: str) -> str:
    """What to say about a command that is not there, and which one was probably meant."""
    from difflib import get_close_matches

    from dibs.cli.catalogue import NESTED, names

    first, _, second = name.partition(" ")
    known = [f"{first} {each}" for each, _ in NESTED[first]] if second else names()
    close = get_close_matches(name, known, n=1, cutoff=0.75 if second else 0.6)
    hint = (
        f"did you mean `dibs {close[0]}`?" if close else f"`dibs{f' {first}' if second else ''}` lists what there is."
    )
    return f"there is no command {name!r}; {hint}"


def _tell(error: DibsError, as_json: bool, options: Mapping[str, str] | None = None) -> int:
    """One error on standard error: a sentence for people, one JSON object for programs.

    `options` are those of the command, by parameter.
    """
    from dibs.cli.naming import in_options
    from dibs.cli.output import clean

    message = in_options(error.message, options or {})
    if as_json:
        from msgspec.json import encode

        told = {"code": error.code, "message": _encodable(message), "field": _encodable(error.field)}
        line = encode(told).decode()
    else:
        line = f"dibs: {clean(message)}{_help(error, message, options or {})}"
    try:
        print(line, file=sys.stderr)
    except BrokenPipeError:
        pass
    return error.exit_code


def _help(error: DibsError, message: str, options: Mapping[str, str]) -> str:
    """What a person needs beyond the message: the option, unless it was named; where to look, unless it was said."""
    from dibs.cli.output import clean

    if isinstance(error, Invalid) and error.field is not None and error.field in options:
        option = options[error.field]
        said = message.lower().replace("-", "_")
        named = any(name.lower().removesuffix("s").replace("-", "_") in said for name in (option, error.field))
        return "" if named else f" ({clean(option)})"
    if isinstance(error, NotFound) and "`dibs" not in message:
        return " `dibs show TASK` names its dag." if "no dag" in message else " `dibs ls` shows the ones there are."
    return ""


def _encodable(text: str | None) -> str | None:
    return None if text is None else text.encode("utf-8", "replace").decode()
