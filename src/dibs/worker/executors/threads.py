"""Threads for blocking work. They are reused, and nobody waits for them at exit: a stuck one must not keep a
worker alive.
"""

from __future__ import annotations

import asyncio
import contextvars
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

from dibs.worker.context import SyncContext, hear

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.worker.line import Line

T = TypeVar("T")


class DaemonThreads:
    """As many threads as there is blocking work at once."""

    def __init__(self) -> None:
        self._idle: list[SimpleQueue[Callable[[], None] | None]] = []
        self._closed = False

    def run(self, function: Callable[[], T]) -> asyncio.Future[T]:
        """Call `function` in a thread. Cancelling the future does not stop it; nobody hears of its end then."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def job() -> None:
            try:
                value = function()
            except BaseException as error:
                deliver(loop, future, None, error)
            else:
                deliver(loop, future, value, None)

        try:
            box = self._idle.pop()
        except IndexError:
            box = SimpleQueue()
            Thread(target=self._serve, args=(box,), name="dibs-work", daemon=True).start()
        box.put(job)
        return future

    def close(self) -> None:
        """Let idle threads end; busy ones end after their work."""
        self._closed = True
        while self._idle:
            self._idle.pop().put(None)

    def _serve(self, box: SimpleQueue[Callable[[], None] | None]) -> None:
        while (job := box.get()) is not None:
            job()
            # A thread that waits must not keep the last task's payload alive.
            del job
            if self._closed:
                return
            self._idle.append(box)


def deliver(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], value: Any, error: BaseException | None
) -> None:
    """Resolve a future of another thread's loop, unless nobody waits for it any more."""

    def resolve() -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        elif isinstance(error, StopIteration):  # which a future refuses to carry
            future.set_exception(RuntimeError("the handler raised StopIteration"))
        else:
            future.set_exception(error)

    try:
        loop.call_soon_threadsafe(resolve)
    except RuntimeError:  # the loop is closed: the worker has left
        pass


async def run_in_thread(line: Line, threads: DaemonThreads) -> Any:
    """Run a plain function with its payload; its output. Cancelling this leaves the thread to itself."""
    work = line.work
    signature = work.handler.call
    assert signature is not None
    arguments = signature.arguments(work.claim.task.payload)
    loop = asyncio.get_running_loop()
    if signature.context is not None:
        context = SyncContext(
            work.claim,
            call=lambda verb, given: asyncio.run_coroutine_threadsafe(line.call(verb, given), loop).result(),
            tell=lambda verb, given: hear(work, verb, given),
            stopped=lambda: work.stopped is not None,
            slow_down=lambda: work.slow_down,
        )
        arguments = {**arguments, signature.context: context}
    variables = contextvars.copy_context()
    return await threads.run(lambda: variables.run(work.handler.function, **arguments))
