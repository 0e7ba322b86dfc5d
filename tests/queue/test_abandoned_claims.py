"""A claim that nobody waits for any more is given back at once, not after its lease."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dibs.queue import Queue
from dibs.stores import open_store


class SlowToAnswer:
    """A store whose claims are made at once and answered when the gate opens."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.claimed = asyncio.Event()
        self.gate = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def claim(self, request: Any) -> Any:
        answer = await self._store.claim(request)
        self.claimed.set()
        await self.gate.wait()
        return answer


def test_a_claim_whose_caller_stopped_waiting_is_given_back() -> None:
    async def story() -> None:
        slow = SlowToAnswer(open_store("memory:"))
        queue = Queue(slow)
        task = await queue.add("work")
        claiming = asyncio.ensure_future(queue.claim("impatient", lease=3600))
        await slow.claimed.wait()
        assert (await queue.get(task.id)).status == "running"
        claiming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await claiming
        slow.gate.set()
        async with asyncio.timeout(60):
            while (seen := await queue.get(task.id)).status != "ready":
                await queue.store.wait_for_news(await queue.store.news(), 0.05)
        assert (seen.fence, seen.attempts, seen.releases, seen.agent) == (1, 0, 0, None)
        await queue.close()

    asyncio.run(story())
