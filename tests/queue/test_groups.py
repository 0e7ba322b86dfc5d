"""Groups whose members have to pass a command: each is answered for itself, and none is lost meanwhile."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import dibs
from dibs.errors import LeaseLost
from dibs.model.claim import Settled

if TYPE_CHECKING:
    from pathlib import Path


def passes(seconds: float = 0.0) -> dict[str, Any]:
    """A contract that takes so long to check."""
    return {"validation": "command", "argv": [sys.executable, "-c", f"import time; time.sleep({seconds})"]}


def test_the_leases_of_a_group_are_kept_while_its_commands_run(tmp_path: Path) -> None:
    async def story() -> None:
        url = f"sqlite:{tmp_path / 'dibs.db'}"
        async with dibs.connect(url) as queue, dibs.connect(url) as other:
            for _ in range(3):
                await queue.add("job", expects=passes(0.6), coalesce_key="k", coalesce_window=0)
            [claim] = await queue.claim("ada", lease=1)
            ending = asyncio.ensure_future(queue.complete_group(claim, 1))
            while not ending.done():
                await other.run_duties()
                await asyncio.sleep(0.1)
            answers = [answer for answer in await ending if isinstance(answer, Settled)]
            assert [answer.status for answer in answers] == ["completed"] * 3

    asyncio.run(story())


def test_one_that_is_over_its_time_does_not_keep_the_others_from_ending() -> None:
    async def story() -> None:
        async with dibs.connect("memory:") as queue:
            await queue.add("job", coalesce_key="k", coalesce_window=0)
            await queue.add("job", coalesce_key="k", coalesce_window=0, expects=passes(), timeout=0.2)
            [claim] = await queue.claim("ada")
            await asyncio.sleep(0.3)
            first, second = await queue.complete_group(claim, 1)
            assert isinstance(first, Settled)
            assert first.status == "completed"
            assert isinstance(second, LeaseLost)

    asyncio.run(story())
