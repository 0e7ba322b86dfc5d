"""`dibs mcp`: one client, one session, on standard input and output, until the client closes them."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from mcp.server.stdio import stdio_server

from dibs.connecting import connect
from dibs.errors import DibsError
from dibs.mcp.serving import create_server
from dibs.mcp.session import Session
from dibs.remote.store import RemoteStore
from dibs.requests import default_agent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server.context import ServerRequestContext

    from dibs.mcp.definitions import Tool
    from dibs.model.role import Role
    from dibs.queue import Queue

    Context = ServerRequestContext[Any, Any]

log = logging.getLogger("dibs.mcp")


class Alone:
    """The doorman of a process that has one client: everything is its own."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._role: Role | None = None

    def queue(self, ctx: Context) -> Queue:
        return self._session.queue

    async def role(self, ctx: Context) -> Role | None:
        """On a store it may do everything; of a server it is asked."""
        store: object = self._session.queue.store
        if self._role is None and isinstance(store, RemoteStore):
            try:
                self._role = (await store.about()).role
            except DibsError as error:
                log.warning("all tools are offered: %s", error.message)
        return self._role

    def is_stateless(self, ctx: Context) -> bool:
        return False

    @asynccontextmanager
    async def session(
        self, ctx: Context, tool: Tool, given: dict[str, Any]
    ) -> AsyncIterator[tuple[Session, dict[str, Any]]]:
        yield self._session, {}


def serve(url: str | None, *, agent: str | None = None, **offer: Any) -> None:
    """Serve a queue until standard input ends. `offer`: as for `Session`."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="dibs mcp: %(message)s")
    # Who reads standard input cannot be interrupted, and there is nothing to put in order: leases end by themselves.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_serve(url, agent or default_agent(), offer))


async def _serve(url: str | None, agent: str, offer: dict[str, Any]) -> None:
    async with connect(url) as queue:
        session = Session(queue, agent, **offer)
        server = create_server(Alone(session))
        try:
            async with stdio_server() as (read, write):
                await server.run(read, write, server.create_initialization_options())
        finally:
            await session.close()
