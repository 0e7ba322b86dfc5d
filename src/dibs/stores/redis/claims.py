"""What claim ids were answered with, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.stores.redis.tables import Shelf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.stores.redis.keys import Keys
    from dibs.stores.redis.reading import Command, Reader

Name = tuple[str, str]


class Claims(Shelf[Name, tuple[int, list[list[tuple[str, int]]]]]):
    """What claim ids were answered with, and when."""

    def __init__(self, reader: Reader, keys: Keys) -> None:
        super().__init__(reader, keys.claims, Name, tuple[int, list[list[tuple[str, int]]]], whole=False)
        self._times = keys.claimed
        self._forgotten: list[bytes] = []

    def forget_before(self, before: int) -> None:
        self._forgotten = self._reader.ask("ZRANGEBYSCORE", self._times, "-inf", f"({before}")

    def changes(self) -> Iterator[Command]:
        yield from super().changes()
        for name, value in self._written.items():
            yield ("ZADD", self._times, value[0], self._field(name))
        for start in range(0, len(self._forgotten), 500):
            fields = self._forgotten[start : start + 500]
            yield ("HDEL", self.key, *fields)
            yield ("ZREM", self._times, *fields)
