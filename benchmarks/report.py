"""The table, for eyes (Markdown) and for programs (JSON)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.findings import Figure, Findings, Floor


def markdown(found: Findings, about: Mapping[str, str]) -> str:
    """Two tables, the bounds first, then what was measured, then on what."""
    bounds = _table(
        ("what", "is", "must be", ""),
        [
            (floor.name, _amount(floor.value, floor.unit), _bound(floor), "ok" if floor.met else "MISSED")
            for floor in found.floors
        ],
    )
    figures = _table(
        ("figure", "median", "each run"),
        [(figure.name, _amount(figure.value, figure.unit), _samples(figure)) for figure in found.figures],
    )
    facts = "\n".join(f"- {name}: {text}" for name, text in about.items())
    return "\n\n".join([bounds, figures, facts]) + "\n"


def to_json(found: Findings, about: Mapping[str, str]) -> str:
    document: dict[str, Any] = {
        "about": dict(about),
        "figures": [
            {"name": figure.name, "unit": figure.unit, "median": figure.value, "samples": figure.samples}
            for figure in found.figures
        ],
        "floors": [
            {
                "name": floor.name,
                "value": floor.value,
                "unit": floor.unit,
                "bound": floor.bound,
                "sense": "at least" if floor.at_least else "at most",
                "met": floor.met,
            }
            for floor in found.floors
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown whose columns also line up in a terminal; the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        return f"| {' | '.join(padded)} |"

    rule = [f":{'-' * (widths[0] - 1)}", *(f"{'-' * (width - 1)}:" if width else ":" for width in widths[1:])]
    return "\n".join([line(head), f"| {' | '.join(rule)} |", *(line(row) for row in rows)])


def _amount(value: float, unit: str) -> str:
    digits = 0 if abs(value) >= 1_000 else 1 if abs(value) >= 100 else 2
    return f"{value:,.{digits}f} {unit}"


def _bound(floor: Floor) -> str:
    return f"{'≥' if floor.at_least else '≤'} {floor.bound:g} {floor.unit}"


def _samples(figure: Figure) -> str:
    return " ".join(_amount(sample, "").strip() for sample in figure.samples) if len(figure.samples) > 1 else ""
