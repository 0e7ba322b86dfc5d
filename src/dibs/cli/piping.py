"""Output that somebody reads while it is being written: when they have seen enough, the command is over."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def while_read() -> Iterator[None]:
    """Raise BrokenPipeError in here as soon as nobody reads standard output any more.

    Whoever waits for news would hear of it only with the next line: `dibs tail | head -1` on a quiet queue, never.
    """
    import select
    import signal
    import stat
    import threading

    try:
        out = sys.stdout.fileno()
    except ValueError:
        out = -1
    if out < 0 or not stat.S_ISFIFO(os.fstat(out).st_mode):
        yield
        return
    reader = threading.main_thread().ident
    assert reader is not None
    gone, over = threading.Event(), threading.Event()

    def watch() -> None:
        poller = select.poll()
        poller.register(out, 0)
        poller.poll()
        gone.set()
        if not over.is_set():
            signal.pthread_kill(reader, signal.SIGPIPE)

    def on_signal(_number: int, _frame: object) -> None:
        # Connections break with the same signal, and tell of it themselves.
        if gone.is_set():
            raise BrokenPipeError

    before = signal.signal(signal.SIGPIPE, on_signal)
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()
        signal.signal(signal.SIGPIPE, before)
