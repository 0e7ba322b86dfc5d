"""Operations on their way through a thread of the engine, and back to whoever waits for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dibs.stores.sqlite.news import wake

if TYPE_CHECKING:
    import asyncio
    from _queue import SimpleQueue
    from collections.abc import Callable, Collection

    from dibs.stores.sqlite.engine import Transaction

T = TypeVar("T")

LARGEST = 256
"""How many jobs are taken at once."""


class Unknown:
    """What a glance returns when only a transaction can tell."""


UNKNOWN = Unknown()


class Job(Generic[T]):
    """One operation on its way through a thread, and who waits for it."""

    __slots__ = ("failed", "future", "glance", "loop", "result", "work")

    def __init__(
        self,
        work: Callable[[Transaction], T],
        glance: Callable[[Transaction], T | Unknown] | None,
        loop: asyncio.AbstractEventLoop | None = None,
        future: asyncio.Future[T] | None = None,
    ) -> None:
        self.work = work
        self.glance = glance
        self.loop = loop
        self.future = future
        self.result: Any = None
        self.failed = False

    def fail(self, error: BaseException) -> None:
        """The answer is an error."""
        self.result = error
        self.failed = True


def take(queue: SimpleQueue[Job[Any] | None]) -> tuple[list[Job[Any]], bool]:
    """Wait for something to do, then take all there is; False once the end was reached."""
    jobs: list[Job[Any]] = []
    job = queue.get()
    while job is not None:
        jobs.append(job)
        if len(jobs) >= LARGEST or queue.empty():
            return jobs, True
        job = queue.get()
    return jobs, False


def take_more(queue: SimpleQueue[Job[Any] | None], most: int) -> list[Job[Any]]:
    """What has been handed over meanwhile. The end stays in the queue."""
    jobs: list[Job[Any]] = []
    while len(jobs) < most and not queue.empty():
        job = queue.get()
        if job is None:
            queue.put(None)
            break
        jobs.append(job)
    return jobs


def tell(jobs: list[Job[Any]], waiters: Collection[asyncio.Future[None]]) -> None:
    """In the loop: give everybody their answers and wake who waits for news."""
    for job in jobs:
        future = job.future
        if future is None or future.done():
            continue
        if job.failed:
            future.set_exception(job.result)
        else:
            future.set_result(job.result)
    wake(waiters)
