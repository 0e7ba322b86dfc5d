"""Claims on a backlog that stays as long as it is."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING

from dibs import settling

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs import DibsError, NewTask, SyncQueue

CHUNK = 10_000
WARM_UP = 5


class Backlog:
    """A store that keeps a constant number of tasks waiting."""

    def __init__(self, queue: SyncQueue, task: Callable[[int], NewTask], size: int) -> None:
        self.queue = queue
        self.task = task
        self.made = 0
        for first in range(0, size, CHUNK):
            self.add(min(CHUNK, size - first))

    def add(self, count: int) -> None:
        self.queue.add_many([self.task(number) for number in range(self.made, self.made + count)])
        self.made += count

    def claim(self, limit: int) -> float:
        """Seconds that one claim takes. What it took is completed and replaced."""
        started = time.perf_counter()
        claims = self.queue.claim("bench", limit=limit)
        elapsed = time.perf_counter() - started
        if len(claims) != limit:
            raise RuntimeError(f"claimed {len(claims)} of {limit}")
        for answer in self.queue.settle([settling.completed(claim) for claim in claims]):
            _raise(answer)
        self.add(limit)
        return elapsed


def take_turns(few: Backlog, many: Backlog, limit: int, claims: int) -> tuple[float, float]:
    """The median claim of each, in milliseconds."""
    for _ in range(WARM_UP):
        few.claim(limit)
        many.claim(limit)
    pairs = [(few.claim(limit), many.claim(limit)) for _ in range(claims)]
    return 1_000 * median(short for short, _ in pairs), 1_000 * median(long for _, long in pairs)


def _raise(answer: object | DibsError) -> None:
    if isinstance(answer, Exception):
        raise answer
