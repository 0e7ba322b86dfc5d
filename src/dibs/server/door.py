"""`/mcp`: the queue for agents that speak MCP over HTTP, with the tokens and roles of the API.

What it needs is imported when the first client comes: it takes a second and some memory, and many servers have none.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from litestar.handlers import ASGIRouteHandler
from litestar.types import Receive, Scope, Send

from dibs.errors import Unavailable
from dibs.model.role import EVERYONE

if TYPE_CHECKING:
    from litestar import Litestar

    from dibs.server.mcp import Host

PATH = "/mcp"
PATIENCE_S = 600.0
"""How long what a client claimed is renewed after it was last heard of, if it keeps no stream open."""
STREAM_PATIENCE_S = 60.0
"""The same for one that kept a stream open and has closed it."""


class Door:
    """Where MCP clients come in. `handler` is for the application, which is named afterwards."""

    def __init__(self, *, patience_s: float = PATIENCE_S, stream_patience_s: float = STREAM_PATIENCE_S) -> None:
        self.app: Litestar | None = None
        self._patience = {"patience_s": patience_s, "stream_patience_s": stream_patience_s}
        self._opening: asyncio.Task[Host] | None = None
        self._closed = False

        async def mcp(scope: Scope, receive: Receive, send: Send) -> None:
            await self._answer(scope, receive, send)

        self.handler = ASGIRouteHandler(PATH, opt={"roles": EVERYONE}, copy_scope=False, name="mcp")(mcp)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        # An `mcp` before version 2, which other packages may want, has no types of its own.
        if find_spec("mcp_types") is None:
            raise Unavailable("This server speaks no MCP: install it there with `pip install 'dibs[mcp]'`.")
        if self._closed:
            raise Unavailable("This server is about to leave: connect again.")
        scope["path_template"] = PATH
        if self._opening is None or (self._opening.done() and self._opening.exception() is not None):
            self._opening = asyncio.create_task(self._open(), name="dibs-mcp-opening")
        host = await asyncio.shield(self._opening)
        await host.answer(scope, receive, send)

    async def _open(self) -> Host:
        module: Any = await asyncio.to_thread(__import__, "dibs.server.mcp", fromlist=["Host"])
        assert self.app is not None, "the application is named before it serves"
        host: Host = module.Host(self.app, **self._patience)
        await host.open()
        return host

    def let_go(self) -> None:
        """End all streams, and let nobody in: the server is about to leave."""
        self._closed = True
        if self._opening is not None and self._opening.done() and self._opening.exception() is None:
            self._opening.result().let_go()

    async def close(self) -> None:
        """Renew nothing any more."""
        self._closed = True
        if self._opening is not None:
            with suppress(Exception):
                await (await self._opening).close()
