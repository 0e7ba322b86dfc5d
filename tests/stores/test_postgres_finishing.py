"""Work that is finished also if whoever waits for it leaves."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pytest
import uvloop

import dibs
from dibs.stores.postgres.finishing import Finished
from tests.worker.facts import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

LOOPS: list[Callable[[Coroutine[Any, Any, None]], None]] = [asyncio.run, uvloop.run]
pytestmark = pytest.mark.parametrize("run", LOOPS, ids=["asyncio", "uvloop"])


class Work:
    """A few steps of each sort, and what became of them."""

    def __init__(self, error: Exception | None = None) -> None:
        self.gate: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.error = error
        self.steps: list[str] = []
        self.ends: list[BaseException | None] = []

    async def do(self) -> int:
        self.steps.append("begun")
        await asyncio.sleep(0)
        answer = await self.gate
        self.steps.append("answered")
        await asyncio.sleep(0.001)
        if self.error is not None:
            raise self.error
        self.steps.append("done")
        return answer

    async def finished(self) -> int:
        return await Finished(self.do(), self.ends.append)


def test_who_stays_gets_the_result(run: Any) -> None:
    async def story() -> None:
        work = Work()
        asyncio.get_running_loop().call_later(0.001, work.gate.set_result, 7)
        assert await work.finished() == 7
        assert work.ends == [None]

    run(story())


def test_who_stays_gets_the_error_of_the_work_or_of_what_it_waits_for(run: Any) -> None:
    async def story() -> None:
        for work, wrong in (Work(error := ValueError("no")), None), (Work(), error):
            if wrong is None:
                work.gate.set_result(1)
            else:
                asyncio.get_running_loop().call_soon(work.gate.set_exception, wrong)
            with pytest.raises(ValueError, match="no"):
                await work.finished()
            assert work.ends == [error]

    run(story())


@pytest.mark.parametrize("when", ["at the first step", "while it waits"])
def test_who_is_cancelled_leaves_at_once_and_the_work_goes_on(run: Any, when: str) -> None:
    async def story() -> None:
        work = Work()
        caller = asyncio.create_task(work.finished())
        await asyncio.sleep(0 if when == "at the first step" else 0.005)  # a few turns of the loop
        assert work.steps == ["begun"]
        caller.cancel("enough")
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert work.steps == ["begun"]
        assert work.ends == []
        work.gate.set_result(7)
        await eventually(lambda: work.ends)
        assert work.steps == ["begun", "answered", "done"]
        assert work.ends == [None]

    run(story())


def test_an_error_after_the_caller_left_is_told_to_nobody_but_who_keeps_the_connection(run: Any) -> None:
    async def story() -> None:
        complaints: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        work = Work(error := ValueError("no"))
        caller = asyncio.create_task(work.finished())
        await eventually(lambda: work.steps)
        caller.cancel()
        await asyncio.wait([caller])
        work.gate.set_result(7)
        await eventually(lambda: work.ends)
        assert work.ends == [error]
        assert complaints == []

    run(story())


def test_who_is_cancelled_when_the_answer_is_there_leaves_too(run: Any) -> None:
    async def story() -> None:
        work = Work()
        caller = asyncio.create_task(work.finished())
        await eventually(lambda: work.steps)
        work.gate.set_result(7)
        caller.cancel()
        await asyncio.wait([caller])
        await eventually(lambda: work.ends)
        assert caller.cancelled()
        assert work.steps == ["begun", "answered", "done"]
        assert work.ends == [None]

    run(story())


def test_verbs_cancelled_at_any_moment_leave_a_sound_store(run: Any, postgres_url: str) -> None:
    async def story() -> None:
        chance = random.Random(4)
        async with dibs.connect(f"{postgres_url}&pool=3") as queue:

            async def round(number: int) -> None:
                await queue.add("job", number)
                await queue.add_many([dibs.NewTask("job", item) for item in range(400)])
                for claim in await queue.claim("ada", limit=20):
                    await queue.complete(claim)

            for number in range(40):
                rounds = [asyncio.create_task(round(number)) for _ in range(3)]
                await asyncio.sleep(chance.random() * 0.03)
                for each in rounds:
                    each.cancel()
                await asyncio.wait(rounds)
                assert not [each.exception() for each in rounds if not each.cancelled() and each.exception()]
            # All or nothing: the rest are single ones, at most three in each round.
            assert sum((await queue.stats()).by_status.values()) % 400 <= 3 * 40
            assert await queue.store.check() == []
            # However few of them came through.
            await queue.add_many([dibs.NewTask("job", item) for item in range(10)])
            claims = await queue.claim("eve", limit=10)
            assert len(claims) == 10

    run(story())
