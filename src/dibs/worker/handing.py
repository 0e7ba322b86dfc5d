"""Artifacts of handlers in threads and child processes: their bytes travel between them and the worker as files."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dibs.artifacts import spool
from dibs.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    from dibs.artifacts.blobs import Stream


@contextmanager
def as_file(data: Any) -> Iterator[str]:
    """The path of a file with these bytes, for as long as the block lasts."""
    spool.check(data)
    if hasattr(data, "__aiter__"):
        raise Invalid("data must not be an async iterator here: this handler is no coroutine.", field="data")
    if isinstance(data, os.PathLike):
        yield os.path.abspath(os.fsdecode(data))
        return
    with tempfile.NamedTemporaryFile(prefix="dibs-artifact-") as file:
        spool.pour(data, file.write)
        file.flush()
        yield file.name


def to_file(stream: Stream) -> str:
    """Write all of a stream to a file of its own; its path. Whoever is told of it opens it with `take_file`."""
    descriptor, path = tempfile.mkstemp(prefix="dibs-artifact-")
    try:
        with open(descriptor, "wb") as file:
            file.writelines(stream)
    except BaseException:
        os.unlink(path)
        raise
    return path


def take_file(path: str) -> IO[bytes]:
    """The file at this path, which from now on only the reader has."""
    file = open(path, "rb")  # noqa: SIM115 - the handler closes it
    os.unlink(path)
    return file
