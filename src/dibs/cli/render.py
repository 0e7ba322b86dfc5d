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
    """One column of a table. `wide` columns give way when the terminal is narrow; `status` ones are coloured."""

    title: str
    wide: bool = False
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
    console().print(drawn_table(columns, rows))


def drawn_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> Table:
    """The table as rich draws it."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=True,
            overflow="ellipsis",
            # A wide column shrinks first: the others keep their content whole.
            ratio=1 if column.wide else None,
            min_width=8 if column.wide else None,
        )
    table.expand = any(column.wide for column in columns)
    for row in rows:
        table.add_row(
            *(
                status_text(cell) if column.status else Text(clean(cell), style=column.style)
                for column, cell in zip(columns, row, strict=True)
            )
        )
    return table


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
        drawn.append(clean_edges(text), style=style)
    return drawn


def clean_edges(text: str) -> str:
    """Cleaned on one line; spaces at its ends stay, they are layout."""
    return text if text.isprintable() else clean(text)


def print_heading(text: str) -> None:
    """A heading above a block."""
    if on_terminal():
        console().print(line((text, "bold")))
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


def hint(text: str) -> None:
    """A word of help beside the output, never inside it."""
    if sys.stderr.isatty() or not on_terminal():
        print(text, file=sys.stderr)
