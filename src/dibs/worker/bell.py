"""An event that cuts short whatever else somebody waits for.

Waiting for the first of two things takes a task for each, and a worker that has slept pays for each of them before it
claims. Here the one who waits is woken in its own task, as `asyncio.timeout` does it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


class Bell(asyncio.Event):
    """Rung with `set`, from the thread of its event loop. One task at a time may have its waiting cut short."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: asyncio.Task[Any] | None = None

    def set(self) -> None:
        if self.is_set():
            return
        super().set()
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    async def cuts_short(self, waiting: Coroutine[Any, Any, T]) -> T | None:
        """What was waited for; None: the bell rang first."""
        if self.is_set():
            waiting.close()
            return None
        task = self._waiting = asyncio.current_task()
        assert task is not None
        try:
            found = await waiting
        except asyncio.CancelledError:
            if self._has_cancelled() and task.uncancel() == 0:
                return None
            raise
        else:
            if self._has_cancelled():
                # Whatever was waited for came at the same moment.
                task.uncancel()
            return found
        finally:
            self._waiting = None

    def _has_cancelled(self) -> bool:
        return self._waiting is None
