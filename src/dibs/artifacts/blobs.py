"""The bytes themselves, through `obstore`: a folder, an S3-compatible bucket, or memory. Everything here blocks.

A blob is there whole or not at all, under a key made of its digest; writing it twice changes nothing.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from dibs.errors import Unavailable
from dibs.rules import artifacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

    from obstore.store import ObjectStore, RetryConfig

    from dibs.artifacts.place import Place

CHUNK = 1 << 20
_MANY = 1_000
_TIMEOUT = "15m"
"""One request may be a whole artifact on a slow line."""
RETRY: RetryConfig = {"max_retries": 3}

_named: WeakValueDictionary[str, Blobs] = WeakValueDictionary()
"""Memory that has a name is shared in this process, while somebody has it open."""


class Blobs:
    """All bytes at one place."""

    def __init__(self, store: ObjectStore, max_bytes: int = artifacts.MAX_BYTES, folder: str | None = None) -> None:
        self._store = store
        self._folder = folder
        self.max_bytes = max_bytes

    def put(self, digest: str, size: int, file: IO[bytes]) -> None:
        """Keep the bytes of a file that has this digest and size, durably."""
        import obstore

        key = artifacts.key(digest)
        if self._is_fresh(key, size):
            return
        file.seek(0)
        with _told("artifacts cannot be written"):
            # A file of no bytes would be sent as an upload of no parts.
            obstore.put(self._store, key, file if size else b"")
            if self._folder is not None:
                _sync(os.path.join(self._folder, key))

    def size_of(self, digest: str) -> int | None:
        """How many bytes are kept under this digest; None if there are none."""
        meta = self._head(artifacts.key(digest))
        return None if meta is None else int(meta["size"])

    def open(self, digest: str) -> Stream:
        """The bytes of this digest. NotFound if they are not here."""
        import obstore

        with _told("artifacts cannot be read"):
            try:
                found = obstore.get(self._store, artifacts.key(digest))
            except FileNotFoundError:
                raise artifacts.no_bytes(digest) from None
            return Stream(iter(found.stream(min_chunk_size=CHUNK)), digest, int(found.meta["size"]))

    def written_before(self, age_s: float) -> Iterator[list[tuple[str, int]]]:
        """Digest and size of all that was written longer ago than that, some at a time."""
        import obstore

        before = time.time() - age_s
        with _told("artifacts cannot be listed"):
            for batch in obstore.list(self._store, prefix=artifacts.FOLDER, chunk_size=_MANY):
                found = [(artifacts.digest_at(meta["path"]), meta) for meta in batch]
                old = [
                    (digest, meta["size"])
                    for digest, meta in found
                    if digest is not None and meta["last_modified"].timestamp() < before
                ]
                if old:
                    yield old

    def delete(self, digests: Sequence[str], age_s: float) -> set[str]:
        """Delete these bytes, unless they were written again since: those, which somebody is about to refer to."""
        import obstore

        again = {digest for digest in digests if self._is_younger(artifacts.key(digest), age_s)}
        with _told("artifacts cannot be deleted"):
            obstore.delete(self._store, [artifacts.key(digest) for digest in digests if digest not in again])
        return again

    def _is_fresh(self, key: str, size: int) -> bool:
        """Whether these bytes were written so lately that no sweep can be about to delete them."""
        meta = self._head(key)
        return meta is not None and meta["size"] == size and _age_s(meta) < artifacts.FRESH_S

    def _is_younger(self, key: str, age_s: float) -> bool:
        meta = self._head(key)
        return meta is not None and _age_s(meta) < age_s

    def _head(self, key: str) -> Any:
        import obstore

        with _told("artifacts cannot be read"):
            try:
                return obstore.head(self._store, key)
            except FileNotFoundError:
                return None


class Stream:
    """The bytes of an artifact, a piece at a time (`for chunk in stream`) or all of them (`read`), once.

    They are compared with their digest on the way; if they are others, reading ends with Unavailable.
    """

    def __init__(self, pieces: Iterator[Any], digest: str, size: int) -> None:
        self._pieces = pieces
        self._hash = sha256()
        self.digest = digest
        self.size = size

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self.next_chunk():
            yield chunk

    def read(self) -> bytes:
        """All that is left."""
        return b"".join(self)

    def next_chunk(self) -> bytes:
        """The next piece; nothing at the end."""
        with _told("artifacts cannot be read"):
            chunk = bytes(next(self._pieces, b""))
        self._hash.update(chunk)
        if not chunk and f"sha256:{self._hash.hexdigest()}" != self.digest:
            raise Unavailable(
                f"The bytes kept as {self.digest} are damaged: put the artifact again.", code="damaged", field="ref"
            )
        return chunk


def open_blobs(place: Place) -> Blobs:
    """The bytes at a place; a folder is made if it is not there."""
    from importlib.util import find_spec

    if find_spec("obstore") is None:
        raise Unavailable("Artifacts need the library obstore: install it with `pip install 'dibs[artifacts]'`.")
    if place.scheme == "memory" and place.rest in _named:
        return _named[place.rest]
    with _told("artifacts cannot be kept there"):
        blobs = Blobs(_open(place), place.max_bytes, os.path.realpath(place.rest) if place.scheme == "file" else None)
    if place.scheme == "memory" and place.rest:
        _named[place.rest] = blobs
    return blobs


def _open(place: Place) -> ObjectStore:
    from obstore import store

    if place.scheme == "memory":
        return store.MemoryStore()
    if place.scheme == "file":
        return store.LocalStore(place.rest, mkdir=True)
    url = f"{place.scheme}:{place.rest}"
    if place.scheme != "s3":
        return store.from_url(url, client_options={"timeout": _TIMEOUT}, retry_config=RETRY)
    options: dict[str, Any] = dict(place.options)
    plain = options.get("endpoint", "").startswith("http://")
    return store.S3Store.from_url(
        url, client_options={"timeout": _TIMEOUT, "allow_http": plain}, retry_config=RETRY, **options
    )


def _age_s(meta: Any) -> float:
    return time.time() - float(meta["last_modified"].timestamp())


def _sync(path: str) -> None:
    """What was written there survives a power cut: its bytes, and the names on the way to it."""
    folder = os.path.dirname(path)
    for each in (path, folder, os.path.dirname(folder)):
        descriptor = os.open(each, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _told(what: str) -> Iterator[None]:
    """What the library says of its troubles, as one sentence."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, OSError, ValueError) as error:
        first = str(error).partition("\n")[0].rstrip(".")
        raise Unavailable(
            f"{what[0].upper()}{what[1:]}: {first}. Check where they are kept.", field="artifacts"
        ) from error
