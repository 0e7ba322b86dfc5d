"""Where the bytes of one queue lie: looked up and opened when somebody first needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.artifacts.blobs import Blobs
    from dibs.artifacts.place import Place

T = TypeVar("T")


class Depot:
    """The place for artifacts of the store at a URL. `told`: what the queue was opened with."""

    def __init__(self, told: str | None, store_url: str, *, blocking: bool) -> None:
        self._told = told
        self._store_url = store_url
        self.blocking = blocking
        self._blobs: Blobs | None = None
        self._place: tuple[Place | None] | None = None

    @property
    def place(self) -> Place | None:
        """Where somebody said that artifacts are kept; None: nobody did. Invalid if that cannot be read."""
        if self._place is None:
            from dibs.artifacts.place import place_told

            self._place = (place_told(self._told),)
        return self._place[0]

    def blobs(self) -> Blobs:
        """The bytes, wherever they are."""
        if self._blobs is None:
            from dibs.artifacts.blobs import open_blobs
            from dibs.artifacts.place import place_of

            self._blobs = open_blobs(self.place or place_of(None, self._store_url))
        return self._blobs

    def follow(self, store_url: str) -> None:
        """The store is at another URL now; where nobody said where bytes are kept, they are beside that one."""
        self._store_url = store_url
        self._blobs = None

    async def run(self, work: Callable[..., T], *args: Any) -> T:
        """Do what blocks: here, where that is what the caller wants, else in a thread."""
        if self.blocking:
            return work(*args)
        import asyncio

        return await asyncio.to_thread(work, *args)
