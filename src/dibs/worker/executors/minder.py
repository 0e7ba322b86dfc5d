"""A small process that outlives its worker by a moment: when the worker is gone, it ends the commands left behind, and
removes their files.

A worker that is killed cannot stop its commands, and an agent that works on without a lease spends money for nothing.
The minder hears on its stdin which process groups run (`+group`, `-group`); the end of stdin is the end of the
worker. What was being started at that moment (`?number`, `!number`) and could not be named any more is known by its
environment. Files are named in hexadecimal (`>file`, `<file`). Run as a script, this module needs nothing but the
standard library.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

GRACE_S = 3.0
MARK = "DIBS_STARTED_AS"
"""The variable by which a command that was just started is known."""


class Minder:
    """Tells the process which groups to mind; starts it with the first."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._name = os.urandom(8).hex()
        self._starts = 0

    @contextmanager
    def starting(self) -> Iterator[dict[str, str]]:
        """Around the start of a command, up to `mind`. With these variables it is ended also if the worker does not
        live to say which group it is."""
        with self._lock:
            self._start()
            self._starts += 1
            number = self._starts
            self._tell(f"?{number}\n")
        try:
            yield {MARK: f"{self._name}-{number}"}
        finally:
            with self._lock:
                self._tell(f"!{number}\n")

    def mind(self, group: int) -> None:
        with self._lock:
            self._start()
            self._tell(f"+{group}\n")

    def forget(self, group: int) -> None:
        with self._lock:
            self._tell(f"-{group}\n")

    @contextmanager
    def minding_file(self, path: str) -> Iterator[None]:
        """A file that is removed with the end of this, also if the worker does not live to do it."""
        with self._lock:
            self._start()
            self._tell(f">{os.fsencode(path).hex()}\n")
        try:
            yield
        finally:
            with suppress(FileNotFoundError):  # whoever leaves ends everything that is minded
                os.unlink(path)
            with self._lock:
                self._tell(f"<{os.fsencode(path).hex()}\n")

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
                [sys.executable, "-I", "-S", __file__, self._name], stdin=subprocess.PIPE, start_new_session=True
            )

    def _tell(self, line: str) -> None:
        if self._process is None:  # closed meanwhile
            return
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except BrokenPipeError:  # somebody killed it: commands go on unminded
            pass


def mind_until_the_end(name: str) -> None:
    """Follow what is said on stdin; at its end, end every group that is left, and what was being started, and remove
    their files."""
    said: dict[str, set[str]] = {"+": set(), "?": set(), ">": set()}
    takes_back = {"-": "+", "!": "?", "<": ">"}
    for line in sys.stdin:
        sign, what = line[0], line[1:].strip()
        if sign in said:
            said[sign].add(what)
        else:
            said[takes_back[sign]].discard(what)
    left, starting = {int(group) for group in said["+"]}, said["?"]
    marks = {f"{MARK}={name}-{number}".encode() for number in starting}
    asked: set[int] = set()
    deadline = time.monotonic() + GRACE_S
    while (left or marks) and time.monotonic() < deadline:
        # One that is not yet its own program has no mark yet: it is looked for until the end.
        left |= _marked(marks) if marks else set()
        left = {group for group in left if _signal(group, 0 if group in asked else signal.SIGTERM)}
        asked |= left
        time.sleep(0.05)
    for group in left:
        _signal(group, signal.SIGKILL)
    for file in said[">"]:
        with suppress(OSError):
            os.unlink(bytes.fromhex(file))


def _marked(marks: set[bytes]) -> set[int]:
    """The groups whose first process has one of these in its environment; none where that cannot be seen."""
    found = set()
    for entry in os.scandir("/proc") if os.path.isdir("/proc") else ():
        try:
            with open(f"{entry.path}/environ", "rb") as file:
                if marks.intersection(file.read().split(b"\0")) and os.getsid(int(entry.name)) == int(entry.name):
                    found.add(int(entry.name))
        except (OSError, ValueError):  # no process, gone, or somebody else's
            pass
    return found


def _signal(group: int, number: int) -> bool:
    """Signal a group; False if nobody is left in it. Signal 0 only asks."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    mind_until_the_end(sys.argv[1])
