"""Ready is more than alive: the store answers, is nobody else's, and the duties run."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.errors import Unavailable
from dibs.keeper import Keeper
from dibs.server import readiness
from dibs.server.readiness import Readiness
from dibs.stores.standing import FILLING, Standing

if TYPE_CHECKING:
    from dibs.queue import Queue


async def troubles(queue: Queue, *, ran_at: float | None, leaving: bool = False) -> list[str]:
    keeper = Keeper(queue)
    keeper.ran_at = ran_at
    return [trouble.code for trouble in await Readiness(queue, keeper, lambda: leaving).troubles()]


def test_a_server_is_ready_once_its_duties_have_run() -> None:
    async def scene() -> None:
        async with dibs.connect("memory:") as queue:
            assert await troubles(queue, ran_at=None) == ["starting"]
            keeper = Keeper(queue)
            running = asyncio.create_task(keeper.run())
            while keeper.ran_at is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            running.cancel()
            await asyncio.wait({running})
            assert await Readiness(queue, keeper, lambda: False).troubles() == []

    asyncio.run(scene())


def test_duties_that_do_not_run_any_more_are_told() -> None:
    async def scene() -> None:
        async with dibs.connect("memory:") as queue:
            late = time.monotonic() - readiness.LATE_S - 1
            assert await troubles(queue, ran_at=late) == ["keeper_late"]

    asyncio.run(scene())


def test_a_store_that_is_being_filled_is_not_ready() -> None:
    async def scene() -> None:
        async with dibs.connect("memory:") as queue:
            await queue.store.stand(Standing(state=FILLING, peer="elsewhere"))
            assert await troubles(queue, ran_at=time.monotonic()) == ["migrating"]

    asyncio.run(scene())


def test_a_server_that_leaves_is_not_ready() -> None:
    async def scene() -> None:
        async with dibs.connect("memory:") as queue:
            assert await troubles(queue, ran_at=time.monotonic(), leaving=True) == ["draining"]

    asyncio.run(scene())


@pytest.mark.parametrize("how", ["refuses", "hangs"])
def test_a_store_that_is_away_is_told_without_naming_it(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readiness, "PATIENCE_S", 0.05)
    monkeypatch.setattr(readiness, "KEPT_S", 600.0)
    asked = []

    async def standing() -> Standing:
        asked.append(True)
        if how == "hangs":
            await asyncio.sleep(60)
        raise Unavailable("postgresql://me:geheim@db is away")

    async def scene() -> None:
        async with dibs.connect("memory:") as queue:
            monkeypatch.setattr(queue.store, "standing", standing)
            keeper = Keeper(queue)
            keeper.ran_at = time.monotonic()
            ready = Readiness(queue, keeper, lambda: False)
            answers = await asyncio.gather(*(ready.troubles() for _ in range(20)))
            answers.append(await ready.troubles())
            assert all([trouble.code for trouble in answer] == ["store_away"] for answer in answers)
            assert "geheim" not in str(answers)
            assert len(asked) == 1

    asyncio.run(scene())
