"""Every answer, errors included, says that this is a dibs server, and which version of the interface it speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.wire.topics.about import API, MARK

if TYPE_CHECKING:
    from litestar.types import ASGIApp, Message, Receive, Scope, Send

_MARK = (MARK.lower().encode(), str(API).encode())


class Marked:
    """An application whose answers are marked."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], _MARK]
            await send(message)

        await self.app(scope, receive, marked)
