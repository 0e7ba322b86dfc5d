"""What commands print without drawing: JSON and plain lines.

Task data is other people's text. Whatever could steer a terminal (escape sequences, control characters, marks that
reverse the writing direction) is taken out of lines for people, and written as escapes in JSON on a terminal.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

# Patterns stay text until one is needed: compiling them would cost every command a millisecond.
# CSI, OSC and other string sequences (also unfinished ones), then two-character escapes.
_SEQUENCES = (
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_STEERING = r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
_CONTROLS = r"[\x00-\x08\x0b-\x1f\ud800-\udfff]|" + _STEERING
_BREAKS = r"\s*[\t\n]\s*"


def on_terminal() -> bool:
    """Whether a person is looking at standard output."""
    return sys.stdout.isatty()


def clean_block(text: str) -> str:
    """Text of several lines without anything that could steer a terminal; line ends and tabs stay."""
    if text.isprintable():
        return text
    return re.sub(_CONTROLS, "", re.sub(_SEQUENCES, "", text.replace("\r\n", "\n")))


def clean(text: str) -> str:
    """The same on one line: line ends and tabs become a space."""
    if text.isprintable():
        return text
    return re.sub(_BREAKS, " ", clean_block(text).strip("\n"))


def print_json(value: Any) -> None:
    """One JSON value: a line in a pipe, indented on a terminal."""
    from msgspec import json

    encoded = json.encode(value)
    if not on_terminal():
        print(encoded.decode())
        return
    shown = json.format(encoded, indent=2).decode()
    print(_escaped(shown))


def print_json_line(value: Any) -> None:
    """One JSON value on a line of its own, at once: for streams."""
    from msgspec import json

    line = json.encode(value).decode()
    if on_terminal():
        line = _escaped(line)
    print(line, flush=True)


def print_row(cells: Iterable[object]) -> None:
    """Cells separated by tabs, nothing cut off; None is empty."""
    print("\t".join("" if cell is None else clean(str(cell)) for cell in cells))


def _escaped(json: str) -> str:
    """JSON in which what could steer a terminal is written as escapes; it means the same."""
    return re.sub(_STEERING, lambda found: f"\\u{ord(found[0]):04x}", json)
