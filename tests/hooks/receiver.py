"""A receiver of hooks: a real server on this machine that remembers what it was sent, and answers as it is told."""

from __future__ import annotations

import asyncio
import hmac
from base64 import b64decode, b64encode
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from aiohttp import web
from msgspec import json

from dibs.rules.addresses import Target, parse_target

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


async def until(look: Callable[[], Awaitable[Any]], timeout_s: float = 60) -> Any:
    """What `look` finds, once it finds something."""
    async with asyncio.timeout(timeout_s):
        while True:
            found = await look()
            if found:
                return found
            await asyncio.sleep(0.01)


async def until_so(is_so: Callable[[], Any], timeout_s: float = 60) -> None:
    """Until something is so."""

    async def look() -> bool:
        return bool(is_so())

    await until(look, timeout_s)


class Received:
    """One request as it came in."""

    def __init__(self, request: web.Request, body: bytes) -> None:
        self.path = request.path
        self.headers = dict(request.headers)
        self.body = body

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> dict[str, Any]:
        found: dict[str, Any] = json.decode(self.body)
        return found

    def is_signed_with(self, secret: str) -> bool:
        """As a receiver checks it, written from the text of the standard."""
        signed = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        wanted = b64encode(hmac.new(b64decode(secret[len("whsec_") :]), signed, sha256).digest()).decode()
        return f"v1,{wanted}" in self.headers["webhook-signature"].split(" ")


class Receiver:
    """`answer` decides what each request is answered; without it, 200."""

    def __init__(self) -> None:
        self.got: list[Received] = []
        self.answer: Callable[[Received], web.Response] | None = None
        self.port = 0
        self._changed = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/in"

    @property
    def target(self) -> Target:
        return parse_target(f"127.0.0.1:{self.port}")

    async def until(self, count: int) -> list[Received]:
        """Everything that came, once it is so much."""
        while len(self.got) < count:
            self._changed.clear()
            await self._changed.wait()
        return self.got

    async def _take(self, request: web.Request) -> web.StreamResponse:
        got = Received(request, await request.read())
        self.got.append(got)
        self._changed.set()
        return web.Response() if self.answer is None else self.answer(got)


@asynccontextmanager
async def receiving(port: int = 0) -> AsyncIterator[Receiver]:
    """A receiver on a free port of 127.0.0.1."""
    receiver = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver._take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    receiver.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
    try:
        yield receiver
    finally:
        await runner.cleanup()
