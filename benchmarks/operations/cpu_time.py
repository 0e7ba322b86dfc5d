"""CPU seconds of this process with the processes it ran, and of a server on this machine.

The server's are read from /proc. Where that is missing nobody knows them, and wall time has to do.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

PROC = Path("/proc")


def spent_here() -> float:
    """By all threads of this process, and by its children that ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def can_tell(pid: int | None) -> bool:
    return pid is not None and (PROC / str(pid) / "stat").exists()


def spent_by(pid: int) -> dict[int, float]:
    """Seconds of each living process of the tree below `pid`, which is one of them."""
    below: dict[int, list[int]] = {}
    ticks: dict[int, float] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                # The name of the program stands in brackets and may hold anything.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            below.setdefault(int(fields[1]), []).append(int(entry.name))
            ticks[int(entry.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    tree = [pid]
    for one in tree:
        tree += below.get(one, ())
    return {one: precise if (precise := _precise(one)) is not None else ticks[one] for one in tree if one in ticks}


def _precise(pid: int) -> float | None:
    """In nanoseconds where the kernel says it so; `stat` counts in hundredths of a second."""
    try:
        threads = [int((thread / "schedstat").read_text().split()[0]) for thread in (PROC / f"{pid}/task").iterdir()]
    except (OSError, ValueError, IndexError):
        return None
    return sum(threads) / 1e9


def between(before: dict[int, float], later: dict[int, float]) -> float:
    """What a tree spent; a process that ended meanwhile is not counted."""
    return sum(max(0.0, spent - before.get(pid, 0.0)) for pid, spent in later.items())
