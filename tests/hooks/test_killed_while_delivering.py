"""Servers that deliver are killed again and again: every event arrives, and what comes twice has the same id."""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import TYPE_CHECKING

import pytest

import dibs
from tests.hooks import delivering_process
from tests.hooks.receiver import Receiver, receiving
from tests.proofs.crowd import Forked

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.queue import Queue

# Others wait for the leases of those that were killed.
pytestmark = pytest.mark.timeout(300)

TASKS = 120
KILLS = 6


async def started(url: str, receiver: Receiver, said: Path) -> Forked:
    """A server that delivers."""
    process = Forked(delivering_process.run, url, receiver.port, said=said)
    async with asyncio.timeout(60):
        while not said.exists() or "delivering" not in said.read_text():
            assert process.poll() is None, "it ended"
            await asyncio.sleep(0.005)
    return process


async def killed_everywhere(url: str, folder: Path) -> None:
    said = (folder / f"server-{number}" for number in itertools.count())
    rng = random.Random(7)
    async with dibs.connect(url) as queue, receiving() as receiver:
        await queue.add_hook("all", receiver.url, events=["task.*"])
        servers = [await started(url, receiver, next(said)) for _ in range(2)]
        try:
            adding = asyncio.create_task(work(queue))
            for number in range(KILLS):
                await receiver.until(10 + number * 40)
                await asyncio.sleep(rng.random() * 0.05)
                servers.pop(rng.randrange(2)).kill()
                servers.append(await started(url, receiver, next(said)))
            wanted = await adding
            async with asyncio.timeout(60):
                while len({got.id for got in receiver.got}) < len(wanted):
                    count = len(receiver.got)
                    await receiver.until(count + 1)
        finally:
            for server in servers:
                server.kill()
        # In order, each at least once; what came again came under the id that it had, with the same body.
        first = {got.id: got for got in reversed(receiver.got)}
        assert [
            int(got.event["id"]) for got in sorted(first.values(), key=lambda got: receiver.got.index(got))
        ] == wanted
        assert all(got.body == first[got.id].body for got in receiver.got)
        assert len({got.event["id"] for got in receiver.got}) == len(first)


async def work(queue: Queue) -> list[int]:
    """Tasks that are added and done; the numbers of what happened to them."""
    for _ in range(TASKS):
        await queue.add("job")
        [claim] = await queue.claim("ada", types=["job"])
        await queue.complete(claim, {"done": True})
        await asyncio.sleep(0.01)
    return [event.seq for event in await queue.read_events(0, 10_000) if event.type.startswith("task.")]


async def test_servers_that_die_lose_no_event_on_sqlite(tmp_path: Path) -> None:
    await killed_everywhere(f"sqlite:{tmp_path / 'dibs.db'}", tmp_path)


async def test_servers_that_die_lose_no_event_on_postgres(postgres_url: str, tmp_path: Path) -> None:
    await killed_everywhere(postgres_url, tmp_path)


async def test_servers_that_die_lose_no_event_on_redis(redis_url: str, tmp_path: Path) -> None:
    await killed_everywhere(redis_url, tmp_path)
