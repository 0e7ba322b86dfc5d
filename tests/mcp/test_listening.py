"""`subscriptions/listen` with `taskIds`, and `notifications/tasks`, as the Tasks extension (SEP-2663) has them."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import mcp_types as types
import pytest
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ConfigDict

import dibs
from dibs.errors import LeaseLost, NotFound, Unavailable
from dibs.mcp import handles, listening
from dibs.mcp.listening import Streams, changes
from tests.mcp.agents import in_loop, inside, over_http, over_stdio
from tests.server.process import up

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from mcp import Client

    from tests.mcp.agents import Agent
    from tests.server.process import Up

VERSION = "2026-07-28"
HAS_TASKS: dict[str, Any] = {"extensions": {handles.EXTENSION: {}}, "elicitation": {}}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class Anything(BaseModel):
    model_config = ConfigDict(extra="allow")


class Hearing(ClientExtension):
    """A client that has the extension, and notes what it hears of tasks."""

    identifier = handles.EXTENSION

    def __init__(self) -> None:
        self.heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        return (NotificationBinding(method="notifications/tasks", params_type=Anything, handler=self._hear),)

    async def _hear(self, params: Anything) -> None:
        await self.heard.put(params.model_dump())

    async def next(self) -> dict[str, Any]:
        return await asyncio.wait_for(self.heard.get(), 60)


def _listening(client: Client, *ids: str) -> asyncio.Task[Any]:
    wanted = types.SubscriptionFilter.model_validate({"taskIds": list(ids)})
    params = types.SubscriptionsListenRequestParams(notifications=wanted)
    request = types.SubscriptionsListenRequest(params=params)
    return asyncio.create_task(client.session.send_request(request, types.SubscriptionsListenResult))


@asynccontextmanager
async def _agent(door: str, home: Path, url: str, hearing: Hearing) -> AsyncIterator[Agent]:
    if door == "stdio":
        async with over_stdio(home, url, mode=VERSION, extensions=[hearing]) as agent:
            yield agent
    else:
        with up(home, url) as server:
            async with over_http(f"{server.url}/mcp", server.token, mode=VERSION, extensions=[hearing]) as agent:
                yield agent


@pytest.mark.parametrize("door", ["stdio", "http"])
def test_a_client_hears_of_its_tasks_until_they_have_ended(door: str, tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/work.db"

    @in_loop
    async def work() -> None:
        hearing = Hearing()
        async with dibs.connect(url) as queue, _agent(door, tmp_path, url, hearing) as agent:
            one, two = await queue.add("one"), await queue.add("two", max_attempts=1)
            other = await queue.add("other")
            stream = _listening(agent.client, one.id, two.id, "task_nobody")
            # Where they are, at once: nothing is missed that happened before.
            first = {told["taskId"]: told["status"] for told in (await hearing.next(), await hearing.next())}
            assert first == {one.id: "working", two.id: "working"}
            [claim] = await queue.claim("worker", types=["one"])
            await queue.renew(claim, progress=0.5, note="half of it")
            told = await hearing.next()
            while "half of it" not in told["statusMessage"]:
                told = await hearing.next()
            assert told["taskId"] == one.id
            await queue.complete(claim, {"pages": 3})
            while told["status"] == "working":
                told = await hearing.next()
            assert told["result"] == {"content": [{"type": "text", "text": '{"pages":3}'}], "isError": False}
            # All that tasks/get says, and which subscription it is of.
            assert told.keys() >= {"taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "_meta"}
            assert told["ttlMs"] is None
            assert SUBSCRIPTION in told["_meta"]
            assert not stream.done()
            await queue.complete((await queue.claim("worker", types=["other"]))[0])
            await queue.cancel(two.id, "not needed")
            told = await hearing.next()
            assert (told["taskId"], told["status"]) == (two.id, "cancelled")
            # Nothing more can come of them.
            await asyncio.wait_for(stream, 60)
            assert other.id not in {each["taskId"] for each in hearing.heard._queue}  # type: ignore[attr-defined]

    work()


@in_loop
async def test_a_question_is_told_to_those_who_can_be_asked() -> None:
    async with dibs.connect("memory:") as queue:
        task = await queue.add("asks")
        told = changes(queue, [task.id], may_ask=True)
        assert (await anext(told))["status"] == "working"
        [claim] = await queue.claim("worker")
        asked = await queue.ask_under(claim, "Which colour?")
        handle = await anext(told)
        while handle["status"] == "working":
            handle = await anext(told)
        assert (handle["status"], list(handle["inputRequests"])) == ("input_required", [asked.question.id])
        await told.aclose()


@in_loop
async def test_a_lease_that_is_renewed_is_nothing_to_tell() -> None:
    async with dibs.connect("memory:") as queue:
        task = await queue.add("slow")
        [claim] = await queue.claim("worker")
        await queue.renew(claim)
        told = changes(queue, [task.id], may_ask=False)
        assert (await anext(told))["statusMessage"] == "running"
        more = asyncio.ensure_future(anext(told))
        for _ in range(3):
            await queue.renew(claim)
            await asyncio.sleep(listening.PACE_S)
        assert not more.done()
        await queue.complete(claim, "made")
        assert (await more)["status"] == "completed"
        assert [handle async for handle in told] == []


@in_loop
async def test_a_store_that_is_away_is_asked_again_and_who_may_not_know_hears_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with dibs.connect("memory:") as queue:
        task = await queue.add("t")
        real = handles.get
        trouble: list[Exception] = [Unavailable("away"), Unavailable("still away")]

        async def get(*args: Any, **kwargs: Any) -> Any:
            if trouble:
                raise trouble.pop(0)
            return await real(*args, **kwargs)

        monkeypatch.setattr(handles, "get", get)
        monkeypatch.setattr(listening, "PACE_S", 0.01)
        told = changes(queue, [task.id], may_ask=False)
        assert (await anext(told))["status"] == "working"
        for error in (LeaseLost("denied"), NotFound("purged")):
            trouble.append(error)
            assert [handle async for handle in changes(queue, [task.id], may_ask=False)] == []


class Stream:
    """The frames of one stream over HTTP."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.aiter_lines()

    async def next(self) -> dict[str, Any]:
        async for line in self._lines:
            if line.startswith("data:"):
                found: dict[str, Any] = json.loads(line.removeprefix("data:"))
                return found
        raise EOFError


