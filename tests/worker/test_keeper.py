"""Who runs the duties: a keeper where there is one, else whoever claims."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import dibs
from dibs import keeper
from dibs.keeper import Keeper
from tests.worker.facts import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

    from dibs.queue import Queue


class Counted:
    """How often the duties of a queue were looked after."""

    def __init__(self, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        run_duties = queue.run_duties

        async def counted() -> dict[str, int]:
            self.times += 1
            return await run_duties()

        monkeypatch.setattr(queue, "run_duties", counted)


@contextlib.asynccontextmanager
async def keeping(queue: Queue) -> AsyncIterator[None]:
    """A keeper that has begun."""
    kept = Keeper(queue)
    running = asyncio.create_task(kept.run())
    await eventually(lambda: kept.ran_at is not None)
    try:
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_claims_leave_the_duties_to_a_keeper(monkeypatch: pytest.MonkeyPatch) -> None:
    # One tick is enough for this test, however long it takes.
    monkeypatch.setattr(keeper, "TICK_S", 1_000.0)
    monkeypatch.setattr(keeper, "LATE_S", 3_000.0)
    async with dibs.connect("memory:") as queue:
        duties = Counted(queue, monkeypatch)
        async with keeping(queue):
            assert duties.times == 1
            await queue.claim("ada")
            assert duties.times == 1
        await queue.claim("ada")
        assert duties.times == 2


async def test_a_keeper_that_is_late_is_not_relied_upon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "TICK_S", 1_000.0)
    async with dibs.connect("memory:") as queue:
        duties = Counted(queue, monkeypatch)
        async with keeping(queue):
            assert queue.kept_until > 0
            queue.kept_until = time.monotonic()
            await queue.claim("ada")
            assert duties.times == 2
