"""Calling back when it does not go well: servers that fail, die, or want something at the same time."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from a2a.types.a2a_pb2 import TaskPushNotificationConfig
from msgspec import json

import dibs
from dibs.a2a import pushing
from dibs.a2a.pushing import KIND, Push, Pushing
from dibs.errors import Conflict, Invalid
from dibs.server.sending import Answer, Sender
from dibs.testing import FakeClock
from tests.hooks.receiver import until, until_so
from tests.server.running import in_loop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from dibs.queue import Queue

URL = "https://example.com/called"


class Called:
    """Stands for the world: notes who is called, and answers as it is told."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.got: list[tuple[str, Any]] = []

    async def __call__(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        self.got.append((url, json.decode(body)))
        return self.answers.pop(0) if self.answers else Answer(200)

    def states(self) -> list[str]:
        return [body["task"]["status"]["state"].removeprefix("TASK_STATE_").lower() for _, body in self.got]


@asynccontextmanager
async def at_work(queue: Queue, *pushings: Pushing) -> AsyncIterator[None]:
    running = [asyncio.create_task(each.run()) for each in pushings]
    try:
        yield
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def pusher(queue: Queue, called: Callable[..., Any], name: str = "one") -> Pushing:
    return Pushing(queue, called, "http://here", name=name, draw=lambda: 0.99)


async def a_task(queue: Queue, *ids: str) -> str:
    task = await queue.add("echo", tags=["a2a"])
    for id in ids:
        await pushing.keep(queue, task.id, pushing.checked(TaskPushNotificationConfig(id=id, url=URL)))
    return task.id


async def kept(queue: Queue) -> list[Push]:
    found = await queue.store.documents(queue.project, KIND)
    return [json.decode(each.body, type=Push) for each in found]


@in_loop
async def test_of_two_servers_one_calls() -> None:
    async with dibs.connect("memory:") as queue:
        called = Called()
        async with at_work(queue, pusher(queue, called), pusher(queue, called, "two")):
            await a_task(queue, "a", "b")
            [claim] = await queue.claim("ada", wait=60)
            await until_so(lambda: called.states().count("working") == 2)
            await queue.complete(claim, "done")

            async def is_over() -> bool:
                return not await kept(queue)

            await until(is_over)
        assert called.states().count("working") == called.states().count("completed") == 2


@in_loop
async def test_a_call_in_vain_is_made_again_with_what_is_true_then() -> None:
    # Its clock stands still: the next call stays due later for as long as it takes to see that.
    async with dibs.connect("memory:", clock=FakeClock()) as queue:
        called = Called(Answer(None, "nobody answered"))
        task_id = await a_task(queue, "a")
        async with at_work(queue, pusher(queue, called)):
            await until_so(lambda: called.got)

            async def waits() -> bool:
                [push] = await kept(queue)
                return push.attempts == 1 and not push.holder and push.next_at > queue.store.now()

            await until(waits)
        await queue.cancel(task_id)
        [push] = await kept(queue)
        push.next_at = 0
        await queue.store.write_document(queue.project, KIND, f"{task_id}/a", json.encode(push))
        async with at_work(queue, pusher(queue, called, "two")):
            await until_so(lambda: called.states() == ["submitted", "canceled"])


@in_loop
async def test_a_server_that_died_while_calling_is_replaced_when_its_time_is_over() -> None:
    async with dibs.connect("memory:") as queue:
        called = Called()
        task_id = await a_task(queue, "a")
        [push] = await kept(queue)
        push.holder, push.until = "dead", queue.store.now() + 700_000
        await queue.store.write_document(queue.project, KIND, f"{task_id}/a", json.encode(push))
        async with at_work(queue, pusher(queue, called)):
            await until_so(lambda: called.states() == ["submitted"])
            assert queue.store.now() >= push.until


@in_loop
async def test_whoever_says_that_they_are_gone_is_called_no_more() -> None:
    async with dibs.connect("memory:") as queue:
        called = Called(Answer(410, "it answered 410"))
        await a_task(queue, "a")
        async with at_work(queue, pusher(queue, called)):

            async def is_over() -> bool:
                return not await kept(queue)

            await until(is_over)
        assert len(called.got) == 1


@in_loop
async def test_a_private_address_is_not_called_and_the_task_does_not_mind() -> None:
    async with dibs.connect("memory:") as queue:
        sender = Sender()
        task = await queue.add("echo", tags=["a2a"])
        config = TaskPushNotificationConfig(url="http://169.254.169.254/latest/meta-data")
        await pushing.keep(queue, task.id, pushing.checked(config))
        try:
            async with at_work(queue, pusher(queue, sender.post)):

                async def was_tried() -> bool:
                    return (await kept(queue))[0].attempts > 0

                await until(was_tried)
        finally:
            await sender.close()
        await queue.claim("ada")


@in_loop
async def test_what_is_large_goes_without_what_was_made() -> None:
    async with dibs.connect("memory:") as queue:
        called = Called()
        await a_task(queue, "a")
        [claim] = await queue.claim("ada")
        await queue.complete(claim, "x" * 400_000)
        async with at_work(queue, pusher(queue, called)):
            await until_so(lambda: called.got)
        [(_, body)] = called.got
        assert "artifacts" not in body["task"]


@in_loop
async def test_there_is_an_end_to_how_many_are_called() -> None:
    async with dibs.connect("memory:") as queue:
        task_id = await a_task(queue, *(f"n{number}" for number in range(pushing.MOST_OF_TASK)))
        with pytest.raises(Conflict, match="delete one"):
            await pushing.keep(queue, task_id, pushing.checked(TaskPushNotificationConfig(id="more", url=URL)))
        # The same id again takes the place of the one before.
        await pushing.keep(queue, task_id, pushing.checked(TaskPushNotificationConfig(id="n0", url=f"{URL}/new")))
        assert (await pushing.get(queue, task_id, "n0")).url == f"{URL}/new"
        await pushing.forget(queue, task_id, "n0")
        await pushing.forget(queue, task_id, "never was")
        assert len(await pushing.kept_for(queue, task_id)) == pushing.MOST_OF_TASK - 1


@pytest.mark.parametrize("id", ["a/b", "x" * 61, "ä", "a b"])
def test_an_id_is_a_plain_word(id: str) -> None:
    with pytest.raises(Invalid) as refused:
        pushing.checked(TaskPushNotificationConfig(id=id, url=URL))
    assert refused.value.field == "id"
