"""Work that comes to its end also when whoever waits for it is cancelled.

A task of its own would do (`asyncio.shield`), but costs as much as half the Python around a statement. So the work is
done in the caller's task, step by step, and gets a task only if the caller is cancelled.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

T = TypeVar("T")

Steps = Any
"""A coroutine under way: what its `__await__` gives, to be sent None for each step."""


async def finished(work: Coroutine[Any, Any, T], ended: Callable[[BaseException | None], None]) -> T:
    """Do `work`. At its end, however late, `ended` is called with the error it ended with."""
    steps = work.__await__()
    try:
        result: T = await _Guarded(steps)
    except _Left as left:
        task = asyncio.create_task(_go_on(steps, left.awaited))
        # Asking for the error also marks it as seen: nobody else will look.
        task.add_done_callback(lambda task: ended(asyncio.CancelledError() if task.cancelled() else task.exception()))
        raise asyncio.CancelledError from None
    except BaseException as error:
        ended(error)
        raise
    ended(None)
    return result


class _Left(BaseException):
    """The caller was cancelled while the work waited for something."""

    def __init__(self, awaited: asyncio.Future[Any] | None) -> None:
        self.awaited = awaited


class _Guarded:
    """Takes the steps. What they wait for is waited for through a future of our own: cancelling a task cancels the
    future that it waits for."""

    __slots__ = ("_steps",)

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def __await__(self) -> Generator[Any, None, Any]:
        steps = self._steps
        while True:
            try:
                awaited = steps.send(None)
            except StopIteration as end:
                return end.value
            if awaited is None:
                # A step for its own sake, such as sleep(0).
                try:
                    yield
                except asyncio.CancelledError:
                    raise _Left(None) from None
                continue
            awaited._asyncio_future_blocking = False
            done = awaited.get_loop().create_future()
            awaited.add_done_callback(lambda _, done=done: done.done() or done.set_result(None))
            try:
                yield from done
            except asyncio.CancelledError:
                raise _Left(awaited) from None


async def _go_on(steps: Steps, awaited: asyncio.Future[Any] | None) -> Any:
    """The rest of the steps, beginning when what they wait for is there."""
    if awaited is not None:
        await asyncio.wait({awaited})
    return await _Rest(steps)


class _Rest:
    __slots__ = ("_steps",)

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def __await__(self) -> Generator[Any, None, Any]:
        return (yield from self._steps)
