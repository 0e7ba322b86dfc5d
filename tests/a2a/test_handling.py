"""What the handler of requests does when there is too much, when it takes too long, and when something breaks."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from a2a.server.context import ServerCallContext
from a2a.types.a2a_pb2 import GetTaskRequest, ListTasksRequest, SubscribeToTaskRequest
from a2a.utils.errors import InternalError, TaskNotFoundError

import dibs
from dibs.a2a import following, handling
from dibs.a2a.following import Visit
from dibs.a2a.handling import VISIT, Handler
from dibs.a2a.offer import offer_of
from dibs.errors import Unavailable
from dibs.server.feed import Feed
from dibs.server.routes.a2a import _Feed
from dibs.server.streams import Streams
from tests.a2a.client import message, state
from tests.server.running import in_loop

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

OFFER = offer_of(
    {"name": "desk", "description": "Works.", "skills": {"work": {"description": "It.", "options": {"tags": ["mine"]}}}}
)


class Scene:
    """A handler on a queue, and somebody who asks."""

    def __init__(self, queue: Any, max_wait_s: float) -> None:
        self.queue = queue
        self.streams = Streams(Feed(queue.store))
        self.handler = Handler(OFFER, _Feed(self.streams), "http://here", max_wait_s=max_wait_s)
        self.trusted = True
        self.recorded: list[tuple[str, str]] = []

    @property
    def context(self) -> ServerCallContext:
        async def is_trusted() -> bool:
            return self.trusted

        async def record(act: str, outcome: str) -> None:
            self.recorded.append((act, outcome))

        return ServerCallContext(state={VISIT: Visit(self.queue, "grace", "token-1", is_trusted, record)})

    async def send(self, request: Any) -> Any:
        return await self.handler.on_message_send(request, self.context)

    def follow(self, id: str) -> Any:
        return self.handler.on_subscribe_to_task(SubscribeToTaskRequest(id=id), self.context)


@asynccontextmanager
async def scene(max_wait_s: float = 60.0) -> AsyncIterator[Scene]:
    async with dibs.connect("memory:") as queue:
        made = Scene(queue, max_wait_s)
        try:
            yield made
        finally:
            made.streams.close()
            await made.streams.feed.close()


@in_loop
async def test_a_message_is_waited_for_until_it_is_done() -> None:
    async with scene() as here:
        waiting = asyncio.ensure_future(here.send(message("work")))
        [claim] = await here.queue.claim("ada", wait=60)
        assert (claim.task.tags, claim.task.created_by, claim.task.title) == (
            ("a2a", claim.task.tags[1], "mine"),
            "grace",
            "work",
        )
        assert claim.task.tags[1].startswith("a2a:ctx_")
        await here.queue.complete(claim, "done")
        task = await asyncio.wait_for(waiting, 60)
        assert (state(task.status.state), task.artifacts[0].parts[0].text) == ("completed", "done")
        assert here.recorded == [("a2a.send", "done")]


@in_loop
async def test_but_not_for_ever() -> None:
    async with scene(max_wait_s=0.3) as here:
        begun = time.monotonic()
        task = await here.send(message("work"))
        assert 0.3 <= time.monotonic() - begun < 60
        assert state(task.status.state) == "submitted"


@in_loop
async def test_one_caller_does_not_follow_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handling, "MOST_BY_ONE", 2)
    async with scene() as here:
        request = message("work")
        request.configuration.return_immediately = True
        task = await here.send(request)
        open_streams = [here.follow(task.id) for _ in range(2)]
        following = [asyncio.ensure_future(anext(stream)) for stream in open_streams]
        await asyncio.gather(*following)
        # The second event is waited for: so both are open.
        following = [asyncio.ensure_future(anext(stream)) for stream in open_streams]
        await asyncio.sleep(0)
        with pytest.raises(InternalError, match="As many"):
            await anext(here.follow(task.id))
        # A message is taken all the same, and answered at once.
        assert state((await asyncio.wait_for(here.send(message("more")), 60)).status.state) == "submitted"
        await here.queue.cancel(task.id)
        for ended in await asyncio.gather(*following):
            assert state(ended.status.state) == "canceled"
        for stream in open_streams:
            await stream.aclose()
        assert not here.handler._followed


@in_loop
async def test_what_breaks_inside_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    async with scene() as here:

        async def broken(*args: Any, **kwargs: Any) -> Any:
            raise RuntimeError("the password is swordfish")

        here.queue.find = broken
        with pytest.raises(InternalError) as told:
            await here.handler.on_list_tasks(ListTasksRequest(), here.context)
        assert "swordfish" not in str(told.value)
        assert "swordfish" in caplog.text

        async def away(*args: Any, **kwargs: Any) -> Any:
            raise Unavailable("the store is away: try again.")

        here.queue.find = away
        with pytest.raises(InternalError, match="the store is away"):
            await here.handler.on_list_tasks(ListTasksRequest(), here.context)


@in_loop
async def test_a_store_that_is_away_for_a_moment_ends_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "AGAIN_S", 0.01)
    async with scene() as here:
        request = message("work")
        request.configuration.return_immediately = True
        task = await here.send(request)
        stream = here.follow(task.id)
        await anext(stream)
        real, away = here.queue.store.get, [True, True]

        async def get(*args: Any, **kwargs: Any) -> Any:
            if away:
                away.pop()
                raise Unavailable("the store is away: try again.")
            return await real(*args, **kwargs)

        await here.queue.cancel(task.id)
        here.queue.store.get = get
        assert state((await asyncio.wait_for(anext(stream), 60)).status.state) == "canceled"
        assert away == []
        await stream.aclose()


@in_loop
async def test_every_attempt_is_told_and_a_retry_says_why() -> None:
    async with scene() as here:
        request = message("work")
        request.configuration.return_immediately = True
        task = await here.send(request)
        stream = here.follow(task.id)
        assert state((await anext(stream)).status.state) == "submitted"
        [claim] = await here.queue.claim("ada")
        assert state((await anext(stream)).status.state) == "working"
        await here.queue.fail(claim, "the line broke", retry_after=60)
        update = await asyncio.wait_for(anext(stream), 60)
        assert state(update.status.state) == "working"
        assert update.status.message.parts[0].text == "attempt 1 of 3 failed: the line broke; it is tried again"
        await stream.aclose()


@in_loop
async def test_a_list_tells_what_was_made_only_to_those_who_want_it() -> None:
    async with scene() as here:
        request = message("work", id="one")
        request.configuration.return_immediately = True
        await here.send(request)
        [claim] = await here.queue.claim("ada")
        await here.queue.complete(claim, {"n": 1})
        [plain] = (await here.handler.on_list_tasks(ListTasksRequest(), here.context)).tasks
        assert (len(plain.artifacts), len(plain.history)) == (0, 1)
        wanted = ListTasksRequest(include_artifacts=True, history_length=0)
        [full] = (await here.handler.on_list_tasks(wanted, here.context)).tasks
        assert (len(full.artifacts), len(full.history)) == (1, 0)
        later = ListTasksRequest()
        later.status_timestamp_after.FromSeconds(int(time.time()) + 3600)
        assert not (await here.handler.on_list_tasks(later, here.context)).tasks


@in_loop
async def test_a_task_that_came_by_another_door_is_not_known_here() -> None:
    async with scene() as here:
        added = await here.queue.add("work")
        with pytest.raises(TaskNotFoundError):
            await here.handler.on_get_task(GetTaskRequest(id=added.id), here.context)
