"""The report of a contest: for eyes (Markdown and a chart) and for programs (JSON)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks import chart, report
from benchmarks.contest.standings import RAW

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.contest.standings import Standings
    from benchmarks.findings import Floor
    from benchmarks.peers.peer import Peer

NONE = "–"
FAILED = "failed"
SHARED = {"asyncpg", "coredis", "dibs", "hiredis", "kombu", "msgspec", "psycopg", "redis", "uvloop"}
"""Packages whose versions matter beside a peer's own."""
SHARED_IN_NODE = ("ioredis", "pg", "Node")


@dataclass(frozen=True)
class Heading:
    """What a report says of its server."""

    file: str
    """The name of its files, without extension."""
    title: str
    durability: str
    """In a few words, for the chart."""
    limit: str
    """The raw limit that is drawn into the chart."""


def show(found: Standings, floors: Sequence[Floor], about: Mapping[str, str]) -> None:
    print(markdown(found, floors, about), end="")


def keep(folder: Path, heading: Heading, found: Standings, floors: Sequence[Floor], about: Mapping[str, str]) -> None:
    name = heading.file
    text, drawn = markdown(found, floors, about), chart_of(heading, found, about)
    picture = f"![Drain, tasks per second]({name}.svg)\n\n" if drawn else ""
    (folder / f"{name}.md").write_text(f"# {heading.title}\n\n{picture}{text}", encoding="utf-8")
    (folder / f"{name}.json").write_text(to_json(found, floors, about), encoding="utf-8")
    if picture:
        (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")


def markdown(found: Standings, floors: Sequence[Floor], about: Mapping[str, str]) -> str:
    parts = [
        ("What must hold", report.bounds(floors) if floors else ""),
        ("Limits of the server", _figures(found, RAW)),
        ("Speed: tasks per second, and milliseconds from add to handler start (p50 / p95 / p99)", _speed(found)),
        ("Under strain: tasks per second, seconds to recover, graphs per second", _strain(found)),
        ("dibs, every figure", _figures(found, "dibs")),
        ("Settings and versions", _settings(found)),
        ("Why there is no figure", _reasons(found)),
        ("The run", report.facts(about)),
    ]
    return "\n\n".join(f"## {title}\n\n{text}" for title, text in parts if text) + "\n"


def _speed(found: Standings) -> str:
    head = ("", "add", "bulk", "bulk large", "drain 1", "drain 2", "latency from call", "latency from return")
    rows = []
    for peer in _ran(found):
        cells = [_cell(found, peer, measure, quantity) for measure, quantity in RATES]
        for since in ("call", "return"):
            shares = [found.value(peer.name, f"latency p{share} from {since}") for share in (50, 95, 99)]
            known = [f"{share:.2f}" for share in shares if share is not None]
            cells.append(" / ".join(known) or _nothing(found, peer, "latency"))
        rows.append((_title(peer), *cells))
    return _unless_empty(head, rows)


RATES = (("add", "add"), ("bulk", "bulk"), ("bulk", "bulk large"), ("drain", "drain 1"), ("drain", "drain 2"))


def _strain(found: Standings) -> str:
    """What happens to the rate of one worker, and to the work, when things are not as they should be."""
    sizes = found.sizes
    head = (
        "",
        f"{sizes.short_backlog:,} waiting",
        f"{sizes.backlog:,} waiting",
        "kept filled",
        f"… transaction held {sizes.held_s:.0f} s",
        "kill -9",
        "restart",
        "graphs",
    )
    columns = (
        ("backlog", "drain, 1 lane, few waiting"),
        ("backlog", "drain, 1 lane, many waiting"),
        ("held", "drain before a held transaction"),
        ("held", "drain at the end of a held transaction"),
        ("kill", "recovery from kill -9"),
        ("restart", "recovery from a restart"),
        ("graph", "graphs"),
    )
    rows = [
        (_title(peer), *(_cell(found, peer, measure, quantity) for measure, quantity in columns))
        for peer in _ran(found)
    ]
    return _unless_empty(head, rows)


def _figures(found: Standings, name: str) -> str:
    rows = [
        (found.sizes.worded(quantity), report.amount(figure.value, figure.unit), report.samples(figure))
        for (who, quantity), figure in found.figures.items()
        if who == name
    ]
    return report.table(("figure", "median", "each run"), rows) if rows else ""


def _settings(found: Standings) -> str:
    lines = []
    for peer in _ran(found):
        own = {package.split("[")[0].split("=")[0].split("@")[0] for package in peer.packages} | SHARED
        versions = [version for version in found.versions.get(peer.name, ()) if version.split()[0].lower() in own]
        if peer.language == "Node":
            versions = [
                version for version in found.versions[peer.name] if version.split()[0] in (peer.name, *SHARED_IN_NODE)
            ]
        lines.append(f"- {peer.name}: {peer.about}. {', '.join(versions)}".rstrip())
    return "\n".join(lines)


def _reasons(found: Standings) -> str:
    lines = [f"- {name}, not run: {reason}" for name, reason in found.skipped.items()]
    lines += [f"- {name}, {measure}, failed: {reason}" for (name, measure), reason in found.failed.items()]
    by_reason: dict[tuple[str, str], list[str]] = {}
    for (name, measure), reason in found.absent.items():
        by_reason.setdefault((measure, reason), []).append(name)
    lines += [f"- {measure}: {', '.join(names)}: {reason}" for (measure, reason), names in by_reason.items()]
    return "\n".join(lines)


def _ran(found: Standings) -> list[Peer]:
    return [peer for peer in found.peers if peer.name not in found.skipped]


def _title(peer: Peer) -> str:
    return peer.name if peer.language == "Python" else f"{peer.name} ({peer.language})"


def _cell(found: Standings, peer: Peer, measure: str, quantity: str) -> str:
    figure = found.figures.get((peer.name, quantity))
    if figure is None:
        return _nothing(found, peer, measure)
    return report.amount(figure.value, "" if figure.unit == "/s" else figure.unit).strip()


def _nothing(found: Standings, peer: Peer, measure: str) -> str:
    return FAILED if (peer.name, measure) in found.failed else NONE


def _unless_empty(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table without the columns that nobody has a figure in."""
    kept = [0, *(column for column in range(1, len(head)) if any(row[column] != NONE for row in rows))]
    if len(kept) == 1:
        return ""
    return report.table([head[column] for column in kept], [[row[column] for column in kept] for row in rows])


def chart_of(heading: Heading, found: Standings, about: Mapping[str, str]) -> str:
    """Bars for the drains; empty without any."""
    bars = [
        chart.Bars(peer.name, peer.language, found.value(peer.name, "drain 1"), found.value(peer.name, "drain 2"))
        for peer in _ran(found)
        if found.value(peer.name, "drain 1")
    ]
    if not bars:
        return ""
    caption = ", ".join(
        [about["server"].split(" (")[0].split(",")[0], about["machine"].split(",")[0], heading.durability]
    )
    return chart.svg(bars, found.value(RAW, heading.limit), caption)


def to_json(found: Standings, floors: Sequence[Floor], about: Mapping[str, str]) -> str:
    document: dict[str, Any] = {
        "about": dict(about),
        "floors": [report.floor_to_json(floor) for floor in floors],
        "figures": [
            {
                "who": who,
                "quantity": quantity,
                "unit": figure.unit,
                "median": figure.value,
                "samples": figure.samples,
            }
            for (who, quantity), figure in found.figures.items()
        ],
        "absent": _listed(found.absent),
        "failed": _listed(found.failed),
        "skipped": found.skipped,
        "peers": {
            peer.name: {
                "language": peer.language,
                "about": peer.about,
                "settings": dict(peer.settings),
                "versions": list(found.versions.get(peer.name, ())),
            }
            for peer in _ran(found)
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _listed(reasons: Mapping[tuple[str, str], str]) -> list[dict[str, str]]:
    return [{"who": who, "measure": measure, "reason": reason} for (who, measure), reason in reasons.items()]
