"""Whoever follows the feed sees everything once and in order, near its end or far behind, on every store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import dibs
from dibs.server.feed import Feed
from tests.hooks.receiver import until_so

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from dibs.queue import Queue

WRITERS, TASKS = 6, 25


async def follow(feed: Feed, seen: list[int], *, slow: bool = False) -> None:
    """Write down the numbers of what is seen, for ever."""
    with feed.follow():
        place = 0
        while True:
            found, end = await feed.after(place, "default", 7)
            seen += [event.seq for event in found]
            if slow:
                await asyncio.sleep(0.002)
            if end == place:
                await feed.wait(place, 1)
            place = end


async def work(queue: Queue) -> None:
    for _ in range(TASKS):
        await queue.add("job")
        for claim in await queue.claim("ada"):
            await queue.complete(claim)


async def many_write(url: str) -> None:
    """Some follow, near and far, while many write."""
    queues = [await dibs.connect(url) for _ in range(3)]
    feed = Feed(queues[0].store, kept=40)
    seen: list[list[int]] = [[] for _ in range(4)]
    following = [asyncio.create_task(follow(feed, each, slow=place % 2 == 1)) for place, each in enumerate(seen)]
    await asyncio.gather(*(work(queues[number % 3]) for number in range(WRITERS)))
    last = await queues[0].store.last_seq()
    try:
        await until_so(lambda: all(each and each[-1] == last for each in seen), 60)
    finally:
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
        await feed.close()
        for queue in queues:
            await queue.close()
    assert seen == [list(range(1, last + 1))] * 4


async def test_nothing_is_skipped_or_told_twice_in_memory() -> None:
    await many_write("memory:feed")


async def test_nothing_is_skipped_or_told_twice_on_sqlite(tmp_path: Path) -> None:
    await many_write(f"sqlite:{tmp_path / 'dibs.db'}")


async def test_nothing_is_skipped_or_told_twice_on_postgres(postgres_url: str) -> None:
    await many_write(postgres_url)


async def test_nothing_is_skipped_or_told_twice_on_redis(redis_url: str) -> None:
    await many_write(redis_url)


async def test_while_nobody_follows_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dibs.server.feed.POLL_S", 0.05)
    async with dibs.connect("memory:") as queue:
        feed = Feed(queue.store)
        with feed.follow():
            await feed.wait(0, 0.01)
            assert feed._reading is not None
        await until_so(lambda: feed._reading is None)
        await queue.add("job")
        with feed.follow():
            assert len((await feed.after(0, "default"))[0]) == 2
        await feed.close()
