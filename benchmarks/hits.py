"""A record of handler starts kept outside every store: one fixed-size line (instant, number) per start.

Appending 16 bytes is atomic, so several processes may share one file.
"""

from __future__ import annotations

import os
import struct
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

VARIABLE = "DIBS_BENCH_HITS"
"""Names the file in the environment of a worker."""

_LINE = struct.Struct("<dq")
_files: dict[str, int] = {}


def record(number: int) -> None:
    """Note that the handler of task `number` has started. Called inside a worker."""
    path = os.environ[VARIABLE]
    if path not in _files:
        _files[path] = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(_files[path], _LINE.pack(time.time(), number))


class Hits:
    """The reading side."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def environment(self) -> dict[str, str]:
        return {VARIABLE: str(self.path)}

    def count(self) -> int:
        try:
            return self.path.stat().st_size // _LINE.size
        except FileNotFoundError:
            return 0

    def all(self) -> list[tuple[float, int]]:
        """(instant, number) of every start, in the order in which they were written."""
        return list(_LINE.iter_unpack(self.path.read_bytes())) if self.count() else []

    def first_at(self) -> float:
        return min(at for at, _ in self.all())
