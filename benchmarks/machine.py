"""On what the figures were measured."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.bench import filesystem


def describe(folder: Path) -> dict[str, str]:
    """Machine and system, in words, and how busy they are."""
    return {
        "machine": f"{os.cpu_count()} cores, {_processor()}, {_memory()}",
        "system": f"{platform.system()} {platform.release()}, {filesystem(folder) or 'unknown filesystem'}",
        "load before": f"{os.getloadavg()[0]:.2f} (the figures mean something when this is near 0)",
        "python": f"{platform.python_implementation()} {sys.version.split()[0]}",
    }


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "?"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> str:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{total / 2**30:.0f} GiB RAM"
