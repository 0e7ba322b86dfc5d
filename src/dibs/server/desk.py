"""What all handlers of one server share, and one request as they see it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from litestar.types import Receive, Scope
from msgspec import Struct

from dibs.errors import Unavailable
from dibs.queue import Queue
from dibs.server.callers import Caller
from dibs.server.feed import Feed
from dibs.server.held import HeldClaims
from dibs.server.lobby import Lobby
from dibs.server.newsroom import Newsroom
from dibs.server.queues import Queues
from dibs.server.streams import Streams
from dibs.wire.verbs import Verb

if TYPE_CHECKING:
    from dibs.model.claim import Claim
    from dibs.server.callers import Authority
    from dibs.server.settings import Settings


class Desk:
    """One server: its queues, its limits, who may use it, who waits in it."""

    def __init__(self, queue: Queue, authority: Authority, settings: Settings) -> None:
        self.queues = Queues(queue)
        self.authority = authority
        self.settings = settings
        self.held = HeldClaims()
        self.streams = Streams(Feed(queue.store))
        self.newsroom = Newsroom(queue.store)
        self.lobby = Lobby(self.newsroom, settings.max_waiting)

    def let_go(self) -> None:
        """Answer all long polls at once, end all streams, and keep no more: the server is about to leave."""
        self.streams.close()
        self.lobby.close()


class Asking(Struct):
    """A verb, who asks for it, of which queue; and the request itself, as far as it is not read yet."""

    verb: Verb
    caller: Caller
    queue: Queue
    desk: Desk
    scope: Scope
    receive: Receive

    @property
    def path(self) -> str:
        """What was asked for."""
        return self.scope["path"]

    def header(self, name: bytes) -> str | None:
        """The value of a header (in small letters); None if it was not sent."""
        return next((value.decode("latin-1") for sent, value in self.scope["headers"] if sent == name), None)

    async def stream(self) -> AsyncIterator[bytes]:
        """The body, piece by piece. Raises Unavailable if the client leaves before its end."""
        while True:
            message: Any = await self.receive()
            if message["type"] == "http.disconnect":
                raise Unavailable("the client left before all was sent.", code="client_left")
            if message["body"]:
                yield message["body"]
            if not message.get("more_body"):
                return

    def claim_of(self, task_id: str, fence: Any) -> Claim | tuple[str, Any]:
        """The claim under this fence if it is at hand; else what names it."""
        if type(fence) is not int:
            return (task_id, fence)
        return self.desk.held.find(self.queue.project, task_id, fence) or (task_id, fence)
