"""Processes take turns at writing, in a queue of the operating system.

SQLite's own `busy_timeout` sleeps and tries again, so that among many writers an unlucky one waits for
seconds. A lock of the system wakes the next one at once, but whoever lets go of it may take it again before
the woken one runs. Hence two locks: wait for `next`, then for `current`, then let go of `next`. Nobody
passes the one who holds `next`.
"""

from __future__ import annotations

import os

try:
    import fcntl
except ImportError:  # Windows: SQLite's own waiting has to do.
    fcntl = None  # type: ignore[assignment]


class Turns:
    """The right to write to the database at `path`; `take` waits for it."""

    def __init__(self, path: str) -> None:
        self._current = self._next = -1
        if fcntl is not None:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._current = os.open(path + "-lock", flags, 0o666)
            self._next = os.open(path + "-lock-next", flags, 0o666)

    def take(self) -> None:
        """Wait until nobody else writes."""
        if self._current >= 0:
            fcntl.flock(self._next, fcntl.LOCK_EX)
            fcntl.flock(self._current, fcntl.LOCK_EX)
            fcntl.flock(self._next, fcntl.LOCK_UN)

    def give(self) -> None:
        """Let the next one write."""
        if self._current >= 0:
            fcntl.flock(self._current, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give up the files. Closing them also gives up a turn."""
        for descriptor in (self._current, self._next):
            if descriptor >= 0:
                os.close(descriptor)
        self._current = self._next = -1
