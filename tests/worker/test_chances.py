"""A worker on Redis, whose claims are sent the moment its store hears of news: nothing is missed, nothing is kept."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.requests import claim_request
from dibs.stores import open_store
from dibs.stores.chances import Chance, wait_for_chance
from dibs.stores.following import following
from dibs.stores.redis.flying import Flights
from dibs.stores.standing import MOVED, Standing
from dibs.worker import seeking
from tests.worker.facts import PATIENCE_S, eventually, first, has_status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TASKS = 30


@pytest.fixture(autouse=True)
def nobody_looks_by_himself(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missed stays missed."""
    monkeypatch.setattr(seeking, "POLL_S", 1_000.0)
    monkeypatch.setattr("dibs.stores.redis.flying.CONFIRM_S", 1_000.0)


class Gate:
    """What a store takes by itself is answered when this opens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = asyncio.Event()
        self.has_taken = False
        seize, ended = Flights._seize, Flights._ended
        seized_for: list[Any] = []

        def seized(flights: Flights, plan: Any) -> None:
            seized_for.append(plan.errand)
            seize(flights, plan)

        async def slow(flights: Flights, errand: Any, flight: Any, asked: Any) -> Any:
            found = await ended(flights, errand, flight, asked)
            if found is not None and any(errand is one for one in seized_for) and found.claims:
                self.has_taken = True
                await self.open.wait()
            return found

        monkeypatch.setattr(Flights, "_seize", seized)
        monkeypatch.setattr(Flights, "_ended", slow)

    async def taken(self, queue: dibs.Queue) -> str:
        """A task that was taken so. Another may come while the worker is awake, for its duties are news, too: it asks
        for that itself, and does it."""

        async def is_gone() -> bool:
            return self.has_taken or await has_status(queue, task.id, "succeeded")

        while True:
            task = await queue.add("work")
            await eventually(is_gone)
            if self.has_taken:
                assert await has_status(queue, task.id, "running")
                return task.id


def _app(done: list[Any]) -> dibs.App:
    app = dibs.App()

    @app.handler("work")
    async def work(number: int = 0) -> None:
        done.append(number)

    return app


def _sleeps(queue: Any) -> bool:
    """Whether a worker waits there for a chance."""
    flights: Flights = queue.store._flights
    return any(plan is not None for plan in flights._sleepers.values())


@asynccontextmanager
async def _idle(worker: dibs.Worker, queue: Any) -> AsyncIterator[asyncio.Task[None]]:
    """It runs, knows the lane of its work, and has found that there is nothing to do."""
    await queue.cancel((await queue.add("work")).id)
    running = asyncio.create_task(worker.run())
    await eventually(lambda: _sleeps(queue))
    yield running
    worker.stop()
    await asyncio.wait([running], timeout=PATIENCE_S)
    if not running.cancelled():
        running.result()


async def test_what_comes_is_taken_before_the_worker_asks(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    async with dibs.connect(redis_url) as queue, dibs.connect(redis_url) as beside:
        worker = dibs.Worker(_app(done), queue)
        async with worker, _idle(worker, queue):
            asked: list[int] = []
            claim = queue.claim

            async def claimed(*args: Any, **options: Any) -> Any:
                asked.append(len(done))
                return await claim(*args, **options)

            monkeypatch.setattr(queue, "claim", claimed)
            by_itself = 0
            for number in range(TASKS):
                await eventually(lambda: _sleeps(queue))
                asked.clear()
                await beside.add("work", {"number": number})
                await eventually(lambda: len(done) == number + 1)  # noqa: B023
                by_itself += number not in asked
            assert done == list(range(TASKS))
            # Its duties are news, too: what comes just when it is awake for them it asks for.
            assert by_itself > TASKS / 2, "when it asked, the work had begun"
        assert await beside.store.check() == []


async def test_no_news_is_missed_among_others(redis_url: str) -> None:
    done: list[int] = []
    async with dibs.connect(redis_url) as queue, dibs.connect(redis_url) as beside:
        worker = dibs.Worker(_app(done), queue)
        async with worker, _idle(worker, queue):
            for number in range(TASKS):
                # Nothing for it, and at once something: what was claimed for the first may not have seen the second.
                await asyncio.gather(beside.add("other"), beside.add("other"))
                await beside.add("work", {"number": number})
                if number % 3 == 0:
                    await eventually(lambda: len(done) == number + 1)  # noqa: B023
            await eventually(lambda: len(done) == TASKS)
        assert sorted(done) == list(range(TASKS))
        assert await beside.store.check() == []


async def test_news_that_a_claim_could_not_see_are_news(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They come after it was made, and before the worker is awake."""
    done: list[int] = []
    async with dibs.connect(redis_url) as queue, dibs.connect(redis_url) as beside:
        worker = dibs.Worker(_app(done), queue)
        async with worker, _idle(worker, queue):
            wait_for_news = Flights.wait_for_news
            used: list[Any] = []
            waited: list[int] = []

            async def sleepy(flights: Flights, since: int, until: float, chance: Any = None) -> int | None:
                if used:
                    waited.append(since)
                heard = await wait_for_news(flights, since, until, chance)
                if used or chance is None or chance.taking is None or (await chance.taking) is None:
                    return heard
                used.append(chance)
                await beside.add("work", {"number": 1})
                await eventually(lambda: flights.heard != heard)
                return flights.heard

            monkeypatch.setattr(Flights, "wait_for_news", sleepy)
            await beside.add("other")
            await beside.add("other")
            await eventually(lambda: done == [1])
            assert used[0].taking.result().claims == []
            assert waited[0] == used[0].seen, "duties would have woken it, too, but seconds later"


