"""Bytes on their way in: gathered and counted here until their digest is known, in memory or in a nameless file.

So nothing is written where artifacts are kept before it is known to be whole and not too large.
"""

from __future__ import annotations

import os
from hashlib import sha256
from tempfile import SpooledTemporaryFile  # noqa: TID253 - nothing imports this module before there are bytes
from typing import TYPE_CHECKING, Any

from dibs.errors import Invalid
from dibs.rules.artifacts import too_large

if TYPE_CHECKING:
    from collections.abc import Callable

IN_MEMORY = 8 << 20
CHUNK = 1 << 20


class Spool:
    """Bytes and their digest. Use it in a `with` statement."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._hash = sha256()
        self.file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - `with` closes it
        self.size = 0

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"

    def write(self, chunk: Any) -> None:
        """Add some; Invalid if that is too much, or not bytes."""
        view = as_bytes(chunk)
        self.size += len(view)
        if self.size > self._max_bytes:
            raise too_large(self._max_bytes)
        self._hash.update(view)
        self.file.write(view)

    def fill(self, data: Any) -> None:
        """Take all of it."""
        pour(data, self.write)

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def check(data: Any) -> None:
    """Refuse what no bytes come from. A text is refused too: it could be a path, and it could be what is meant."""
    if isinstance(data, str):
        raise Invalid("data is text: encode it, or pass a pathlib.Path to have that file read.", field="data")
    if isinstance(data, bytes | bytearray | memoryview | os.PathLike):
        return
    if not any(hasattr(data, kind) for kind in ("read", "__iter__", "__aiter__")):
        raise Invalid(
            f"data must be bytes, a pathlib.Path, a binary file or an iterator of bytes, not {type(data).__name__}.",
            field="data",
        )


def pour(data: Any, write: Callable[[Any], object]) -> None:
    """Write all of it: bytes, the file at a path, an open binary file, or anything that yields bytes."""
    if isinstance(data, bytes | bytearray | memoryview):
        write(as_bytes(data))
    elif isinstance(data, os.PathLike):
        try:
            with open(data, "rb") as file:
                pour(file, write)
        except OSError as error:
            raise Invalid(f"data: {os.fspath(data)!r} cannot be read: {error.strerror}.", field="data") from None
    elif hasattr(data, "read"):
        while chunk := data.read(CHUNK):
            write(as_bytes(chunk))
    else:
        for chunk in data:
            write(as_bytes(chunk))


def as_bytes(chunk: Any) -> memoryview:
    """Some bytes, whatever holds them."""
    if not isinstance(chunk, bytes | bytearray | memoryview):
        raise Invalid(f"data must yield bytes, not {type(chunk).__name__}.", field="data")
    return memoryview(chunk).cast("B")
