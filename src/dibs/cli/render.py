"""Tables and coloured lines on a terminal, tab-separated lines in a pipe, from the same rows.

rich is imported only when something is drawn on a terminal. Cells arrive as plain text and are cleaned here; they
are never read as rich's markup.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from dibs.cli.output import clean, clean_block, on_terminal, print_row
from dibs.cli.wording import SIGNS, STYLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text


class Column(NamedTuple):
    """One column of a table; `status` ones are coloured.

    On a narrow terminal `wide` columns shrink first, then `spare` ones are left out; the others are never cut.
    """

    title: str
    wide: bool = False
    spare: bool = False
    right: bool = False
    status: bool = False
    style: str = ""


def now() -> datetime:
    """This machine's clock: good enough for "3m ago"."""
    from datetime import UTC, datetime

    return datetime.now(UTC)


def console(*, stderr: bool = False) -> Console:
    """A rich console that writes no colour when NO_COLOR is set."""
    from rich.console import Console

    if os.environ.get("NO_COLOR"):
        return Console(color_system=None, highlight=False, markup=False, emoji=False, stderr=stderr)
    return Console(highlight=False, markup=False, emoji=False, stderr=stderr)


def print_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """A table: drawn with a header on a terminal, tab-separated without one in a pipe."""
    if not on_terminal():
        for row in rows:
            print_row(row)
        return
    surface = console()
    surface.print(drawn_table(columns, rows, surface.width))


def drawn_table(columns: Sequence[Column], rows: Iterable[Sequence[str]], width: int) -> Table:
    """The table as rich draws it, without columns that are empty or do not fit."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    cells = [[clean(cell) for cell in row] for row in rows]
    sizes = [max((cell_len(row[place]) for row in cells), default=0) for place in range(len(columns))]
    shown = _fitting(columns, sizes, width)
    # Where everything fits, columns stand together instead of being spread over a wide screen.
    tight = sum(_width(columns[place], sizes[place]) + GAP for place in shown) > width
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
    for place in shown:
        column = columns[place]
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=True,
            overflow="ellipsis",
            min_width=min(LEAST, sizes[place]) if tight and column.wide else _width(column, sizes[place]),
            ratio=1 if tight and column.wide else None,
        )
    table.expand = tight and any(columns[place].wide for place in shown)
    for row in cells:
        table.add_row(
            *(
                status_text(row[place]) if columns[place].status else Text(row[place], style=columns[place].style)
                for place in shown
            )
        )
    return table


GAP = 2
LEAST = 16
"""To how many characters a wide column may shrink before others are left out for it."""


def _width(column: Column, size: int) -> int:
    sign = 2 if column.status else 0
    return max(len(column.title), size + sign)


def _fitting(columns: Sequence[Column], sizes: Sequence[int], width: int) -> list[int]:
    """The columns to show, by place: those that say something, less spare ones until the rest fits."""
    shown = [place for place, size in enumerate(sizes) if size or not (columns[place].spare or columns[place].wide)]

    def needed() -> int:
        least = (
            min(LEAST, sizes[place]) if columns[place].wide else _width(columns[place], sizes[place]) for place in shown
        )
        return sum(size + GAP for size in least)

    for place in reversed(range(len(columns))):
        if needed() > width and columns[place].spare and place in shown:
            shown.remove(place)
    return shown


def status_text(status: str) -> Text:
    """A status with its sign and colour."""
    from rich.text import Text

    name = clean(status)
    sign = SIGNS.get(name)
    return Text(f"{sign} {name}" if sign else name, style=STYLES.get(name, ""))


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Names and values, one below the other; empty values are left out. The first may be a status."""
    kept = [(name, value) for name, value in facts if value]
    if not on_terminal():
        for name, value in kept:
            print(f"{name}\t{clean(value)}")
        return
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bright_black", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in kept:
        table.add_row(name, status_text(value) if name == "status" else Text(clean(value)))
    console().print(table)


def print_line(*parts: tuple[str, str]) -> None:
    """One line of (text, style) parts; styles only show on a terminal."""
    if not on_terminal():
        print("".join(clean(text) for text, _ in parts).rstrip())
        return
    console().print(line(*parts), soft_wrap=True)


def line(*parts: tuple[str, str]) -> Text:
    """(text, style) parts as rich text."""
    from rich.text import Text

    drawn = Text()
    for text, style in parts:
        drawn.append(clean(text), style=style)
    return drawn


def print_heading(text: str) -> None:
    """A heading above a block; on a terminal with a free line before it."""
    if on_terminal():
        console().print(line(("", "")), line((text, "bold")), sep="\n")
    else:
        print(text)


def print_block(text: str, style: str = "") -> None:
    """Text of several lines, indented."""
    body = "\n".join(f"  {row}" for row in clean_block(text).split("\n"))
    if on_terminal():
        from rich.text import Text

        console().print(Text(body, style=style), soft_wrap=True)
    else:
        print(body)


def print_json_block(text: str) -> None:
    """Formatted JSON, coloured on a terminal."""
    body = "\n".join(f"  {row}" for row in clean_block(text).split("\n"))
    if not on_terminal():
        print(body)
        return
    from rich.highlighter import JSONHighlighter
    from rich.text import Text

    drawn = Text(body)
    JSONHighlighter().highlight(drawn)
    console().print(drawn, soft_wrap=True)


def hint(text: str, *, always: bool = False) -> None:
    """A word of help beside the output, never inside it; for people, unless programs should hear of it too."""
    if always or sys.stderr.isatty():
        print(text, file=sys.stderr)
