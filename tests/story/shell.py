"""A real bash in a folder of its own, with `dibs` on its path: what a reader of the documentation has."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import dibs

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT_S = 100


class Shell:
    """Runs scripts in one folder; nothing of the surroundings' dibs settings reaches them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("DIBS_")}
        self.environment["PATH"] = f"{_bin(folder)}{os.pathsep}{self.environment['PATH']}"
        self.environment["TMPDIR"] = str(folder)

    def run(self, script: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a script with bash, stopping at the first command that fails."""
        ended = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        if check:
            assert ended.returncode == 0, f"exit code {ended.returncode}\n{ended.stdout}\n{ended.stderr}"
        return ended


def _bin(folder: Path) -> str:
    """The folder of the environment's own commands; where dibs is not installed as one, a stand-in for it."""
    installed = os.path.dirname(sys.executable)
    if os.path.exists(os.path.join(installed, "dibs")):
        return installed
    made = folder / ".bin"
    made.mkdir(exist_ok=True)
    source = os.path.dirname(os.path.dirname(os.path.abspath(dibs.__file__)))
    for name, command in (("dibs", f"{sys.executable} -m dibs.cli"), ("python", sys.executable)):
        (made / name).write_text(f'#!/bin/sh\nexport PYTHONPATH="{source}"\nexec {command} "$@"\n')
        (made / name).chmod(0o755)
    return str(made)
