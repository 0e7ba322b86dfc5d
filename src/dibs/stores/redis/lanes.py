"""Lanes and their numbers, what is ready in each, and who waits there under one coalesce key."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

import msgspec

from dibs.stores.redis import layout
from dibs.stores.redis.derived import Derived
from dibs.stores.redis.orders import SortedSet
from dibs.stores.redis.tables import as_dict
from dibs.stores.values import LaneKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.stores.redis.reading import Command, Reader
    from dibs.stores.redis.working import Working

_lane_key = msgspec.json.Decoder(LaneKey)


class Lanes(MutableMapping[LaneKey, int]):
    """Every lane that there ever was, in the order of their numbers."""

    def __init__(self, reader: Reader, key: str) -> None:
        self._key = key
        found = as_dict(reader.ask("HGETALL", key))
        self._lanes = {int(number): _lane_key.decode(lane) for number, lane in found.items()}
        self._numbers = {lane: number for number, lane in sorted(self._lanes.items())}
        self._stored = len(self._lanes)

    def lane(self, number: int) -> LaneKey:
        return self._lanes[number]

    def __getitem__(self, lane: LaneKey) -> int:
        return self._numbers[lane]

    def __setitem__(self, lane: LaneKey, number: int) -> None:
        self._lanes[number] = lane
        self._numbers[lane] = number

    def __delitem__(self, lane: LaneKey) -> None:
        raise NotImplementedError("lanes stay")

    def __iter__(self) -> Iterator[LaneKey]:
        return iter(list(self._numbers))

    def __len__(self) -> int:
        return len(self._numbers)

    def is_changed(self) -> bool:
        return len(self._lanes) > self._stored

    def changes(self) -> Iterator[Command]:
        for number in sorted(self._lanes)[self._stored :]:
            yield ("HSET", self._key, number, msgspec.json.encode(self._lanes[number]))


class Ranks(Derived[LaneKey, SortedSet]):
    """The order of each lane that has something ready."""

    def __init__(self, state: Working) -> None:
        self._state = state

    def __getitem__(self, lane: LaneKey) -> SortedSet:
        if lane not in self._state.lane_ids or not (order := self._state.lane_order(lane)):
            raise KeyError(lane)
        return order

    def __iter__(self) -> Iterator[LaneKey]:
        return (lane for lane in self._state.lane_ids if self._state.lane_order(lane))


class Groups(Derived[tuple[LaneKey, str], dict[int, None]]):
    """Who waits under a coalesce key."""

    def __init__(self, state: Working) -> None:
        self._state = state

    def __getitem__(self, name: tuple[LaneKey, str]) -> dict[int, None]:
        lane, key = name
        numbers = self._state.order(layout.group(self._state.lane_ids[lane], key)).numbers()
        if not numbers:
            raise KeyError(name)
        return dict.fromkeys(numbers)
