"""The surroundings of a measure: how often, how much, in which folder, and whom to tell."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

S = TypeVar("S")
"""The sizes of a store's measures."""

BUSY = 0.7
"""A load average above which the machine is not quiet."""

PAGE_CACHE_ONLY = ("tmpfs", "ramfs")


class Bench(Generic[S]):
    """One run of the benchmarks on one store: its sizes, its temporary folder and its voice."""

    def __init__(self, folder: Path, *, runs: int, sizes: S) -> None:
        self.folder = folder
        self.runs = runs
        self.sizes = sizes
        self._started = time.monotonic()
        self._serial = 0

    def say(self, text: str) -> None:
        """Progress, on standard error: the table alone goes to standard output."""
        print(f"[{time.monotonic() - self._started:6.1f} s] {text}", file=sys.stderr, flush=True)

    def mind_the_load(self) -> None:
        """Warn when others use this machine."""
        if os.getloadavg()[0] > BUSY:
            self.say(f"this machine is busy (load {os.getloadavg()[0]:.1f}): the figures will not mean much")

    def fresh_folder(self, name: str) -> Path:
        """A new empty folder, so that no run inherits another's file."""
        self._serial += 1
        folder = self.folder / f"{self._serial:03d}-{name}"
        folder.mkdir()
        return folder

    def repeat(self, name: str, once: Callable[[], float]) -> tuple[float, ...]:
        """One sample per run."""
        samples = []
        for number in range(self.runs):
            samples.append(once())
            self.say(f"{name}, run {number + 1}/{self.runs}: {samples[-1]:,.6g}")
        return tuple(samples)


@contextmanager
def temporary_folder(where: str | None) -> Iterator[Path]:
    """A folder on a real disk: committing to memory costs nothing and would flatter everybody."""
    with tempfile.TemporaryDirectory(prefix="dibs-bench-", dir=real_disk(where)) as folder:
        yield Path(folder)


def real_disk(where: str | None) -> Path:
    """The folder `where`, else the one of the system for what may be large."""
    parent = Path(where or ("/var/tmp" if os.path.isdir("/var/tmp") else tempfile.gettempdir())).resolve()
    kind = filesystem(parent)
    if kind in PAGE_CACHE_ONLY:
        raise SystemExit(f"{parent} is on {kind}, where fsync does nothing; choose another with --folder.")
    return parent


def filesystem(path: Path) -> str:
    """The type of the filesystem that holds `path`; empty where the system does not say."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return ""
    holding = [(len(point), kind) for point, kind in mounts if path.is_relative_to(point)]
    return max(holding)[1] if holding else ""
