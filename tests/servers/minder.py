"""Waits for a process to end, then stops a PostgreSQL server and removes its folder, if they are still there."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def main(controller: int, data: Path, folder: Path) -> None:
    """Goes into the background first, so that who starts it need not wait."""
    if os.fork():
        os._exit(0)
    os.setsid()
    with open(os.devnull, "r+b") as nothing:
        for number in range(3):
            os.dup2(nothing.fileno(), number)
    while _is_there(controller) and folder.exists():
        time.sleep(0.5)
    try:
        os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
    except (OSError, ValueError, IndexError):
        pass
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
