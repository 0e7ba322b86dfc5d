"""Sorted sets of tasks, read in portions as far as somebody looks, with what this step did to them laid over."""

from __future__ import annotations

from heapq import merge
from typing import TYPE_CHECKING

from dibs.stores.ledger.order import Order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dibs.stores.redis.reading import Command, Reader

PORTION = 100


class SortedSet(Order):
    """An order that is kept in Redis. `met` is told of the tasks that were seen, in portions, and says who they are."""

    def __init__(self, reader: Reader, key: str, met: Callable[[list[bytes]], list[int]]) -> None:
        self._reader = reader
        self.key = key
        self._met = met
        self._moved: dict[int, float | None] = {}

    def first_portion(self) -> Command:
        """What somebody who begins to look will ask for."""
        return ("ZRANGE", self.key, 0, PORTION - 1, "WITHSCORES")

    def put(self, number: int, key: float | None) -> None:
        self._moved[number] = key

    def until(self, key: float) -> list[int]:
        found = []
        for at, number in self:
            if at > key:
                break
            found.append(number)
        return found

    def __iter__(self) -> Iterator[tuple[float, int]]:
        moved = sorted((key, number) for number, key in self._moved.items() if key is not None)
        return merge(self._stored(set(self._moved)), moved)

    def _stored(self, but: set[int]) -> Iterator[tuple[float, int]]:
        start = 0
        while True:
            found = self._reader.ask("ZRANGE", self.key, start, start + PORTION - 1, "WITHSCORES")
            numbers = self._met(found[::2])
            for number, score in zip(numbers, found[1::2], strict=True):
                if number not in but:
                    yield float(score), number
            if len(numbers) < PORTION:
                return
            start += PORTION

    def numbers(self) -> list[int]:
        """All of them."""
        return [number for _, number in self]

    def __len__(self) -> int:
        return len(self.numbers())

    def __bool__(self) -> bool:
        return next(iter(self), None) is not None
