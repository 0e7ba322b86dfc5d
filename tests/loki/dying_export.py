"""An export that is killed with `kill -9` at the n-th change of a file's name, before or after it takes effect.

`run(URL, DIR, N, "before" or "after")`.
"""

from __future__ import annotations

import os
import signal
from typing import Any

import dibs
from dibs.loki import exporting


def run(url: str, folder: str, left: int, when: str) -> None:
    """Export until it is done, or until death."""
    replace = os.replace

    def mortal(*args: Any) -> None:
        nonlocal left
        left -= 1
        if not left and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        replace(*args)
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    os.replace = mortal  # type: ignore[assignment]
    with dibs.connect_sync(url) as queue:
        exporting.export(queue, folder, force=True)
