"""What a program wrote, kept on disk while it runs: the beginning and the end, whatever there is between.

A transcript is at most `MOST_BYTES` long. Its end is two files in turn: when one is full, the other begins anew; so
at least half of `END_BYTES` is always there. What was left out is said where it was, in a line of JSON. Where the disk
takes no more, all of it is let go: whoever writes is not to fail for that.
"""

from __future__ import annotations

import tempfile
from contextlib import suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BEGINNING_BYTES = 8 << 20
END_BYTES = 56 << 20
MOST_BYTES = BEGINNING_BYTES + END_BYTES
CHUNK = 1 << 20


class Transcript:
    """The bytes of one run, bounded. Files without a name: they go with the process."""

    def __init__(self, beginning: int = BEGINNING_BYTES, end: int = END_BYTES) -> None:
        self._room = beginning
        self._half = max(end // 2, 1)
        self._head: IO[bytes] = _file()
        self._tails: list[IO[bytes]] = []
        self._filled = 0
        self.size = 0
        self.left_out = 0
        self.lost: str | None = None
        """Why nothing of it is kept."""

    def write(self, chunk: bytes) -> None:
        """What came next."""
        self.size += len(chunk)
        if self.lost is None:
            try:
                self._write(chunk)
            except OSError as error:
                self.lost = error.strerror or str(error)
                self.close()

    def _write(self, chunk: bytes) -> None:
        if self._room:
            begun, chunk = chunk[: self._room], chunk[self._room :]
            self._room -= len(begun)
            self._head.write(begun)
        while chunk:
            if not self._tails or self._filled >= self._half:
                self._turn()
            part, chunk = chunk[: self._half - self._filled], chunk[self._half - self._filled :]
            self._filled += len(part)
            self._tails[-1].write(part)

    def _turn(self) -> None:
        """Go on in the other file of the end; what that held is left out."""
        if len(self._tails) < 2:
            self._tails.append(_file())
        else:
            oldest = self._tails.pop(0)
            self.left_out += oldest.tell()
            oldest.seek(0)
            oldest.truncate()
            self._tails.append(oldest)
        self._filled = 0

    def chunks(self) -> Iterator[bytes]:
        """All that is kept, from the beginning."""
        yield from _read(self._head)
        for number, tail in enumerate(self._tails):
            if number == 0 and self.left_out:
                yield b'\n{"type":"dibs","left_out_bytes":%d}\n' % self.left_out
            yield from _read(tail)
        for file in (self._head, *self._tails):
            file.seek(0, 2)

    def close(self) -> None:
        """Let go of the files."""
        for file in (self._head, *self._tails):
            with suppress(OSError):  # what is still to be written to a full disk
                file.close()


def _file() -> IO[bytes]:
    return tempfile.TemporaryFile()


def _read(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    while chunk := file.read(CHUNK):
        yield chunk
