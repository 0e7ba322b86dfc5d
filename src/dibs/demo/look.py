"""Signs, colours and figures as `dibs` shows them. The demo is below the shell and cannot ask it; a test compares."""

from __future__ import annotations

import os
import sys

from rich.console import Console

STYLES = {
    "pending": "bright_black",
    "ready": "cyan",
    "claimed": "yellow",
    "running": "yellow",
    "retrying": "dark_orange3",
    "completed": "green",
    "dead_lettered": "red",
    "cancelled": "bright_black",
}
SIGNS = {
    "pending": "○",
    "ready": "◎",
    "claimed": "◐",
    "running": "●",
    "retrying": "↻",
    "completed": "✓",
    "dead_lettered": "✗",
    "cancelled": "⊘",
}


def console() -> Console:
    """Standard output; without colour when NO_COLOR is set, and nothing in a text read as markup."""
    colours = None if os.environ.get("NO_COLOR") else "auto"
    return Console(color_system=colours, highlight=False, markup=False, emoji=False)  # type: ignore[arg-type]


def on_terminal() -> bool:
    """Whether a person is looking."""
    return sys.stdout.isatty()


def usd(value: float | None) -> str:
    """Money; unknown is said to be unknown, never 0."""
    return "unknown" if value is None else f"${value:,.4f}".rstrip("0").rstrip(".")


def brief(text: str, length: int) -> str:
    """The beginning of a text."""
    return text if len(text) <= length else text[: length - 1] + "…"
