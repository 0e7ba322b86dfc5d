"""What every topic of the suite stands on: how its tests run, and the few moves they all make.

Tests are coroutines that ask for what they need by name: `queue` (a queue on fresh storage), `clock`
(the clock that it goes by) and `other` (a second queue on the same storage, as another process would open it;
such a test is skipped where `shared` is false). When a topic is defined its tests become plain
functions, so pytest needs no plugin to run them.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import pytest

from dibs import tenancy
from dibs.testing.clock import FakeClock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from dibs.model.claim import Claim
    from dibs.model.event import Event
    from dibs.model.status import Status
    from dibs.model.task import Task
    from dibs.queue import Queue
    from dibs.rules.access import Rights
    from dibs.stores.homes import Homes


class Topic:
    """Some of the tests that a store must pass. A subclass says how its storage is opened."""

    shared: ClassVar[bool] = True
    """Whether `open_queue`, called again in the same test, gives another client of the same storage."""

    beneath: ClassVar[bool] = True
    """Whether the queue is on the store itself. A client of a server has the same verbs, but a few tests say through
    them what only the store can be told: they are marked (`on_the_store`), each with its reason."""

    time_limit_s: ClassVar[float] = 100.0

    async def open_queue(self, clock: FakeClock) -> Queue:
        """A queue on this test's storage, which is empty when the test begins, going by `clock`."""
        raise NotImplementedError("Say how your store is opened: async def open_queue(self, clock).")

    def run_in_loop(self, test: Coroutine[Any, Any, None]) -> None:
        """Run a test to its end in an event loop: one of its own, unless your store keeps something for the next."""
        asyncio.run(test)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, member in list(vars(cls).items()):
            if name.startswith("test_") and inspect.iscoroutinefunction(member):
                setattr(cls, name, _runnable(member))

    def run(self, test: Callable[..., Awaitable[None]]) -> None:
        """Run one coroutine test, with what its parameters name. For tests that pytest parametrises."""
        wanted = list(inspect.signature(test).parameters)[1:]
        if "other" in wanted and not self.shared:
            pytest.skip("needs a second client of the same storage")
        if not self.beneath and hasattr(test, "on_the_store"):
            pytest.skip(f"on the store only: {test.on_the_store}")
        self.run_in_loop(self._run(test, wanted))

    async def _run(self, test: Callable[..., Awaitable[None]], wanted: Sequence[str]) -> None:
        clock = FakeClock()
        opened: list[Queue] = []
        try:
            async with asyncio.timeout(self.time_limit_s):
                given: dict[str, object] = {"clock": clock}
                for name in ("queue", "other"):
                    if name in wanted:
                        given[name] = await self.open_queue(clock)
                        opened.append(given[name])  # type: ignore[arg-type]
                await test(self, **{name: given[name] for name in wanted})
        finally:
            for queue in reversed(opened):
                await queue.close()


Test = TypeVar("Test", bound="Callable[..., object]")


def on_the_store(why: str) -> Callable[[Test], Test]:
    """A test that needs a queue on the store itself (`Topic.beneath`), and why a client of a server will not do."""

    def mark(test: Test) -> Test:
        test.on_the_store = why  # type: ignore[attr-defined]
        return test

    return mark


def _runnable(test: Callable[..., Awaitable[None]]) -> Callable[[Topic], None]:
    @functools.wraps(test)
    def run(self: Topic) -> None:
        self.run(test)

    # pytest reads the wrapped signature otherwise, and looks for fixtures of these names.
    del run.__wrapped__
    return run


def seen_by(queue: Queue, rights: Rights, homes: Homes) -> Queue:
    """The queue, confined: on a store by `dibs.tenancy`, on a server by the token of another client."""
    if queue.far:
        confined: Queue = queue.seen_by(rights, homes)  # type: ignore[attr-defined]
        return confined
    return tenancy.seen_by(queue, rights, homes)


async def take(queue: Queue, type: str | None = None, *, agent: str = "ada", **options: Any) -> Claim:
    """Claim exactly one task, of this type if one is given."""
    claims = await queue.claim(agent, types=None if type is None else [type], **options)
    assert len(claims) == 1, f"expected one claim of {type or 'any type'}, got {len(claims)}"
    return claims[0]


async def nothing(queue: Queue, type: str | None = None, *, agent: str = "ada", **options: Any) -> bool:
    """Whether there is nothing to claim."""
    return await queue.claim(agent, types=None if type is None else [type], **options) == []


async def finish(queue: Queue, type: str, output: Any = None) -> Claim:
    """Claim the best task of a type and complete it."""
    claim = await take(queue, type)
    await queue.complete(claim, output)
    return claim


async def kill(queue: Queue, type: str) -> Claim:
    """Claim the best task of a type and fail it for good."""
    claim = await take(queue, type)
    await queue.fail(claim, "it broke", retry=False)
    return claim


async def elapse(queue: Queue, clock: FakeClock, seconds: float) -> None:
    """Let time pass, then run the duties that are due."""
    await queue.run_duties()
    clock.advance(seconds)
    await queue.run_duties()


async def status(queue: Queue, task: Task | str) -> Status:
    """Where a task is now."""
    return (await queue.get(task if isinstance(task, str) else task.id)).status


async def events(queue: Queue, *, after: int = 0) -> list[Event]:
    """Everything that happened so far, in order."""
    found: list[Event] = []
    while more := await queue.read_events(found[-1].seq if found else after):
        found += more
    return found


async def story(queue: Queue, about: str, *, after: int = 0) -> list[str]:
    """What happened to one task or, of its own, one dag: event types without their first word."""
    return [
        event.type.partition(".")[2]
        for event in await events(queue, after=after)
        if event.task_id == about or (event.task_id is None and event.dag_id == about)
    ]
