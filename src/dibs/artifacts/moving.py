"""Bytes that tasks refer to, taken along when the tasks move to another store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.artifacts.place import place_of
from dibs.rules import large

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.artifacts.blobs import Blobs
    from dibs.stores.carrying import CarriedTask

IN_MEMORY = 8 << 20


class Carrier:
    """Two places for bytes. They are looked up when the first task refers to some: most stores have none.

    `told` and `told_there` are URLs; where nobody said so, bytes lie beside their store, as they do for everybody. What
    is there already is left as it is. Bytes that are missing where they should be are counted, and hold up nothing.
    """

    def __init__(self, store_url: str, target_url: str, told: str | None = None, told_there: str | None = None) -> None:
        self._urls = (store_url, target_url)
        self._told = (told, told_there)
        self._places: tuple[Blobs, Blobs] | None = None
        self._same = False
        self._done: set[str] = set()
        self.missing: list[str] = []

    def __call__(self, tasks: Iterable[CarriedTask]) -> int:
        """Copy what these refer to; how many bytes that were."""
        digests = dict.fromkeys(
            digest
            for task in tasks
            for digest in (
                *(artifact.digest for _, artifact in task.artifacts),
                *(large.payload_digests(task.spec) if large.PAYLOAD_MARK in task.spec else ()),
            )
        )
        return sum(self._copy(digest) for digest in digests if digest not in self._done)

    def _copy(self, digest: str) -> int:
        from tempfile import SpooledTemporaryFile

        from dibs.errors import NotFound

        places = self._open()
        self._done.add(digest)
        if self._same:
            return 0
        here, there = places
        if there.size_of(digest) is not None:
            return 0
        try:
            stream = here.open(digest)
        except NotFound:
            self.missing.append(digest)
            return 0
        with SpooledTemporaryFile(max_size=IN_MEMORY) as file:
            for chunk in stream:
                file.write(chunk)
            there.put(digest, stream.size, file)
        return stream.size

    def _open(self) -> tuple[Blobs, Blobs]:
        if self._places is None:
            from dibs.artifacts.blobs import open_blobs

            here, there = (place_of(told, url) for told, url in zip(self._told, self._urls, strict=True))
            self._same = (here.scheme, here.rest) == (there.scheme, there.rest)
            self._places = (open_blobs(here), open_blobs(there))
        return self._places
