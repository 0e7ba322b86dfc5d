"""Waits for a process to end, then stops the servers in a folder and removes it, if they are still there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

_ENDED_BY = {"postmaster.pid": signal.SIGQUIT, "redis.pid": signal.SIGKILL}


def mind(whose: int, folder: Path) -> None:
    """Should that process be killed, the servers that it has in this folder are not to stay behind."""
    # It needs nothing of the environment, which takes longer to look through than all that it does.
    subprocess.run([sys.executable, "-I", "-S", __file__, str(whose), str(folder)], check=True)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def main(controller: int, folder: Path) -> None:
    """Goes into the background first, so that who starts it need not wait."""
    if os.fork():
        os._exit(0)
    os.setsid()
    with open(os.devnull, "r+b") as nothing:
        for number in range(3):
            os.dup2(nothing.fileno(), number)
    while _is_there(controller) and folder.exists():
        time.sleep(0.5)
    for name, ending in _ENDED_BY.items():
        for note in folder.rglob(name):
            try:
                os.kill(int(note.read_text().split()[0]), ending)
            except (OSError, ValueError, IndexError):
                pass
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
