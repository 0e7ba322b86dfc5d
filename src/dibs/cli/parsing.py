"""Arguments of one command. A mistake in them is `Invalid` like any other: exit 2, and the field is named."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from dibs.cli.catalogue import summary_of
from dibs.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Run = Callable[[argparse.Namespace], int]
    Arguments = Callable[[argparse.ArgumentParser], None]


class Command(NamedTuple):
    """One command: what it takes, what it does, what its help adds to the overview's line."""

    arguments: Arguments
    run: Run
    example: str
    about: str = ""
    program: bool = False
    """Whether `-- CMD ARG…` follows the options; it arrives as `args.program`, untouched."""


def parse(name: str, command: Command, argv: Sequence[str]) -> argparse.Namespace | None:
    """The arguments; None when help was asked for and shown. Options that were not given are absent."""
    parser = Parser(
        prog=f"dibs {name}",
        description=_description(name, command),
        epilog=f"example:\n{_indented(command.example)}",
        formatter_class=Page,
        argument_default=argparse.SUPPRESS,
        allow_abbrev=False,
        exit_on_error=False,
        add_help=False,
    )
    program: list[str] = []
    if command.program and "--" in argv:
        end = list(argv).index("--")
        argv, program = argv[:end], list(argv[end + 1 :])
    parser._positionals.title = "arguments"
    command.arguments(parser)
    parser.add_argument("--url", metavar="URL", default=None, help="where the tasks are kept")
    parser.add_argument("--json", action="store_true", default=False, help="print JSON")
    parser.add_argument("-h", "--help", action="help", help="show this page")
    if command.program:
        parser.program = True
        parser.set_defaults(program=program)
        indent = " " * len(f"usage: {parser.prog} ")
        parser.usage = f"{parser.format_usage().removeprefix('usage: ').rstrip()}\n{indent}-- CMD ARG…"
    try:
        args, left = parser.parse_known_args(argv)
        if left:
            # An optional argument that stands behind an option is only found this way.
            args = parser.parse_intermixed_args(argv)
    except HelpShown:
        return None
    except argparse.ArgumentError as error:
        raise parser.mistake(str(error), error.argument_name) from None
    return args


def given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Those of the named options that were given, by name: the queue knows the defaults of the others."""
    values = vars(args)
    return {name: values[name] for name in names if name in values}


class Page(argparse.HelpFormatter):
    """Help whose prose is wrapped to the terminal, and whose examples are not."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("example:"):
            return text
        return "\n\n".join(super(Page, self)._fill_text(part, width, indent) for part in text.split("\n\n"))


class HelpShown(Exception):
    """Help was printed; there is nothing else to do."""


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises instead of leaving the process."""

    program = False
    """Whether a command to run follows the options."""

    def error(self, message: str) -> NoReturn:
        raise self.mistake(message, None)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise HelpShown

    def mistake(self, message: str, argument: str | None) -> Invalid:
        """The mistake as an error that names the field; where argparse does not say which, its message does."""
        # It ends in the names: "… are required: --agent, ID" or "unrecognized arguments: --colour red".
        what, _, names = message.partition(": ")
        named = argument or names.split(", ")[0].split(" ")[0]
        if argument is not None:
            message = message.removeprefix("argument ")
        elif what.endswith("required"):
            message = f"{names.replace(', ', ' and ')} {'are' if ', ' in names else 'is'} missing"
        elif what.startswith("unrecognized"):
            message = self._unknown(named)
        return Invalid(f"{message}; try `{self.prog} --help`", field=self._field(named))

    def _unknown(self, written: str) -> str:
        """What nobody knows; with the option that was probably meant."""
        if not written.startswith("-"):
            if self.program:
                return f"the command to run stands after --: {self.prog} … -- {written} …"
            return f"{written!r} is one argument too many (text with spaces goes in quotes)"
        from difflib import get_close_matches

        if ":" in written and any(action.dest == "query" and not action.option_strings for action in self._actions):
            return f"what begins with a minus stands after --: {self.prog} -- {written}"
        written = written.partition("=")[0]
        name = written.lstrip("-")
        options = (option for action in self._actions for option in action.option_strings)
        known = [option.lstrip("-") for option in options]
        close = [option for option in known if len(name) > 1 and option.startswith(name)]
        close = close or get_close_matches(name, known, n=1, cutoff=0.7)
        return f"there is no option {written}" + (f" (did you mean --{close[0]}?)" if close else "")

    def _field(self, argument: str) -> str:
        """The field behind an argument's name as argparse writes it (`--can`, `-a/--agent`, `ID`)."""
        for action in self._actions:
            written = (*action.option_strings, "/".join(action.option_strings), action.metavar)
            if argument in written:
                return action.dest
        return argument.lstrip("-").partition("=")[0].replace("-", "_") or "arguments"


def number(text: str) -> float:
    """A number; whether it makes sense is for the queue to say."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None


def whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None


def moment(text: str) -> float | str:
    """A duration or an instant: bare numbers are seconds, the rest (`5m`, an ISO instant) is for the queue to read."""
    try:
        return float(text)
    except ValueError:
        return text


def listed(text: str) -> list[str]:
    """`a,b` as a list. Nothing at all is an empty list, so that an unset shell variable may be passed on."""
    return [part.strip() for part in text.split(",")] if text else []


def _description(name: str, command: Command) -> str:
    summary = summary_of(name)
    first = summary[0].upper() + summary[1:].removesuffix("?")
    end = "?" if summary.endswith("?") else "."
    return first + end + (f"\n\n{command.about.strip()}" if command.about else "")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip().splitlines())
