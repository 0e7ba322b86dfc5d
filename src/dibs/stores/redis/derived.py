"""Mappings that follow from what a state does to tasks: they are looked at, and filled by the state alone."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

K = TypeVar("K")
V = TypeVar("V")


class Derived(MutableMapping[K, V]):
    """Looked at by name, and seldom as a whole."""

    def __setitem__(self, name: K, value: V) -> NoReturn:
        raise NotImplementedError("a state files its tasks")

    def __delitem__(self, name: K) -> NoReturn:
        raise NotImplementedError("a state files its tasks")

    def __iter__(self) -> Iterator[K]:
        raise NotImplementedError("nobody looks at all of these")

    def __len__(self) -> int:
        return sum(1 for _ in self)
