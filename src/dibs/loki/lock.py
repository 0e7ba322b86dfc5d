"""`queue.lock`: whoever reads or writes Loki's five files holds it.

It is an advisory lock of the system (`flock`) on a file that stays; the system lets go of it when its holder ends,
however it ends. So there is no stale lock: a file that lies around means nothing, and deleting it helps nobody. We
wait as long as Loki's own tools do. While we hold it the file says who we are; who else holds it, the system may know.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dibs.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator

WAIT_S = 10.0
_LOOK_AGAIN_S = 0.05
_NOTE_BYTES = 200


@contextmanager
def locked(path: str, wait_s: float | None = None) -> Iterator[None]:
    """Hold the lock at `path`, which is made if it is not there. `Unavailable` says who has it, or why it fails."""
    patience_s = WAIT_S if wait_s is None else wait_s
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = _taken(path, time.monotonic() + patience_s)
    except OSError as error:
        raise Unavailable(
            f"The lock {path} cannot be taken: {error.strerror}; without it nobody may touch the files."
        ) from None
    if descriptor is None:
        raise Unavailable(
            f"{path} has been held for {patience_s:g} s by {_holder(path)}; try again when that has ended. "
            "Deleting the file would not help."
        )
    try:
        _note(descriptor, f"dibs, process {os.getpid()} on {os.uname().nodename}\n")
        yield
    finally:
        _note(descriptor, "")
        os.close(descriptor)


def _taken(path: str, deadline: float) -> int | None:
    """An open file with the lock on it; None if others had it until the deadline."""
    while True:
        descriptor = _opened(path)
        kept = False
        try:
            while not _try(descriptor):
                if time.monotonic() >= deadline:
                    return None
                time.sleep(_LOOK_AGAIN_S)
            # If somebody deleted the file meanwhile, the lock that others see is on another one.
            kept = _is_at(path, descriptor)
            if kept:
                return descriptor
        finally:
            if not kept:
                os.close(descriptor)


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except PermissionError:
        # Enough to lock a file that belongs to somebody else.
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def _try(descriptor: int) -> bool:
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _note(descriptor: int, text: str) -> None:
    """Say in the file who holds it, for people who look. Nothing depends on it."""
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
    except OSError:
        pass


def _holder(path: str) -> str:
    """Who holds the lock: as the system says, else as the file says."""
    for process in _processes(path):
        words = _command(process)
        if words:
            return f"process {process} ({words})"
    try:
        with open(path, "rb") as file:
            note = file.read(_NOTE_BYTES).decode(errors="replace").strip()
    except OSError:
        note = ""
    return note or f"another process (`lsof {path}` names it)"


def _processes(path: str) -> Iterator[str]:
    """Processes that may hold the lock, where the system shows them: who took it, then who has the file open.

    In a shell, `flock 200` takes the lock for the shell and ends; the file that the shell has open holds it.
    """
    try:
        place = os.stat(path)
        with open("/proc/locks", encoding="ascii") as locks:
            # 1: FLOCK  ADVISORY  WRITE 4711 08:01:131090 0 EOF
            lines = [line.split() for line in locks]
        yield from (words[4] for words in lines if words[1] == "FLOCK" and words[5].endswith(f":{place.st_ino}"))
        processes = [name for name in os.listdir("/proc") if name.isdigit() and name != str(os.getpid())]
    except (OSError, IndexError):
        return
    for process in processes:
        try:
            files = os.listdir(f"/proc/{process}/fd")
            if any(os.path.samestat(os.stat(f"/proc/{process}/fd/{name}"), place) for name in files):
                yield process
        except OSError:  # it ended, or is somebody else's
            continue


def _command(process: str) -> str:
    """What a process runs; nothing if it has ended or cannot be seen."""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return file.read(_NOTE_BYTES).decode(errors="replace").replace("\0", " ").strip()
    except OSError:
        return ""
