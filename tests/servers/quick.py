"""Files that cost little: in memory where there is plenty, and databases that need not be made.

A store waits for the disk with every commit. What is tested is not whether the disk kept it: processes are killed here,
but nobody pulls the plug.
"""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

_MEMORY = Path("/dev/shm")
_PLENTY = 4 * 2**30


@cache
def place() -> Path:
    """Where to put files that need not outlive the run."""
    try:
        found = os.statvfs(_MEMORY)
        has_room = found.f_bavail * found.f_frsize >= _PLENTY and os.access(_MEMORY, os.W_OK | os.X_OK)
        # Some tests write programs and start them.
        is_good = has_room and not found.f_flag & os.ST_NOEXEC
    except OSError:
        is_good = False
    return _MEMORY if is_good else Path(tempfile.gettempdir())


def sqlite_file(path: Path) -> Path:
    """An empty database at this path, as the store leaves one that it has just made. Its schema is a lot to write."""
    path.write_bytes(_empty())
    return path


@cache
def _empty() -> bytes:
    from dibs.stores.sqlite import SqliteStore
    from dibs.sync import drive

    with tempfile.TemporaryDirectory(dir=place()) as folder:
        path = Path(folder) / "empty.db"
        drive(SqliteStore.open(str(path), blocking=True).close())
        return path.read_bytes()
