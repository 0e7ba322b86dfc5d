"""Groups while somebody else changes one of them: each is taken, or is not, and nothing is half-taken.

Each test steps two sessions of a real server through every order of their transactions.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from dibs.coalescing import with_groups
from dibs.model.status import Status
from dibs.stores.values import ClaimRequest
from tests.stores.test_postgres_races import every_order

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dibs.model.claim import Claim
    from dibs.model.task import Task
    from dibs.queue import Queue
    from dibs.stores.values import Claimed

WINDOW_S = 3600


async def group(queue: Queue) -> list[Task]:
    """Two that are ready, and one that gathers."""
    windows = (0, 0, WINDOW_S)
    return [await queue.add("child", coalesce_key="room", coalesce_window=window) for window in windows]


def claiming(agent: str) -> Callable[[Queue], Awaitable[Claimed]]:
    return lambda queue: queue.store.claim(ClaimRequest(agent=agent))


async def give_up(queue: Queue, tasks: list[Task]) -> None:
    """Nothing of this run is in the way of the next."""
    for task in tasks:
        await queue.cancel(task.id)
    assert await queue.store.check() == []


def cancelled_while_claimed(url: str, place: int) -> None:
    async def prepare(queue: Queue) -> list[Task]:
        return await group(queue)

    def verbs(tasks: list[Task]) -> list[Any]:
        return [claiming("ada"), lambda queue: queue.store.cancel(tasks[place].id, None)]

    async def check(queue: Queue, tasks: list[Task], answers: list[Any]) -> None:
        claimed, ended = answers
        assert ended == [tasks[place].id]
        taken = [claim.task.id for claim in with_groups(claimed.claims)]
        others = [task.id for task in tasks if task.id != tasks[place].id]
        assert [id for id in taken if id != tasks[place].id] == others
        assert [(await queue.get(id)).status for id in others] == [Status.RUNNING] * 2
        stopped = await queue.get(tasks[place].id)
        assert (stopped.status, stopped.fence) == (Status.CANCELLED, 1 if tasks[place].id in taken else 0)
        await settle(queue, claimed.claims)
        await give_up(queue, tasks)

    every_order(url, prepare, verbs, check, at_least=2)


async def settle(queue: Queue, claims: list[Claim]) -> None:
    for claim in claims:
        await queue.complete_group(claim)


def test_a_member_cancelled_while_its_group_is_claimed_is_taken_or_not(postgres_url: str) -> None:
    cancelled_while_claimed(postgres_url, 1)


def test_one_that_gathers_cancelled_while_its_group_is_claimed_is_taken_or_not(postgres_url: str) -> None:
    cancelled_while_claimed(postgres_url, 2)


def test_of_two_claims_at_once_one_gets_the_whole_group(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> list[Task]:
        return await group(queue)

    def verbs(_: list[Task]) -> list[Any]:
        return [claiming("ada"), claiming("bob")]

    async def check(queue: Queue, tasks: list[Task], answers: list[Any]) -> None:
        sizes = sorted(len(with_groups(claimed.claims)) for claimed in answers)
        assert sizes == [0, 3]
        for claimed in answers:
            await settle(queue, claimed.claims)
        await give_up(queue, tasks)

    every_order(postgres_url, prepare, verbs, check, at_least=2)


def test_who_is_promoted_while_its_group_is_claimed_goes_with_it_or_is_ready(postgres_url: str) -> None:
    async def prepare(queue: Queue) -> list[Task]:
        tasks = [await queue.add("child", coalesce_key="room", coalesce_window=window) for window in (0, 0.001)]
        await asyncio.sleep(0.01)  # the window is over
        return tasks

    def verbs(_: list[Task]) -> list[Any]:
        return [claiming("ada"), lambda queue: queue.store.promote(10)]

    async def check(queue: Queue, tasks: list[Task], answers: list[Any]) -> None:
        claimed, _ = answers
        taken = [claim.task.id for claim in with_groups(claimed.claims)]
        assert taken[0] == tasks[0].id
        late = await queue.get(tasks[1].id)
        assert late.status is (Status.RUNNING if tasks[1].id in taken else Status.READY)
        await settle(queue, claimed.claims)
        await give_up(queue, tasks)

    every_order(postgres_url, prepare, verbs, check, at_least=2)
