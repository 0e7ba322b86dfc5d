"""An export that is killed with `kill -9` at the n-th change of a file's name, before or after it takes effect.

Run as `python -m tests.loki.dying_export URL DIR N before|after`.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import dibs
from dibs.loki import exporting

if __name__ == "__main__":
    url, folder, last, when = sys.argv[1:]
    left = int(last)
    replace = os.replace

    def mortal(*args: Any) -> None:
        global left
        left -= 1
        if not left and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        replace(*args)
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    os.replace = mortal  # type: ignore[assignment]
    with dibs.connect_sync(url) as queue:
        exporting.export(queue, folder, force=True)
