"""What was found, as tables: what each operation costs, or how many times as much as at another version."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks import report
from benchmarks.findings import Floor
from benchmarks.operations import hot, interval
from benchmarks.operations.performing import TREE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BOUNDS = {"hot": 1.03, "slow": 1.20}
"""What the upper end of the interval of a ratio may be."""
SHELL_BOUND_MS = 5.0
"""What the upper end of the interval of a difference may be, for a command from the shell."""


@dataclass(frozen=True)
class Taken:
    """Samples of one operation at one place, by version: seconds for one operation."""

    wall: dict[str, list[float]]
    cpu: dict[str, list[float]]

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """CPU seconds of the working tree and of the other version, pair by pair."""
        [other] = (who for who in self.cpu if who != TREE)
        return list(zip(self.cpu[TREE], self.cpu[other], strict=True))

    def worded(self, name: str) -> str:
        sides = [f"{who} {amount(median(self.wall[who]))}, CPU {amount(median(self.cpu[who]))}" for who in self.wall]
        return f"{name}: {'; '.join(sides)}"


@dataclass
class Found:
    """All of a measure. `against`: the other version, if there is one."""

    measure: str
    size: str
    against: str | None = None
    taken: dict[tuple[str, str], Taken] = field(default_factory=dict)
    failed: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    """Which version failed, and why."""


def show(found: Found, about: Mapping[str, str], kept_in: Path | None) -> bool:
    """Print it, keep it where results are kept, and say whether all is as it must be."""
    floors = [floor for _, floor in judged(found)]
    about = {**about, "each figure": _meaning(found)}
    text = "\n\n".join(filter(None, [_against(found) if found.against else _alone(found), _failures(found)]))
    text += f"\n\n{report.facts(about)}\n"
    print(text, end="")
    if kept_in is not None:
        name = f"{found.measure}-against" if found.against else found.measure
        title = {"slow": "Operations that touch many rows", "hot": "Operations that every task needs"}[found.measure]
        title += f", against {found.against}" if found.against else ""
        (kept_in / f"{name}.md").write_text(f"# {title}\n\n{text}", encoding="utf-8")
        (kept_in / f"{name}.json").write_text(to_json(found, floors, about), encoding="utf-8")
    mine = [who for who, _ in found.failed.values() if who == TREE]
    return not mine and all(floor.met for floor in floors)


def amount(seconds: float) -> str:
    """In the unit that reads best."""
    micros = 1e6 * seconds
    return f"{micros:,.0f} µs" if micros < 9_999.5 else f"{micros / 1e3:,.1f} ms"


def judged(found: Found) -> list[tuple[tuple[str, str], Floor]]:
    """The bound of each comparison, and whether it is kept."""
    floors = []
    for (place, name), taken in found.taken.items() if found.against else ():
        words = f"{place}: {name}"
        if name == hot.SHELL:
            upper = 1e3 * interval.difference(taken.pairs).upper
            floor = Floor(f"{words}, difference", upper, SHELL_BOUND_MS, at_least=False, unit="ms")
        else:
            upper = interval.ratio(taken.pairs).upper
            floor = Floor(f"{words}, ratio", upper, BOUNDS[found.measure], at_least=False)
        floors.append(((place, name), floor))
    return floors


def _against(found: Found) -> str:
    rows = []
    for (place, name), floor in judged(found):
        taken = found.taken[place, name]
        ratio = interval.ratio(taken.pairs)
        cells = [f"{ratio.mean:.3f}", f"{ratio.lower:.3f} – {ratio.upper:.3f}"]
        if floor.unit == "ms":
            mean, lower, upper = (1e3 * value for value in interval.difference(taken.pairs))
            cells = [f"{cells[0]}, {mean:+.2f} ms", f"{lower:+.2f} – {upper:+.2f} ms"]
        bound = f"≤ {floor.bound:g}{' ms' if floor.unit == 'ms' else ''}"
        sides = [amount(median(values)) for values in taken.cpu.values()]
        rows.append((name, place, *sides, *cells, bound, report.verdict(floor)))
    head = ("CPU time of one operation", "on", "tree", found.against or "", "ratio", "95 % interval", "its end", "")
    return report.table(head, rows)


def _alone(found: Found) -> str:
    """Operations down, places across: wall time / CPU time."""
    all_of_it = [*found.taken, *found.failed]
    where = list(dict.fromkeys(place for place, _ in all_of_it))
    rows = [
        (name, *(_cell(found, place, name) for place in where)) for name in dict.fromkeys(name for _, name in all_of_it)
    ]
    return report.table(("one operation: wall / CPU", *where), rows)


def _cell(found: Found, place: str, name: str) -> str:
    taken = found.taken.get((place, name))
    if taken is None:
        return "failed" if (place, name) in found.failed else "–"
    return f"{amount(median(taken.wall[TREE]))} / {amount(median(taken.cpu[TREE]))}"


def _failures(found: Found) -> str:
    return "\n".join(
        f"- {place}: {name} failed ({who}): {reason}" for (place, name), (who, reason) in found.failed.items()
    )


def _meaning(found: Found) -> str:
    cpu = "CPU time is that of the client's process and of all of the server's processes"
    if not found.against:
        return f"median of the runs; {cpu}"
    return (
        f"{cpu}, median of the pairs; the ratio of the working tree to {found.against} is the geometric mean of the"
        " pairs, its interval by Student's t of their logarithms; a difference likewise, of milliseconds"
    )


def to_json(found: Found, floors: list[Floor], about: Mapping[str, str]) -> str:
    document: dict[str, Any] = {
        "about": dict(about),
        "floors": [report.floor_to_json(floor) for floor in floors],
        "figures": [
            {"place": place, "operation": name, "unit": "s", "wall": taken.wall, "cpu": taken.cpu}
            for (place, name), taken in found.taken.items()
        ],
        "failed": [
            {"place": place, "operation": name, "who": who, "reason": reason}
            for (place, name), (who, reason) in found.failed.items()
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
