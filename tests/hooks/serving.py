"""A real server in the test's own process, and a client that reads its streams."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import uvicorn
from msgspec import json

from dibs.model.role import Role
from dibs.server.app import create_app
from dibs.server.callers import Caller

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from litestar import Litestar

    from dibs.queue import Queue


class Doorman:
    """Knows who may come in by their secret, which is also their name."""

    def __init__(self, *callers: Caller) -> None:
        self.callers = {caller.name: caller for caller in callers}

    async def identify(self, secret: str) -> Caller | None:
        return self.callers.get(secret)

    async def record(self, caller: Caller | None, act: str, target: str, outcome: str) -> None:
        """Nothing is written down here."""


ADMIN = Caller(name="dibs_admin", role=Role.ADMIN)
OTHER = Caller(name="dibs_other", role=Role.ADMIN, project="other")
AGENT = Caller(name="dibs_agent", role=Role.AGENT)
VIEWER = Caller(name="dibs_viewer", role=Role.VIEWER)


class Line:
    """One block of a stream: its fields."""

    def __init__(self, text: str) -> None:
        fields = dict(line.partition(": ")[::2] for line in text.splitlines() if not line.startswith(":"))
        self.id = int(fields["id"]) if "id" in fields else None
        self.name = fields.get("event", "message")
        self.data: dict[str, Any] | None = json.decode(fields["data"]) if "data" in fields else None


class Served:
    """A server that is running."""

    def __init__(self, app: Litestar, port: int, doorman: Doorman) -> None:
        self.app = app
        self.url = f"http://127.0.0.1:{port}"
        self.port = port
        self.doorman = doorman

    @asynccontextmanager
    async def stream(
        self, who: Caller = ADMIN, *, seen: int | None = None, **query: Any
    ) -> AsyncIterator[AsyncIterator[Line]]:
        """The blocks of a stream, as they come."""
        headers = {"Authorization": f"Bearer {who.name}"}
        if seen is not None:
            headers["Last-Event-ID"] = str(seen)
        timeout = aiohttp.ClientTimeout(total=100)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{self.url}/v1/events", params=query, headers=headers) as response,
        ):
            assert response.status == 200, await response.text()
            assert response.headers["Content-Type"].startswith("text/event-stream")
            yield blocks(response.content)

    async def ask(self, method: str, path: str, who: Caller | None = ADMIN, **options: Any) -> tuple[int, Any]:
        """The status and body of one request."""
        headers = {} if who is None else {"Authorization": f"Bearer {who.name}"}
        headers |= options.pop("headers", {})
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, f"{self.url}{path}", headers=headers, **options) as response,
        ):
            return response.status, json.decode(await response.read())


async def blocks(content: aiohttp.StreamReader) -> AsyncIterator[Line]:
    """The blocks of a stream."""
    block = ""
    async for line in content:
        if line.strip():
            block += line.decode()
        else:
            yield Line(block)
            block = ""


@asynccontextmanager
async def served(queue: Queue) -> AsyncIterator[Served]:
    """The API of a queue's store on a free port."""
    doorman = Doorman(ADMIN, OTHER, AGENT, VIEWER)
    app = create_app(queue, authority=doorman)
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, ws="none", timeout_graceful_shutdown=60)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server._serve())
    while not server.started:
        await asyncio.sleep(0.01)
        if running.done():
            running.result()
    try:
        yield Served(app, server.servers[0].sockets[0].getsockname()[1], doorman)
    finally:
        app.state.desk.let_go()
        server.should_exit = True
        await running
