"""What a measure hands back: figures (medians of several runs) and floors (ratios that must hold)."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True)
class Figure:
    """One measured quantity; its value is the median of its samples, one sample per run."""

    name: str
    unit: str
    samples: tuple[float, ...]
    note: str = ""

    @property
    def value(self) -> float:
        return median(self.samples)


@dataclass(frozen=True)
class Floor:
    """A ratio (or a difference) with the bound that it has to keep."""

    name: str
    value: float
    bound: float
    at_least: bool = True
    unit: str = "×"
    goal: bool = False
    """Wished for, not promised: missing it fails no check."""

    @property
    def met(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound


@dataclass
class Findings:
    """Everything one measure found."""

    figures: list[Figure] = field(default_factory=list)
    floors: list[Floor] = field(default_factory=list)


def percentile(values: list[float], share: float) -> float:
    """The smallest of `values` that at least `share` of them do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
