"""Tasks kept sorted by a number that changes now and then: a rank, a due time, a deadline."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class Order:
    """Task numbers sorted by a key; equal keys by task number, which is insertion order."""

    def __init__(self) -> None:
        self._sorted: list[tuple[float, int]] = []
        self._keys: dict[int, float] = {}

    def put(self, number: int, key: float | None) -> None:
        """Sort a task in at `key`, wherever it was before; None takes it out."""
        before = self._keys.get(number)
        if before == key:
            return
        if before is not None:
            del self._sorted[bisect_left(self._sorted, (before, number))]
            del self._keys[number]
        if key is not None:
            insort(self._sorted, (key, number))
            self._keys[number] = key

    def until(self, key: float) -> list[int]:
        """The tasks whose key is at most this, first to last. A copy: they may be moved meanwhile."""
        return [number for _, number in self._sorted[: bisect_right(self._sorted, (key, inf))]]

    def __iter__(self) -> Iterator[tuple[float, int]]:
        """Pairs of key and task number, first to last. Nothing may be moved meanwhile."""
        return iter(self._sorted)

    def __len__(self) -> int:
        return len(self._sorted)
