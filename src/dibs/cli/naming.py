"""Errors speak of parameters; whoever typed a command knows its options. This is where one becomes the other.

A message names a parameter where it begins (`coalesce_window must be …`), by a word such as `max_cost`, or between
backticks. A program still finds it in `field`, by the same name as in Python.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from dibs.cli.parsing import Command

ELSEWHERE = {"before": "cursor", "dag_id": "id", "question_id": "id", "task_id": "id", "type": "types"}
"""Parameters that have another name where commands keep their arguments."""
_BEGINNING = r"([a-z_]+)(?=:| (?:must|has|contains|is|says|needs) )"
"""A parameter about which the message is; what follows tells it from, say, the type that tasks have."""
_INSIDE = r"`([a-z_]+)`|(?<![\w:.'-])([a-z]+(?:_[a-z]+)+)(?![\w'-]|[.:]\w)"


def options_of(command: Command, args: Namespace) -> dict[str, str]:
    """How each parameter of a command is written: `coalesce_window` as `--window`, `scope` as `SCOPE`.

    Not in it are switches that say no (`--no-retry`), and arguments that the usage shows as what they are made of
    (`JSON|@file|-`): their own names say more. Where a file was read, an error may be about what it says; then only
    the options that were given are.
    """
    from argparse import ArgumentParser

    parser = ArgumentParser(add_help=False)
    command.arguments(parser)
    options: dict[str, str] = {}
    for action in parser._actions:
        if action.const is False or ("file" in args and action.dest not in args):
            continue
        written = action.option_strings[-1] if action.option_strings else str(action.metavar)
        if action.option_strings or re.fullmatch("[A-Z]{2,}", written):
            options[action.dest] = written
    for name, kept in ELSEWHERE.items():
        if kept in options:
            options.setdefault(name, options[kept])
    return options


def in_options(message: str, options: Mapping[str, str]) -> str:
    """The message with parameters as they are written in the shell."""
    begins = re.match(_BEGINNING, message)
    if begins and begins[1] in options:
        message = options[begins[1]] + message[begins.end() :]
    return re.sub(_INSIDE, lambda found: options.get(found[1] or found[2], found[0]), message)
