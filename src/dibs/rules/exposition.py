"""Metrics as Prometheus reads them: families of samples with bounded labels, and their text.

Names follow its conventions: `dibs_` first, base units (`_seconds`, `_usd`, `_bytes`), counters end in `_total`. Labels
come from users (types, agents, models), so a family takes only so many sets of them; what comes after is counted
together, under `other`.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_SERIES = 200
"""How many sets of labels one family has; one more, for all others, comes on top."""
MOST_CHARS = 100
OTHER = "other"
BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)

Labels = tuple[str, ...]


class Family:
    """One metric: its name, what it means, and a value for each set of labels."""

    __slots__ = ("help", "kind", "labels", "most", "name", "values")

    def __init__(self, name: str, kind: str, help: str, labels: Labels = (), most: int = MOST_SERIES) -> None:
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
        self.most = most
        self.values: dict[Labels, float] = {}

    def add(self, *labels: str | None, by: float = 1.0) -> None:
        """Count up."""
        key = self.key(labels)
        self.values[key] = self.values.get(key, 0.0) + by

    def put(self, *labels: str | None, value: float) -> None:
        """Set; what does not fit any more is added up under `other`."""
        key = self.key(labels)
        self.values[key] = self.values.get(key, 0.0) + value if key and key[-1] == OTHER else value

    def key(self, labels: Iterable[str | None]) -> Labels:
        """These labels, or the ones for all that came too late."""
        key = tuple([_label(value) for value in labels])
        if key in self.values or len(self.values) < self.most:
            return key
        return (OTHER,) * len(self.labels)

    def lines(self) -> Iterator[str]:
        """The family as text."""
        yield from _head(self.name, self.kind, self.help)
        for key, value in self.values.items():
            yield f"{self.name}{_braces(self.labels, key)} {_number(value)}"


class Histogram:
    """How long things took: for each set of labels, how many took no longer than each bound."""

    __slots__ = ("bounds", "counts", "help", "labels", "most", "name", "sums")

    kind = HISTOGRAM

    def __init__(
        self,
        name: str,
        help: str,
        labels: Labels = (),
        bounds: tuple[float, ...] = BUCKETS_S,
        most: int = 50,
    ) -> None:
        self.name = name
        self.help = help
        self.labels = labels
        self.bounds = bounds
        self.most = most
        self.counts: dict[Labels, list[int]] = {}
        self.sums: dict[Labels, float] = {}

    def observe(self, *labels: str | None, value: float) -> None:
        """One more that took so long."""
        key = tuple([_label(each) for each in labels])
        if key not in self.counts:
            if len(self.counts) >= self.most:
                key = (OTHER,) * len(self.labels)
            self.counts.setdefault(key, [0] * (len(self.bounds) + 1))
        self.counts[key][bisect_left(self.bounds, value)] += 1
        self.sums[key] = self.sums.get(key, 0.0) + value

    def lines(self) -> Iterator[str]:
        """The histogram as text: cumulative, with its sum and count."""
        yield from _head(self.name, self.kind, self.help)
        names = (*self.labels, "le")
        bounds = [*map(_number, self.bounds), "+Inf"]
        for key, counts in self.counts.items():
            for bound, reached in zip(bounds, accumulate(counts), strict=True):
                yield f"{self.name}_bucket{_braces(names, (*key, bound))} {reached}"
            braces = _braces(self.labels, key)
            yield f"{self.name}_sum{braces} {_number(self.sums[key])}"
            yield f"{self.name}_count{braces} {sum(counts)}"


def text(families: Iterable[Family | Histogram]) -> str:
    """All of them, as one page."""
    return "".join(f"{line}\n" for family in families for line in family.lines())


def _head(name: str, kind: str, help: str) -> tuple[str, str]:
    return f"# HELP {name} {_escaped(help)}", f"# TYPE {name} {kind}"


def _label(value: str | None) -> str:
    return "" if value is None else value[:MOST_CHARS]


def _braces(names: Labels, values: Labels) -> str:
    if not names:
        return ""
    pairs = [f'{name}="{_quoted(value)}"' for name, value in zip(names, values, strict=True)]
    return "{" + ",".join(pairs) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))
