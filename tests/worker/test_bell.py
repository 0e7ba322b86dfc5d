"""An event that cuts short whatever else somebody waits for."""

from __future__ import annotations

import asyncio

import pytest

from dibs.worker.bell import Bell


async def _waits_for(future: asyncio.Future[str]) -> str:
    return await future


def _cancelling() -> int:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


async def test_what_was_waited_for_is_handed_over() -> None:
    bell = Bell()
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, "news")
    assert await bell.cuts_short(_waits_for(future)) == "news"
    bell.set()
    assert _cancelling() == 0, "nobody waits any more whom it could cut short"


async def test_a_bell_that_rang_lets_nobody_wait() -> None:
    bell = Bell()
    bell.set()
    waiting = _waits_for(asyncio.get_running_loop().create_future())
    assert await bell.cuts_short(waiting) is None
    with pytest.raises(RuntimeError):
        await waiting  # it is not left over


async def test_a_bell_wakes_whoever_waits_in_its_own_task() -> None:
    bell = Bell()
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(bell.set)
    assert await bell.cuts_short(_waits_for(future)) is None
    assert future.cancelled()
    assert _cancelling() == 0, "as if it had never been cancelled"
    await asyncio.sleep(0)


async def test_a_bell_that_rings_with_the_news_wakes_once() -> None:
    bell = Bell()
    future = asyncio.get_running_loop().create_future()

    def both() -> None:
        future.set_result("news")
        bell.set()

    asyncio.get_running_loop().call_soon(both)
    assert await bell.cuts_short(_waits_for(future)) is None
    assert _cancelling() == 0
    await asyncio.sleep(0)


async def test_what_does_not_heed_a_bell_is_handed_over() -> None:
    async def stubborn(future: asyncio.Future[str]) -> str:
        try:
            return await future
        except asyncio.CancelledError:
            return "anyway"

    bell = Bell()
    asyncio.get_running_loop().call_soon(bell.set)
    assert await bell.cuts_short(stubborn(asyncio.get_running_loop().create_future())) == "anyway"
    assert _cancelling() == 0


@pytest.mark.parametrize("rings", [False, True])
async def test_who_is_cancelled_by_somebody_else_is_cancelled(rings: bool) -> None:
    bell = Bell()
    waiter = asyncio.create_task(bell.cuts_short(_waits_for(asyncio.get_running_loop().create_future())))
    await asyncio.sleep(0)
    if rings:
        bell.set()
    waiter.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiter
