"""An event loop in a thread of its own, for those who have none: every call waits for its answer right here."""

from __future__ import annotations

import asyncio
from threading import Thread, current_thread
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

R = TypeVar("R")


class Portal:
    """The thread is a daemon: who never closes does not keep the process alive."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="dibs-postgres", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Run a coroutine over there and wait for it. Who is interrupted meanwhile stops waiting at once."""
        assert current_thread() is not self._thread, "it would wait for itself"
        answer = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            return answer.result()
        except BaseException:
            # Only KeyboardInterrupt and its like find it still running.
            answer.cancel()
            raise

    def close(self) -> None:
        """End the thread. What still runs there is given up."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self._stop)
            self._thread.join()

    def _stop(self) -> None:
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        if left:
            asyncio.gather(*left, return_exceptions=True).add_done_callback(lambda _: self.loop.stop())
        else:
            self.loop.stop()
