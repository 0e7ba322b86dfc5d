"""Agents: who was heard of. That one was heard of again is no news to those who claim; another rule is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dibs.stores.agents import Known
from dibs.stores.redis.tables import Shelf

if TYPE_CHECKING:
    from dibs.stores.redis.reading import Reader

Name = tuple[str, str]


class Agents(Shelf[Name, Known]):
    """What is known of each agent."""

    def __init__(self, reader: Reader, key: str) -> None:
        super().__init__(reader, key, Name, Known)
        self._news = False

    def __setitem__(self, name: Name, known: Known) -> None:
        before = self.get(name)
        if before is not None and replace(before, heard_at=known.heard_at) != known:
            self._news = True
        super().__setitem__(name, known)

    def __delitem__(self, name: Name) -> None:
        self._news = True
        super().__delitem__(name)

    def is_changed(self) -> bool:
        return self._news