async def test_what_a_gate_keeps_back_is_not_taken(redis_url: str) -> None:
    done: list[int] = []
    async with dibs.connect(redis_url) as queue, dibs.connect(redis_url) as beside:
        worker = dibs.Worker(_app(done), queue)
        async with worker, _idle(worker, queue):
            await beside.pause("work")
            task = await beside.add("work", {"number": 1})
            await beside.add("other")
            assert (await beside.get(task.id)).status == "ready"
            await beside.resume("work")
            await eventually(lambda: done == [1])
            # From now on claims are the ledger's.
            await beside.set_slots(type="work", slots=1)
            await beside.add("work", {"number": 2})
            await eventually(lambda: done == [1, 2])


async def test_a_worker_that_is_stopped_gives_back_what_was_being_taken(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []
    gate = Gate(monkeypatch)
    async with dibs.connect(redis_url) as queue, dibs.connect(redis_url) as beside:
        worker = dibs.Worker(_app(done), queue)
        async with worker:
            async with _idle(worker, queue):
                task_id = await gate.taken(beside)
                before = len(done)
                worker.stop()
                gate.open.set()
            # It was waited for: nothing is left for its lease to end.
            seen = await beside.get(task_id)
        assert (seen.status, seen.attempts, seen.fence, len(done)) == ("ready", 0, 1, before)


async def test_a_worker_that_is_cancelled_gives_back_what_was_being_taken(
    redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []
    gate = Gate(monkeypatch)
    async with dibs.connect(redis_url) as queue, dibs.connect(redis_url) as beside:
        worker = dibs.Worker(_app(done), queue)
        async with worker:
            async with _idle(worker, queue) as running:
                task_id = await gate.taken(beside)
                before = len(done)
                running.cancel()
            assert running.cancelled()
            assert await has_status(beside, task_id, "running")
            gate.open.set()
            await eventually(lambda: has_status(beside, task_id, "ready"))
        assert len(done) == before


async def test_who_waits_for_a_chance_goes_along_to_a_store_that_has_none(redis_url: str) -> None:
    """Everything may move to another kind of store while a worker sleeps."""
    old, new = open_store(redis_url), open_store("memory:")
    await old.connect()
    await new.connect()
    follower = following(old, lambda _: new)
    waits = wait_for_chance(follower)
    assert waits is not None
    chance = Chance(claim_request("ada"))
    await old.stand(Standing(state=MOVED, url="memory:"))
    assert await first(waits(chance, -1, 1_000.0)) == await new.news()
    assert chance.taking is None
    assert wait_for_chance(follower) is None
    await follower.close()
