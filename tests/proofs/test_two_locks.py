"""A hundred tasks that need two locks each, among ever more urgent ones that need one: all run, none waits for long.

With fewer of them, every store shows it in the conformance suite."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from dibs.connecting import connect
from dibs.model.task import NewTask
from dibs.testing import FakeClock

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.model.claim import Claim
    from dibs.queue import Queue

PAIRS = 100
LOCKS = 10
PASSED_OVER_S = 60
"""So long whoever waits for locks is passed over by those who are more urgent; then its locks are kept for it."""
TURN_S = 8
"""Then it waits for whoever comes before it at one of its locks: the duty's interval, and a turn of whoever holds."""


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "memory":
        return "memory:"
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'dibs.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


def pair(number: int) -> list[str]:
    """The two locks of one of them: every lock is needed by twenty, each time with another one."""
    first = number % LOCKS
    return [f"lock-{first}", f"lock-{(first + 1 + number // LOCKS % (LOCKS - 1)) % LOCKS}"]


def bound(number: int) -> int:
    """Until when it must have run: everybody who shares a lock with it may come before it."""
    rivals = sum(bool(set(pair(number)) & set(pair(other))) for other in range(PAIRS))
    return PASSED_OVER_S + TURN_S * rivals


async def scene(queue: Queue, clock: FakeClock) -> dict[int, int]:
    """When each of them was claimed, in seconds."""
    await queue.add_many([NewTask("pair", number, locks=pair(number), priority=60) for number in range(PAIRS)])
    began: dict[int, int] = {}
    claims: list[Claim] = []
    second = 0
    while len(began) < PAIRS and second < PASSED_OVER_S + TURN_S * PAIRS:
        for claim in claims:
            await queue.complete(claim)
        # The others are always more urgent, and there is always one for each lock.
        if (await queue.stats()).by_type.get("single", {}).get("ready", 0) < LOCKS:
            await queue.add_many([NewTask("single", locks=[f"lock-{name}"], priority=10) for name in range(LOCKS)])
        clock.advance(1)
        await queue.run_duties()
        claims = await queue.claim("ada", limit=100, lease=600)
        began |= {claim.task.payload: second for claim in claims if claim.task.type == "pair"}
        second += 1
    for claim in claims:
        await queue.complete(claim)
    assert await queue.store.check() == []
    assert await queue.store.unpark(100) == 0
    return began


@pytest.mark.timeout(600)  # Hundreds of rounds, on a server each.
def test_a_hundred_tasks_with_two_locks_all_run_in_time(url: str) -> None:
    clock = FakeClock()

    async def run() -> dict[int, int]:
        async with connect(url, clock=clock) as queue:
            return await scene(queue, clock)

    began = asyncio.run(run())
    assert len(began) == PAIRS
    assert max(began.values()) >= PASSED_OVER_S, "nobody was passed over: this shows nothing"
    late = {number: (at, bound(number)) for number, at in began.items() if at > bound(number)}
    assert not late
