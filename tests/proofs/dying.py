"""A store whose user is killed with a certain call: before it is made, or after."""

from __future__ import annotations

import os
import signal
from typing import Any


class Killed:
    """The store, until so many calls were made."""

    def __init__(self, store: Any, at: int, after: bool) -> None:
        self._store = store
        self._left = at
        self._after = after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in ("now", "clock", "url"):
            return found

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._after:
                os.kill(os.getpid(), signal.SIGKILL)
            answer = await found(*args, **kwargs)
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return answer

        return call
