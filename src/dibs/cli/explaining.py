"""`dibs why` for people: what the sentence said already is not said again, and nothing runs over the edge.

On a terminal lines break between words and go on below their beginning, but never inside a command, so that it can be
copied. In a pipe every line stays whole, and instants are exact.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dibs.cli import wording
from dibs.cli.output import on_terminal
from dibs.cli.render import console, line, now, print_line

if TYPE_CHECKING:
    from dibs.model.views import Blocker, Why

MOST_IDS = 20
TIME_ALONE = ("coalesce", "retry", "schedule")
"""Kinds of what passes by itself. Without advice they say what the sentence says, in other words."""
_PIECES = r"\(?dibs .*?(?=; |\)|, or | \(|$)\S*|\S+"
"""What a line of advice may be broken into: words, and commands as a whole."""


def print_why(answer: Why) -> None:
    """The sentence, then what each blocker adds to it and what would help."""
    style = wording.STYLES.get(answer.status, "")
    sign = wording.SIGNS.get(answer.status, "")
    _print_wrapped((f"{sign} ", style), answer.explanation, below=2, style="bold")
    for blocker in answer.blockers:
        added = _added(blocker, answer)
        if added:
            _print_wrapped((f"  {blocker.kind}: ", "yellow"), added, below=4)
        indent = 4 if added else 2
        shown = [id for id in blocker.ids if id not in blocker.detail and id not in answer.explanation]
        for id in shown[:MOST_IDS]:
            print_line((f"{' ' * indent}{id}", "bright_black"))
        if len(shown) > MOST_IDS:
            print_line((f"{' ' * indent}… and {len(shown) - MOST_IDS:,} more", "bright_black"))
        for advice in _advice(blocker.help or ""):
            _print_wrapped((f"{' ' * indent}→ ", "green"), advice, below=indent + 2, pieces=_PIECES)


def _added(blocker: Blocker, answer: Why) -> str:
    """What a blocker says beyond the sentence; when it ends only where that is not told roughly, or for programs."""
    said = blocker.detail in answer.explanation or (blocker.kind in TIME_ALONE and not blocker.help)
    detail = "" if said else blocker.detail
    until = ""
    if blocker.until and not on_terminal():
        until = f"until {wording.absolute(blocker.until)}"
    elif blocker.until and blocker.kind in ("approval", "question") and len(answer.blockers) > 1:
        until = wording.relative(blocker.until, now())
    return f"{detail} ({until})" if detail and until else detail or until


def _advice(help: str) -> list[str]:
    """Advice, a line for each command in it: they are easier to copy."""
    parts = help.split("; ") if help else []
    return parts if all(part.startswith("dibs ") for part in parts) else [help]


def _print_wrapped(start: tuple[str, str], text: str, *, below: int, style: str = "", pieces: str = r"\S+") -> None:
    """A line that begins with `start`; on a terminal its further rows are indented by `below`."""
    if not on_terminal():
        print_line(start, (text, ""))
        return
    surface = console()
    first, *more = wrapped(line((text, "")).plain, surface.width, len(start[0]), below, pieces)
    surface.print(line(start, (first, style)), soft_wrap=True)
    for row in more:
        surface.print(line((" " * below, ""), (row, style)), soft_wrap=True)


def wrapped(text: str, width: int, first: int, below: int, pieces: str = r"\S+") -> list[str]:
    """The text in rows of at most `width` cells: `first` are taken in the first row, `below` in the others.

    A piece that is longer than a row has one of its own, and is left to the terminal.
    """
    from rich.cells import cell_len

    rows: list[str] = []
    row, room = "", width - first
    for piece in re.findall(pieces, text):
        longer = f"{row} {piece}" if row else piece
        if row and cell_len(longer) > room:
            rows.append(row)
            row, room = piece, width - below
        else:
            row = longer
    return [*rows, row]
