"""How many requests a caller may make: a bucket for each token that fills up evenly."""

from __future__ import annotations

from time import monotonic

from dibs.server.refusing import Busy

MAX_BUCKETS = 10_000


class Pace:
    """The buckets of all callers. `take` costs a dictionary look-up."""

    def __init__(self, per_s: float | None, burst: int) -> None:
        self._per_s = per_s
        self._burst = float(burst)
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, who: str) -> None:
        """One more request of this caller. Raises Busy with when the next one is welcome."""
        if self._per_s is None:
            return
        now = monotonic()
        left, since = self._buckets.get(who, (self._burst, now))
        left = min(left + (now - since) * self._per_s, self._burst)
        if left < 1:
            self._buckets[who] = (left, now)
            raise Busy(
                "This token asks too often; wait a moment, or ask for more at once.",
                retry_after=(1 - left) / self._per_s,
            )
        if len(self._buckets) >= MAX_BUCKETS and who not in self._buckets:
            self._buckets.clear()
        self._buckets[who] = (left - 1, now)
