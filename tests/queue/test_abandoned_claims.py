"""A claim that nobody waits for any more is given back at once, not after its lease."""

from __future__ import annotations

import asyncio
from pathlib import Path

import dibs


def test_a_claim_whose_caller_stopped_waiting_is_given_back(tmp_path: Path) -> None:
    async def story() -> None:
        async with dibs.connect(f"sqlite:{tmp_path / 'dibs.db'}") as queue:
            task = await queue.add("work")
            for yields in range(60):
                claiming = asyncio.ensure_future(queue.claim("impatient", lease=3600))
                for _ in range(yields):
                    await asyncio.sleep(0)
                if not claiming.cancel():
                    break
                try:
                    [claim] = await claiming
                except asyncio.CancelledError:
                    continue
                await queue.release(claim)
            async with asyncio.timeout(10):
                while (seen := await queue.get(task.id)).status != "ready":
                    await queue.store.wait_for_news(await queue.store.news(), 0.05)
            assert seen.attempts == 0
            assert seen.agent is None

    asyncio.run(story())
