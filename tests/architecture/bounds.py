"""What the figures may be at most: `bounds.toml`, read, compared with the figures of today, and tightened.

A figure may only fall. Who has made one smaller writes the smaller one down (`python -m tests.architecture --tighten`).
Who adds a capability that raises one grants it in the same change: a `[[grants]]` entry says which figure, by how much,
and for which row of the designs.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

FILE = Path(__file__).with_name("bounds.toml")

_SECTION = re.compile(r"\[([\w.-]+)\]")
_NUMBER = re.compile(r"([\w-]+) = (\d[\d_]*)")


class Grant(NamedTuple):
    """By how much a figure may be above its bound, and for which row of the designs."""

    figure: str
    by: int
    row: str


class Bounds(NamedTuple):
    """Bounds by figure. A figure of the tracer is named `verb.store.files` or `verb.store.functions`."""

    bounds: dict[str, int]
    grants: tuple[Grant, ...] = ()

    def granted(self, figure: str) -> int:
        """By how much it may be above its bound."""
        return sum(grant.by for grant in self.grants if grant.figure == figure)

    def lowest(self, figure: str, today: int) -> int:
        """What its bound can fall to: with its grants it then allows what there is today."""
        return min(self.bounds[figure], max(today - self.granted(figure), 0))


def read(text: str | None = None) -> Bounds:
    """The bounds that the file (or this text of one) sets. Raises ValueError where a grant is not one."""
    found = tomllib.loads(FILE.read_text("utf-8") if text is None else text)
    bounds: dict[str, int] = dict(found.get("house", {}))
    for verb, stores in found.get("entered", {}).items():
        for store, figures in stores.items():
            bounds.update({f"{verb}.{store}.{name}": bound for name, bound in figures.items()})
    return Bounds(bounds, tuple(_grant(entry, bounds) for entry in found.get("grants", ())))


def _grant(entry: Mapping[str, object], bounds: Mapping[str, int]) -> Grant:
    match entry:
        case {"figure": str(figure), "by": int(by), "for": str(row), **more} if by > 0 and row.strip() and not more:
            if figure not in bounds:
                raise ValueError(f"bounds.toml: a grant is for {figure!r}, which has no bound")
            return Grant(figure, by, row)
    raise ValueError(f'bounds.toml: a grant is `figure = "…"`, `by = N` (above 0) and `for = "NNN §x.y what"`: {entry}')


def excesses(today: Mapping[str, int], allowed: Bounds) -> list[str]:
    """For every figure that is above its bound and grants: the figure, the bound, and what to do."""
    return [_told(name, figure, allowed) for name, figure in today.items() if _is_above(name, figure, allowed)]


def _is_above(name: str, figure: int, allowed: Bounds) -> bool:
    return name not in allowed.bounds or figure > allowed.bounds[name] + allowed.granted(name)


def _told(name: str, figure: int, allowed: Bounds) -> str:
    if name not in allowed.bounds:
        return f"{name} is {figure:,} and has no bound: write it into {FILE.name}."
    bound, granted = allowed.bounds[name], allowed.granted(name)
    limit = f"its bound of {bound:,}" + (f" and the {granted:,} granted" if granted else "")
    over = figure - bound - granted
    return (
        f"{name} is {figure:,}, which is {over:,} above {limit}. Make it smaller; or, if a row of the designs needs it,"
        f' grant it in tests/architecture/{FILE.name}:\n[[grants]]\nfigure = "{name}"\nby = {over}\n'
        f'for = "NNN §x.y what"'
    )


def tightened(text: str, today: Mapping[str, int]) -> str:
    """The text of the file with lower bounds where figures have fallen. No bound is raised; comments stay."""
    allowed = read(text)
    lines = text.splitlines(keepends=True)
    section: list[str] = []
    for place, line in enumerate(lines):
        if line.startswith("["):
            found = _SECTION.match(line)
            section = found.group(1).split(".") if found else []
        elif section and section[0] in ("house", "entered") and not line.startswith("#"):
            within = section[1:] if section[0] == "house" else [*section[1:], line.partition(" = ")[0]]

            def lower(found: re.Match[str], within: list[str] = within) -> str:
                name = ".".join([*within, found.group(1)])
                bound = allowed.lowest(name, today[name]) if name in today else int(found.group(2))
                return f"{found.group(1)} = {bound:_}"

            lines[place] = _NUMBER.sub(lower, line)
    return "".join(lines)
