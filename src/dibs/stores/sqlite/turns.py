"""Processes take turns at writing, so that none of them waits long while many write.

SQLite's own `busy_timeout` sleeps longer and longer, so that among many writers an unlucky one waits for seconds. And
whoever lets go of a lock may take it again before a waiting one looks. Hence two locks: wait for `next`, then for
`current`, then let go of `next`. Nobody passes the one who holds `next`.

Turns are manners, not safety: SQLite's lock keeps writers apart. So nobody waits for a turn for ever. A process that
was stopped while it held a turn delays others once by `LONGEST_S`, and does not lock them out.
"""

from __future__ import annotations

import os
from _thread import allocate_lock, start_new_thread

try:
    import fcntl
except ImportError:  # Windows: SQLite's own waiting has to do.
    fcntl = None  # type: ignore[assignment]

LONGEST_S = 2.0


class Turns:
    """The right to write to the database at `path`; `take` waits for it."""

    def __init__(self, path: str) -> None:
        self._current = self._next = -1
        self._late: dict[int, _Waiting] = {}
        if fcntl is not None:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._current = os.open(path + "-lock", flags, 0o666)
            self._next = os.open(path + "-lock-next", flags, 0o666)

    def take(self) -> None:
        """Wait until nobody else writes, but no longer than `LONGEST_S`."""
        if self._current < 0:
            return
        self._wait_for(self._next)
        try:
            self._wait_for(self._current)
        finally:
            fcntl.flock(self._next, fcntl.LOCK_UN)

    def try_take(self) -> bool:
        """Take the turn if nobody writes or waits to; whether it is taken."""
        if self._current < 0:
            return False
        try:
            fcntl.flock(self._next, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        try:
            fcntl.flock(self._current, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            fcntl.flock(self._next, fcntl.LOCK_UN)
        return True

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

    def _wait_for(self, descriptor: int) -> None:
        """Take a lock, or give up after `LONGEST_S`; at once while an earlier wait for it goes on.

        The system's call for it cannot be told to give up, so a thread makes it: waiting in the system's queue is fair
        and costs nothing, which looking again and again is not and does.
        """
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            late = self._late.get(descriptor)
            if late is None or not late.abandoned:
                self._late[descriptor] = waiting = _Waiting(descriptor)
                waiting.wait()


class _Waiting:
    """A thread in the system's queue for a lock. `abandoned`: it is still there, but nobody wants what it gets."""

    __slots__ = ("_descriptor", "_guard", "_taken", "abandoned")

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._guard = allocate_lock()
        self._taken = allocate_lock()
        self.abandoned = False

    def wait(self) -> None:
        self._taken.acquire()
        start_new_thread(self._queue_up, ())
        taken = False
        try:
            taken = self._taken.acquire(timeout=LONGEST_S)
        finally:
            if not taken:  # too late, or interrupted
                with self._guard:
                    self.abandoned = not self._taken.acquire(blocking=False)

    def _queue_up(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            with self._guard:
                if self.abandoned:
                    self.abandoned = False
                    fcntl.flock(self._descriptor, fcntl.LOCK_UN)
                else:
                    self._taken.release()
        except OSError:  # the store was closed meanwhile
            pass