@asynccontextmanager
async def _raw(server: Up, capabilities: Any, **wanted: Any) -> AsyncIterator[httpx2.Response]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    body = {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "subscriptions/listen",
        "params": {"notifications": wanted, "_meta": meta},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {server.token}",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": "subscriptions/listen",
    }
    async with (
        httpx2.AsyncClient(headers=headers, timeout=100) as http,
        http.stream("POST", f"{server.url}/mcp", json=body) as response,
    ):
        yield response


def test_what_is_honored_is_acknowledged_first_and_a_server_that_leaves_ends_the_stream(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/work.db"

    @in_loop
    async def work() -> None:
        with up(tmp_path, url) as server:
            async with dibs.connect(url) as queue:
                task = await queue.add("t")
            async with _raw(server, HAS_TASKS, taskIds=[task.id, "task_x", "dag_x"], toolsListChanged=True) as response:
                stream = Stream(response)
                ack = await stream.next()
                assert ack["method"] == "notifications/subscriptions/acknowledged"
                assert ack["params"] == {"notifications": {"taskIds": [task.id]}, "_meta": {SUBSCRIPTION: 7}}
                told = await stream.next()
                assert (told["method"], told["params"]["taskId"]) == ("notifications/tasks", task.id)
                assert told["params"]["_meta"] == {SUBSCRIPTION: 7}
                server.signal()
                ended = await stream.next()
                assert (ended["id"], ended["result"]["_meta"][SUBSCRIPTION]) == (7, 7)
            assert await asyncio.to_thread(server.wait) == 0

    work()


def test_listening_without_the_extension(tmp_path: Path) -> None:
    """sep-2663: who does not declare it is refused, if it asks for tasks; else there is nothing to tell."""

    @in_loop
    async def work() -> None:
        with up(tmp_path, f"sqlite:{tmp_path}/work.db") as server:
            async with _raw(server, {}, taskIds=["task_x"]) as response:
                error = json.loads(await response.aread())["error"]
            assert error["code"] == types.MISSING_REQUIRED_CLIENT_CAPABILITY
            assert error["data"] == {"requiredCapabilities": {"extensions": {handles.EXTENSION: {}}}}
            async with _raw(server, {}, toolsListChanged=True) as response:
                ack = await Stream(response).next()
                assert ack["params"]["notifications"] == {}
            for wrong in ("task_x", [1], ["task_x"] * (listening.MOST_IDS + 1)):
                async with _raw(server, HAS_TASKS, taskIds=wrong) as response:
                    error = json.loads(await response.aread())["error"]
                assert error["code"] == types.INVALID_PARAMS, wrong

    work()


@in_loop
async def test_only_so_many_streams_are_open() -> None:
    async with dibs.connect("memory:") as queue, dibs.connect("memory:") as other:
        streams = Streams()
        async with asyncio.TaskGroup() as group:
            full, leave = asyncio.Event(), asyncio.Event()

            async def hold() -> None:
                with streams.entered(queue):
                    if streams._open[queue] == listening.MOST_OF_ONE:
                        full.set()
                    await leave.wait()

            for _ in range(listening.MOST_OF_ONE):
                group.create_task(hold())
            await full.wait()
            with pytest.raises(MCPError, match="tasks/get"), streams.entered(queue):
                pass
            with streams.entered(other):
                pass
            leave.set()
        with streams.entered(queue):
            pass
        assert not streams._open
        assert not streams._scopes


@in_loop
async def test_it_is_not_said_that_lists_change() -> None:
    async with dibs.connect("memory:") as queue, inside(queue) as agent:
        found = agent.client.server_capabilities
        assert found.tools is not None
        assert not found.tools.list_changed
        assert found.resources is not None
        assert not found.resources.subscribe
        assert not found.resources.list_changed
