"""A queue on this very server, for what serves others inside it: every verb is a request to the API like any other.

So whoever comes in by another door has the rights of its token, and no others: the same guard, the same confined store,
the same audit. Nothing goes over a socket.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dibs.remote.address import Address
from dibs.remote.exchange import Answer, Request
from dibs.remote.queue import RemoteQueue
from dibs.remote.server import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar import Litestar

    from dibs.model.claim import Claim
    from dibs.stores.values import Settlement

_HERE = Address("http", "inside", 80)


class InsideLine:
    """A way to an application in the same process."""

    def __init__(self, app: Litestar) -> None:
        self._app = app

    async def send(self, request: Request) -> Answer:
        """Ask the application. Whoever stops waiting leaves, as a client would."""
        path, _, query = request.path.partition("?")
        headers = {"host": _HERE.host, **request.headers}
        if request.body is not None:
            headers["content-length"] = str(len(request.body))
        scope: Any = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
            "client": None,
            "server": None,
            "state": {},
        }
        answer = Answer(500, {}, b"")
        asked = False

        async def receive() -> Any:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": request.body or b"", "more_body": False}
            # Nobody leaves before the answer; who is cancelled is so in this very task.
            return await asyncio.get_running_loop().create_future()

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = {name.decode().lower(): value.decode("latin-1") for name, value in message["headers"]}
            else:
                answer.body += message.get("body", b"")

        await self._app(scope, receive, send)
        return answer

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """There is nothing to let go of."""


class InsideQueue(RemoteQueue):
    """The queue of this server, as the holder of a token sees it. It runs no commands: the work was done elsewhere."""

    def __init__(self, app: Litestar, secret: str) -> None:
        super().__init__(Server(_HERE, InsideLine(app), secret, patience_s=0.0), blocking=False)

    async def _checked(self, claim: Claim, done: Settlement, beside: Sequence[Claim] = ()) -> Settlement:
        """The API refuses what must pass a command, and says so."""
        return done

    async def complete(self, claim: Any, *args: Any, **kwargs: Any) -> Any:
        """As `Queue.complete`, told to the API once."""
        return await super(RemoteQueue, self).complete(claim, *args, **kwargs)
