"""Nobody spends what was not given: many processes, killed holders, and budgets that come and go meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.sync import drive
from tests.proofs.crowd import let_loose
from tests.proofs.holder import end_soon, holding

if TYPE_CHECKING:
    from pathlib import Path

PROCESSES = 5

# Four agents in a process, each with its own way to the store, claim once when told to and say what they got.
RACE = """
import sys, threading, dibs

def agent(number):
    with dibs.connect_sync(sys.argv[1]) as queue:
        ready.wait()
        claims.extend(queue.claim(f"agent-{sys.argv[2]}-{number}", lease=600))

claims = []
ready = threading.Barrier(5)
agents = [threading.Thread(target=agent, args=(number,)) for number in range(4)]
for each in agents:
    each.start()
print("ready", flush=True)
sys.stdin.readline()
ready.wait()
for each in agents:
    each.join()
# What several threads print at once may come out on one line.
print(*(claim.task.id for claim in claims), flush=True)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 'dibs.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


def test_twenty_agents_race_for_a_dollar_and_ten_get_a_dime(url: str) -> None:
    with dibs.connect_sync(url) as queue:
        queue.set_budget("global", 1.0)
        tasks = queue.add_many([dibs.NewTask("job", max_cost=0.1, priority=number) for number in range(20)])
        with let_loose(RACE, [(url, number) for number in range(PROCESSES)]) as agents:
            while any(process.poll() is None for process in agents):
                [budget] = queue.budgets()
                assert budget.reserved + budget.spent <= 1.0
            got = sorted(line for process in agents for line in process.communicate()[0].split())
        assert got == sorted(task.id for task in tasks[:10])
        [budget] = queue.budgets()
        assert (budget.reserved, budget.spent, budget.waiting) == (1.0, 0.0, 10)
        queue.raise_budget("global", 0.5)
        free = [task.id for task in tasks[10:] if queue.get(task.id).parked_on is None]
        assert free == [task.id for task in tasks[10:15]]
        assert len(queue.claim("last", limit=20)) == 5
        assert drive(queue.queue.store.check()) == []


def test_what_a_killed_agent_had_reserved_is_charged_after_its_lease(url: str) -> None:
    with dibs.connect_sync(url) as queue:
        queue.set_budget("global", 1.0)
        first, second = queue.add_many([dibs.NewTask("job", max_cost=0.6, max_attempts=1) for _ in range(2)])
        with holding("claim", url) as (_, claimed):
            assert claimed == first.id
            assert queue.claim("next") == []
        end_soon(queue, first.id)
        deadline = time.monotonic() + 60
        while queue.get(first.id).status != "dead_lettered":
            assert time.monotonic() < deadline
            assert queue.claim("next", wait=0.2) == [], "the second does not fit"
        [budget] = queue.budgets()
        assert (budget.reserved, budget.spent, budget.unpriced) == (0.0, 0.6, 1)
        queue.raise_budget("global", 0.2)
        [claim] = queue.claim("next")
        assert claim.task.id == second.id
        assert drive(queue.queue.store.check()) == []


def test_budgets_that_come_and_go_while_agents_work_lose_nothing(url: str) -> None:
    asyncio.run(_come_and_go(url))


async def _come_and_go(url: str) -> None:
    draw = random.Random(7)
    scopes = ["global", "type:a", "user:grace", "agent:ada-1"]

    async def work(queue: dibs.Queue, name: str) -> None:
        while not over.is_set():
            claims = await queue.claim(name, limit=draw.choice([1, 1, 5]), lease=60)
            for claim in claims:
                cost = draw.choice([None, 0.0, 0.1])
                with contextlib.suppress(dibs.Conflict):
                    match draw.choice(["complete", "complete", "fail", "release", "spawn", "cancel"]):
                        case "complete":
                            await queue.complete(claim, cost=cost)
                        case "fail":
                            await queue.fail(claim, "no", cost=cost)
                        case "release":
                            await queue.release(claim)
                        case "spawn":
                            await queue.spawn(claim, [dibs.NewTask("b", max_cost=0.1)], wait=True)
                        case "cancel":
                            await queue.cancel(claim.task.id)
                            await queue.complete(claim, cost=cost)
                    continue
                with contextlib.suppress(dibs.Conflict):
                    # Its dag may have been closed to what it wanted to spawn.
                    await queue.release(claim)
            if not claims:
                await asyncio.sleep(0.005)

    async def give(queue: dibs.Queue) -> None:
        while not over.is_set():
            scope, unit = draw.choice(scopes), draw.choice(["usd", "usd", "seconds"])
            with contextlib.suppress(dibs.NotFound):
                match draw.choice(["set", "set", "raise", "remove", "slots", "rate"]):
                    case "set":
                        window = draw.choice([None, None, "day"])
                        await queue.set_budget(
                            scope, draw.choice([0, 0.3, 2]), unit, draw.choice([0, 0.1]), window=window
                        )
                    case "raise":
                        await queue.raise_budget(scope, 0.2, unit)
                    case "remove":
                        await queue.remove_budget(scope, unit)
                    case "slots":
                        await queue.set_slots(type="a", slots=draw.choice([None, 1, 3]))
                    case "rate":
                        await queue.set_rate("b", draw.choice([None, "200/s"]))
            await asyncio.sleep(0.01)

    async def add(queue: dibs.Queue) -> None:
        while not over.is_set():
            tasks = [
                dibs.NewTask(
                    draw.choice("ab"),
                    user=draw.choice([None, "grace"]),
                    max_cost=draw.choice([None, 0.1, 0.2]),
                    locks=draw.choice([(), (), ("l",)]),
                    retry="immediate",
                )
                for _ in range(5)
            ]
            await queue.add_dag("D", tasks, budget=draw.choice([None, 0.15, 1]), on_failure="continue")
            await asyncio.sleep(0.03)

    async with dibs.connect(url) as queue, dibs.connect(url) as other:
        over = asyncio.Event()
        busy = [
            asyncio.create_task(chore)
            for chore in (
                *(
                    work(each, f"{name}-{number}")
                    for each, name in ((queue, "ada"), (other, "bob"))
                    for number in (1, 2)
                ),
                give(queue),
                give(other),
                add(other),
            )
        ]
        await asyncio.wait(busy, timeout=4, return_when=asyncio.FIRST_EXCEPTION)
        over.set()
        await asyncio.gather(*busy)
        assert await queue.store.check() == []
        for budget in await queue.budgets():
            await queue.remove_budget(budget.scope, budget.unit)
        await queue.set_slots(type="a", slots=None)
        await queue.set_rate("b", None)
        assert await queue.store.check() == []
        while claims := await queue.claim("last", limit=100):
            for claim in claims:
                await queue.complete(claim)
        waiting = {task.parked_on for task in (await queue.find(status="ready", limit=1000)).items}
        assert waiting <= {None, "l"}, "nobody waits for what is gone"


def test_so_do_those_who_race_on_redis(redis_url: str) -> None:
    test_twenty_agents_race_for_a_dollar_and_ten_get_a_dime(redis_url)


def test_so_is_a_killed_agent_charged_on_redis(redis_url: str) -> None:
    test_what_a_killed_agent_had_reserved_is_charged_after_its_lease(redis_url)
