"""Providers that turned this worker's work away: nothing that was claimed before the store knew of it shall begin.

From then on claims bring nothing for them until their gate opens (`rules.providers`).
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.worker.work import Work


class Sparing:
    """Which work to give back untouched, for its provider's sake."""

    def __init__(self) -> None:
        self._unwritten: set[Work] = set()
        self._known_at: dict[str, float] = {}

    def turned_away(self, work: Work) -> None:
        """A rate limit ended this work; that is about to be written."""
        self._unwritten.add(work)

    def written(self, works: Iterable[Work]) -> None:
        """The ends of these are written: whatever is claimed from now on is fine."""
        if self._unwritten:
            for work in self._unwritten.intersection(works):
                self._unwritten.discard(work)
                self._known_at[work.gate] = monotonic()

    def spares(self, work: Work) -> bool:
        """Whether this work, which has not begun, should not."""
        if not self._unwritten and not self._known_at:
            return False
        if any(other.gate == work.gate for other in self._unwritten):
            return True
        return work.arrived <= self._known_at.get(work.gate, 0.0)
