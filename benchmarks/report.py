"""The table, for eyes (Markdown) and for programs (JSON)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from benchmarks.findings import Figure, Findings, Floor

RESULTS = Path(__file__).resolve().parent / "results"


def when(runs: int, size: str) -> dict[str, str]:
    return {
        "when": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "runs": f"medians of {runs}" + ("" if size == "full" else f", {size}: too short to quote"),
    }


def results_folder(options: argparse.Namespace, *, whole: bool) -> Path | None:
    """Where this run is kept: where it was said, else with the project's results if it is a full one."""
    if options.results is None and not (whole and options.size == "full"):
        return None
    folder = Path(options.results or RESULTS)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def markdown(found: Findings, about: Mapping[str, str]) -> str:
    """Two tables, the bounds first, then what was measured, then on what."""
    figures = table(
        ("figure", "median", "each run"),
        [(figure.name, amount(figure.value, figure.unit), samples(figure)) for figure in found.figures],
    )
    return "\n\n".join([bounds(found.floors), figures, facts(about)]) + "\n"


def bounds(floors: Sequence[Floor]) -> str:
    """What had to hold, and whether it did."""
    return table(
        ("what", "is", "must be", ""),
        [(floor.name, amount(floor.value, floor.unit), _bound(floor), verdict(floor)) for floor in floors],
    )


def verdict(floor: Floor) -> str:
    return "ok" if floor.met else "not yet" if floor.goal else "MISSED"


def facts(about: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {text}" for name, text in about.items())


def to_json(found: Findings, about: Mapping[str, str]) -> str:
    document: dict[str, Any] = {
        "about": dict(about),
        "figures": [
            {"name": figure.name, "unit": figure.unit, "median": figure.value, "samples": figure.samples}
            for figure in found.figures
        ],
        "floors": [floor_to_json(floor) for floor in found.floors],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def floor_to_json(floor: Floor) -> dict[str, Any]:
    return {
        "name": floor.name,
        "value": floor.value,
        "unit": floor.unit,
        "bound": floor.bound,
        "sense": "at least" if floor.at_least else "at most",
        "met": floor.met,
    }


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Markdown whose columns also line up in a terminal; the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
        return f"| {' | '.join(padded)} |"

    rule = [f":{'-' * (widths[0] - 1)}", *(f"{'-' * (width - 1)}:" if width else ":" for width in widths[1:])]
    return "\n".join([line(head), f"| {' | '.join(rule)} |", *(line(row) for row in rows)])


def amount(value: float, unit: str) -> str:
    digits = 0 if abs(value) >= 1_000 else 1 if abs(value) >= 100 else 2
    return f"{value:,.{digits}f} {unit}"


def _bound(floor: Floor) -> str:
    return f"{'goal ' if floor.goal else ''}{'≥' if floor.at_least else '≤'} {floor.bound:g} {floor.unit}"


def samples(figure: Figure) -> str:
    return " ".join(amount(sample, "").strip() for sample in figure.samples) if len(figure.samples) > 1 else ""
