"""The surroundings of a measure: how often, how much, in which folder, and whom to tell."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE_CACHE_ONLY = ("tmpfs", "ramfs")


@dataclass(frozen=True)
class Sizes:
    """How much work each measure does. Rates need at least 3 s of it to be worth reading."""

    raw_rows: int = 600_000
    drain_dibs: int = 100_000
    drain_huey: int = 10_000
    crowd: int = 4
    bulk: int = 100_000
    bulk_chunk: int = 1_000
    adds: int = 4_000
    backlog: int = 1_000_000
    short_backlog: int = 1_000
    lanes: int = 50
    single_claims: int = 300
    batch_claims: int = 60
    batch: int = 100
    pings: int = 300
    ping_interval_s: float = 0.02
    memory_tasks: int = 500_000
    shell_pairs: int = 15


QUICK = Sizes(
    raw_rows=100_000,
    drain_dibs=20_000,
    drain_huey=3_000,
    bulk=20_000,
    adds=1_000,
    backlog=100_000,
    single_claims=100,
    batch_claims=20,
    pings=100,
    memory_tasks=60_000,
    shell_pairs=7,
)
"""For trying out a change. Too short to quote."""


class Bench:
    """One run of the benchmarks: its sizes, its temporary folder and its voice."""

    def __init__(self, folder: Path, *, runs: int = 3, sizes: Sizes | None = None) -> None:
        self.folder = folder
        self.runs = runs
        self.sizes = sizes or Sizes()
        self._started = time.monotonic()
        self._serial = 0

    def say(self, text: str) -> None:
        """Progress, on standard error: the table alone goes to standard output."""
        print(f"[{time.monotonic() - self._started:6.1f} s] {text}", file=sys.stderr, flush=True)

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


def temporary_folder(where: str | None) -> tempfile.TemporaryDirectory[str]:
    """A folder on a real disk: committing to memory costs nothing and would flatter everybody."""
    parent = Path(where or ("/var/tmp" if os.path.isdir("/var/tmp") else tempfile.gettempdir())).resolve()
    kind = filesystem(parent)
    if kind in PAGE_CACHE_ONLY:
        raise SystemExit(f"{parent} is on {kind}, where fsync does nothing; choose another with --folder.")
    return tempfile.TemporaryDirectory(prefix="dibs-bench-", dir=parent)


def filesystem(path: Path) -> str:
    """The type of the filesystem that holds `path`; empty where the system does not say."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return ""
    holding = [(len(point), kind) for point, kind in mounts if path.is_relative_to(point)]
    return max(holding)[1] if holding else ""
