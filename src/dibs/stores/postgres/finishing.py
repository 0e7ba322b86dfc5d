"""Work that comes to its end also when whoever waits for it is cancelled.

A task of its own would do (`asyncio.shield`), but costs as much as all other Python around a statement. So the work is
done in the caller's task, step by step, and gets a task only if the caller is cancelled.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from contextvars import Context

T = TypeVar("T")

Steps = Any
"""A coroutine under way: what its `__await__` gives, to be sent None for each step."""


class Finished(Generic[T]):
    """To be awaited: does `work`. At its end, however late, `ended` is called with the error it ended with."""

    __slots__ = ("_ended", "_work")

    def __init__(self, work: Coroutine[Any, Any, T], ended: Callable[[BaseException | None], None]) -> None:
        self._work = work
        self._ended = ended

    def __await__(self) -> Generator[Any, None, T]:
        steps = self._work.__await__()
        shelter: _Shelter | None
        while True:
            try:
                awaited = steps.send(None)
            except StopIteration as end:
                self._ended(None)
                result: T = end.value
                return result
            except BaseException as error:
                self._ended(error)
                raise
            shelter = None if awaited is None else _Shelter(awaited)
            try:
                # None: a step for its own sake, such as sleep(0).
                yield shelter
            except GeneratorExit as error:
                self._ended(error)
                raise
            except BaseException as error:
                # An error of what was awaited is met by the next step, also if that was cancelled.
                caused = shelter is not None and not shelter.is_left and awaited.done()
                if isinstance(error, asyncio.CancelledError) and not (caused and awaited.cancelled()):
                    self._leave(steps, awaited)
                    raise

    def _leave(self, steps: Steps, awaited: asyncio.Future[Any] | None) -> None:
        """The caller leaves: the rest is done in a task that whoever cancels him cannot reach."""
        ended = self._ended
        task = asyncio.create_task(_rest(steps, awaited))
        # Asking for the error also marks it as seen: nobody else will look.
        task.add_done_callback(lambda task: ended(asyncio.CancelledError() if task.cancelled() else task.exception()))


class _Shelter:
    """What a step waits for, as the caller's task sees it. Cancelling the task wakes the task, and nothing else."""

    __slots__ = ("_asyncio_future_blocking", "_awaited", "_context", "_wake", "is_left")

    def __init__(self, awaited: asyncio.Future[Any]) -> None:
        awaited._asyncio_future_blocking = False
        self._asyncio_future_blocking = True
        self._awaited = awaited
        self.is_left = False

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._awaited.get_loop()

    def add_done_callback(self, wake: Callable[[Any], object], *, context: Context | None = None) -> None:
        self._wake, self._context = wake, context
        self._awaited.add_done_callback(wake, context=context)

    def cancel(self, msg: object = None) -> bool:
        if self._awaited.done():
            return False
        self.is_left = True
        self._awaited.remove_done_callback(self._wake)
        self.get_loop().call_soon(self._wake, self, context=self._context)
        return True

    def result(self) -> None:
        raise asyncio.CancelledError


async def _rest(steps: Steps, awaited: asyncio.Future[Any] | None) -> None:
    """The rest of the steps, beginning when what they wait for is there."""
    if awaited is not None:
        await asyncio.wait({awaited})
    await _Rest(steps)


class _Rest:
    __slots__ = ("_steps",)

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def __await__(self) -> Generator[Any, None, Any]:
        return (yield from self._steps)
