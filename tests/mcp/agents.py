"""Agents for the tests: the official MCP client, over stdio, over HTTP and inside the process."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import httpx2
from mcp import Client
from mcp.client import session as speaking
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from dibs.mcp.definitions import BY_NAME
from dibs.mcp.serving import create_server
from dibs.mcp.session import Session
from dibs.mcp.stdio import Alone
from tests.server.process import environment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from pathlib import Path

    from dibs.queue import Queue

P = ParamSpec("P")

speaking.DISCOVER_TIMEOUT_SECONDS = 60.0
"""A client that waits longer takes a server for one of old; a process that it starts may need a while to answer."""

MODERN, LEGACY = "auto", "legacy"
"""How the client of the SDK speaks: as of 2026-07-28, where over HTTP every request stands alone; or with sessions."""


class Refused(Exception):
    """A tool answered with an error: what it said."""

    def __init__(self, told: dict[str, Any]) -> None:
        super().__init__(told)
        self.told = told


class Agent:
    """One who has a client, and passes on its session where it was given one."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.session: str | None = None

    async def __call__(self, tool: str, **given: Any) -> dict[str, Any]:
        """The answer of a tool. Raises Refused."""
        told, failed = await self.call(tool, given)
        if failed:
            raise Refused(told)
        return told

    async def call(self, tool: str, given: dict[str, Any]) -> tuple[dict[str, Any], bool]:
        known = BY_NAME.get(tool)
        if self.session is not None and known is not None and (known.holds or tool == "claim"):
            given = {"session": self.session, **given}
        result = await self.client.call_tool(tool, given)
        told: dict[str, Any] = json.loads(result.content[0].text)  # type: ignore[union-attr]
        self.session = told.pop("session", self.session)
        return told, result.is_error

    async def refusal(self, tool: str, **given: Any) -> dict[str, Any]:
        """What a tool says against it."""
        told, failed = await self.call(tool, given)
        assert failed, told
        return told


@asynccontextmanager
async def inside(queue: Queue, *, mode: str = MODERN, agent: str = "tester", **options: Any) -> AsyncIterator[Agent]:
    """An agent in this process."""
    session = Session(queue, agent, **options)
    try:
        async with Client(create_server(Alone(session)), mode=mode) as client:
            yield Agent(client)
    finally:
        await session.close()


def command(home: Path, url: str, *options: str, token: str | None = None) -> StdioServerParameters:
    """`dibs mcp` as clients start it."""
    env = environment(home) | ({} if token is None else {"DIBS_TOKEN": token})
    argv = ["-m", "dibs", "mcp", "--url", url, *options]
    return StdioServerParameters(command=sys.executable, args=argv, env=env, cwd=home)


@asynccontextmanager
async def over_stdio(
    home: Path, url: str, *options: str, mode: str = MODERN, token: str | None = None, **more: Any
) -> AsyncIterator[Agent]:
    """An agent with a `dibs mcp` of its own."""
    async with Client(stdio_client(command(home, url, *options, token=token)), mode=mode, **more) as client:
        yield Agent(client)


@asynccontextmanager
async def over_http(url: str, token: str | None, *, mode: str = MODERN, **options: Any) -> AsyncIterator[Agent]:
    """An agent of a server."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=100) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **options) as client,
    ):
        yield Agent(client)


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Runs a test that is a coroutine. What fails in it is raised by itself, not in the groups of the client."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            asyncio.run(test(*args, **kwargs))
        except ExceptionGroup as group:
            alone: Exception = group
            while isinstance(alone, ExceptionGroup) and len(alone.exceptions) == 1:
                alone = alone.exceptions[0]
            raise alone from None

    return run
