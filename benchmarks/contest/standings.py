"""What a run found: a figure per measure and contestant, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.findings import Figure

if TYPE_CHECKING:
    from benchmarks.contest.sizes import Sizes
    from benchmarks.findings import Floor
    from benchmarks.peers.peer import Peer

RAW = "raw"
"""Stands where a contestant's name does, for the limits of the server itself. Their measure has the same name."""


@dataclass
class Standings:
    """`figures` by (contestant, quantity); `absent` and `failed` by (contestant, measure), with the reason."""

    peers: list[Peer]
    sizes: Sizes
    figures: dict[tuple[str, str], Figure] = field(default_factory=dict)
    absent: dict[tuple[str, str], str] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    """Contestants that this machine could not run at all."""
    versions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    floors: list[Floor] = field(default_factory=list)
    """Bounds that a measure knows itself: figures of dibs beside figures of its own."""

    def keep(self, name: str, quantity: str, unit: str, samples: list[float]) -> None:
        self.figures[name, quantity] = Figure(f"{quantity}, {name}", unit, tuple(samples))

    def value(self, name: str, quantity: str) -> float | None:
        figure = self.figures.get((name, quantity))
        return figure.value if figure else None

    def rivals(self, quantity: str, *, python_only: bool) -> list[tuple[str, float]]:
        """Everybody but dibs who has this figure."""
        return [
            (peer.name, self.figures[peer.name, quantity].value)
            for peer in self.peers
            if not peer.name.startswith("dibs")
            and (peer.name, quantity) in self.figures
            and (peer.language == "Python" or not python_only)
        ]
