"""A worker among other agents: it registers itself, is limited and drained like anybody, and says when it goes."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

import dibs
from dibs.model.agent import AgentStatus

if TYPE_CHECKING:
    from dibs.model.views import Agent


def app_of(*types: str) -> dibs.App:
    app = dibs.App()
    for type in types:

        @app.handler(type)
        async def handle() -> None:
            """Nothing to do."""

    return app


async def agent_of(queue: dibs.Queue) -> Agent:
    [agent] = await queue.agents()
    return agent


async def test_a_worker_registers_itself_and_leaves() -> None:
    async with dibs.connect("memory:") as queue:
        seen: list[Agent] = []
        app = dibs.App()

        @app.handler("job")
        async def job() -> None:
            seen.append(await agent_of(queue))

        task = await queue.add("job", assignee="coder")
        async with dibs.Worker(app, queue, agent="me", agent_type="coder", concurrency=4) as worker:
            await worker.drain()
        [there] = seen
        assert (there.id, there.type, there.status, there.tasks) == ("me", "coder", AgentStatus.ACTIVE, [task.id])
        assert (there.host, there.pid, there.version) == (os.uname().nodename, os.getpid(), dibs.__version__)
        assert (there.concurrency, there.utilisation, there.poll_s) == (4, 0.25, 5.0)
        assert (there.types, there.max_concurrent) == (("job",), None)
        gone = await agent_of(queue)
        assert (gone.status, gone.reason) == (AgentStatus.OFFLINE, "it ended")


async def test_a_worker_keeps_to_what_somebody_registered_for_it() -> None:
    async with dibs.connect("memory:") as queue:
        await queue.register_agent("me", "coder", max_concurrent=1)
        most = 0
        app = dibs.App()

        @app.handler("job")
        async def job() -> None:
            nonlocal most
            most = max(most, len((await agent_of(queue)).tasks))
            await asyncio.sleep(0)

        await queue.add_many([dibs.NewTask("job", assignee="coder") for _ in range(5)])
        async with dibs.Worker(app, queue, agent="me") as worker:
            await worker.drain()
        assert (await queue.stats()).by_status == {"completed": 5}
        assert most == 1
        assert (await agent_of(queue)).max_concurrent == 1


async def test_a_worker_that_is_drained_from_outside_leaves_what_is_left() -> None:
    async with dibs.connect("memory:") as queue:
        app = dibs.App()

        @app.handler("job")
        async def job() -> None:
            await queue.drain_agent("me")

        await queue.add_many([dibs.NewTask("job"), dibs.NewTask("job")])
        async with asyncio.timeout(60), dibs.Worker(app, queue, agent="me", concurrency=1) as worker:
            await worker.drain()
        assert (await queue.stats()).by_status == {"ready": 1, "completed": 1}


async def test_a_worker_that_never_worked_was_never_there() -> None:
    async with dibs.connect("memory:") as queue:
        async with dibs.Worker(app_of("job"), queue, agent="me"):
            pass
        assert await queue.agents() == []


async def test_an_agent_type_must_be_text() -> None:
    async with dibs.connect("memory:") as queue:
        with pytest.raises(dibs.Invalid) as caught:
            dibs.Worker(app_of("job"), queue, agent_type="")
        assert caught.value.field == "agent_type"
