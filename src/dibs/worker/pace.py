"""How much work to claim ahead: none while handlers take long, about 100 ms of it while they are very short.

One worker must not sit on work that others could start; but tasks of microseconds are only fast in batches.
"""

from __future__ import annotations

from collections import deque

SHORT_S = 0.05
"""Handlers are short while 95 of 100 take less than this."""
AHEAD_S = 0.1
MAX_AHEAD = 1_000
SAMPLES = 64


class Pace:
    """What the last handlers took, and how fast they came to their end."""

    def __init__(self) -> None:
        self._took: deque[float] = deque(maxlen=SAMPLES)
        self._ended: deque[float] = deque(maxlen=SAMPLES)

    def note(self, began: float, ended: float) -> None:
        """One more handler has ended."""
        self._took.append(ended - began)
        self._ended.append(ended)

    def ahead(self) -> int:
        """How many tasks to hold beyond those that have a free slot."""
        count = len(self._took)
        if count < SAMPLES // 4 or sorted(self._took)[count * 95 // 100] >= SHORT_S:
            return 0
        span = self._ended[-1] - self._ended[0]
        # The rate as it was, pauses included: after a pause it starts small and grows within a few claims.
        return MAX_AHEAD if span * MAX_AHEAD < AHEAD_S * count else int(AHEAD_S * count / span)
