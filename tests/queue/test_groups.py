"""Groups whose members have to pass a command: each is answered for itself, and none is lost meanwhile."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import dibs
from dibs.errors import LeaseLost
from dibs.model.claim import Settled
from tests.worker.facts import LEASE_S, eventually, renewed

if TYPE_CHECKING:
    from pathlib import Path


def passes(begun: Path | None = None, may_end: Path | None = None) -> dict[str, Any]:
    """A contract whose check tells that it has begun, and ends when it may."""
    code = f"import os, time\nif {begun is not None}: open({str(begun)!r}, 'w').close()\n"
    code += f"while {may_end is not None} and not os.path.exists({str(may_end)!r}): time.sleep(0.01)"
    return {"validation": "command", "argv": [sys.executable, "-c", code]}


def test_the_leases_of_a_group_are_kept_while_its_commands_run(tmp_path: Path) -> None:
    async def story() -> None:
        url = f"sqlite:{tmp_path / 'dibs.db'}"
        begun, may_end = tmp_path / "begun", tmp_path / "may end"
        async with dibs.connect(url) as queue, dibs.connect(url) as other:
            for _ in range(3):
                await queue.add("job", expects=passes(begun, may_end), coalesce_key="k", coalesce_window=0)
            [claim] = await queue.claim("ada", lease=LEASE_S)
            ending = asyncio.ensure_future(queue.complete_group(claim, 1))
            await eventually(begun.exists)
            # All of them, while the command of one runs.
            await renewed(other, claim.task.id, *(each.task.id for each in claim.group))
            await other.run_duties()
            may_end.touch()
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
