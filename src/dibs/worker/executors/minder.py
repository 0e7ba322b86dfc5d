"""A small process that outlives its worker by a moment: when the worker is gone, it ends the commands left behind.

A worker that is killed cannot stop its commands, and an agent that works on without a lease spends money for nothing.
The minder hears on its stdin which process groups run (`+group`, `-group`); the end of stdin is the end of the
worker. Run as a script, this file needs nothing but the standard library.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from threading import Lock

GRACE_S = 3.0


class Minder:
    """Tells the process which groups to mind; starts it with the first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Start the process, so that a command started next is minded at once and not only after that."""
        with self._lock:
            self._start()

    def mind(self, group: int) -> None:
        with self._lock:
            self._start()
            self._tell(f"+{group}\n")

    def forget(self, group: int) -> None:
        with self._lock:
            if self._process is not None:
                self._tell(f"-{group}\n")

    def close(self) -> None:
        """The worker leaves in order. Whatever is still minded is ended."""
        with self._lock:
            process, self._process = self._process, None
            if process is not None:
                assert process.stdin is not None
                process.stdin.close()
                process.wait()

    def _start(self) -> None:
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__], stdin=subprocess.PIPE, start_new_session=True
            )

    def _tell(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except BrokenPipeError:  # somebody killed it: commands go on unminded
            pass


def mind_until_the_end() -> None:
    """Follow what is said on stdin; at its end, end every group that is left."""
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
    left = {group for group in groups if _signal(group, signal.SIGTERM)}
    deadline = time.monotonic() + GRACE_S
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = {group for group in left if _signal(group, 0)}
    for group in left:
        _signal(group, signal.SIGKILL)


def _signal(group: int, number: int) -> bool:
    """Signal a group; False if nobody is left in it. Signal 0 only asks."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    mind_until_the_end()
