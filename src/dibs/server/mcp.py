"""MCP over streamable HTTP: whose request it is, which session it belongs to, and whether that one is still alive.

Clients of protocol 2025-11-25 and before have sessions of the protocol (`Mcp-Session-Id`), each of the token that began
it. Since 2026-07-28 there are none: every request stands alone. There the first `claim` answers with a session of ours,
which the agent passes on. Its agent's name follows from it and not the other way round; so any server on the same store
finds what the session holds, and nobody else can say whose it is.

A session is alive while a request or stream of it is open, and for a while after it was last heard of (`Presence`).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from dibs.errors import Conflict, Unavailable
from dibs.mcp.definitions import Tool
from dibs.mcp.listening import Streams
from dibs.mcp.serving import create_server
from dibs.mcp.session import LEASE_S, Presence, Session
from dibs.model.role import Role
from dibs.requests import lease_s
from dibs.rules import validation
from dibs.rules.access import named as named_as
from dibs.server.admitting import secret_of
from dibs.server.authority import rights_of
from dibs.server.callers import Caller
from dibs.server.inside import InsideQueue

if TYPE_CHECKING:
    from litestar import Litestar
    from mcp.server.context import ServerRequestContext

    from dibs.queue import Queue

    Context = ServerRequestContext[Any, Any]

# What the SDK tells of each session is nothing to whoever runs the server, and names sessions.
logging.getLogger("mcp").setLevel(logging.WARNING)

MOST_QUEUES = 1_000
MOST_SESSIONS = 10_000
MOST_OF_ONE = 1_000
"""How many sessions one token may have, so that it leaves room for others."""
NOT_FOUND = 404
SESSION_ID = b"mcp-session-id"
CLAIM = "claim"

Key = tuple[str, str]
"""The owner of a session (its token) and what names it."""


class Entry:
    """A session, and whether somebody is there."""

    __slots__ = ("presence", "session")

    def __init__(self, session: Session, presence: Presence) -> None:
        self.session, self.presence = session, presence


class Host:
    """All MCP clients of a server."""

    def __init__(self, app: Litestar, *, patience_s: float, stream_patience_s: float) -> None:
        self._app = app
        # Who closed its stream is never waited for longer than who had none.
        self._patience = {"patience_s": patience_s, "stream_patience_s": min(patience_s, stream_patience_s)}
        self._sessions: dict[Key, Entry] = {}
        self._presences: dict[Key, Presence] = {}
        self._queues: OrderedDict[str, Queue] = OrderedDict()
        self._streams: set[asyncio.Task[None]] = set()
        most = app.state.desk.settings.max_body_bytes
        self._listening = Streams()
        server = create_server(self, self._listening)
        self._manager = StreamableHTTPSessionManager(server, max_request_body_size=most)
        self._running: asyncio.Task[None] | None = None
        self._opened = asyncio.Event()

    # Living

    async def open(self) -> None:
        """Begin to serve."""
        self._running = asyncio.create_task(self._run(), name="dibs-mcp")
        await self._opened.wait()

    async def _run(self) -> None:
        async with self._manager.run():
            self._opened.set()
            await asyncio.Event().wait()

    def let_go(self) -> None:
        """End all streams."""
        self._listening.close()
        for stream in list(self._streams):
            stream.cancel()

    async def close(self) -> None:
        """Renew nothing any more; what is held comes back when its leases end."""
        self.let_go()
        for entry in list(self._sessions.values()):
            await entry.session.close()
        if self._running is not None:
            self._running.cancel()
            with suppress(asyncio.CancelledError):
                await self._running

    # Requests

    async def answer(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request of a caller who was let in."""
        caller: Caller = scope["caller"]
        token = AccessToken(token="", client_id=_owner(caller), scopes=[])
        # The SDK lets a session be used by the one who began it, and answers others as if it were not there.
        scope["user"] = AuthenticatedUser(token)
        named = next((value.decode("latin-1") for name, value in scope["headers"] if name == SESSION_ID), None)
        is_stream = scope["method"] == "GET"
        if named is None or len(named) > 100:
            await self._manager.handle_request(scope, receive, send)
            return
        key = (_owner(caller), named)
        presence = self._presence(key)
        presence.enter(stream=is_stream)
        is_known = True

        async def noting(message: Any) -> None:
            nonlocal is_known
            is_known &= message.get("status") != NOT_FOUND
            await send(message)

        try:
            if is_stream:
                await self._stream(scope, receive, noting)
            else:
                await self._manager.handle_request(scope, receive, noting)
        finally:
            presence.leave(stream=is_stream)
            if scope["method"] == "DELETE" or not is_known:
                await self._end(key)

    async def _stream(self, scope: Any, receive: Any, send: Any) -> None:
        """A stream that lasts as long as the client wants, or until the server leaves."""
        state = {"begun": False, "over": False}

        async def noting(message: Any) -> None:
            state["begun"] |= message["type"] == "http.response.start"
            state["over"] |= message["type"] == "http.response.body" and not message.get("more_body")
            await send(message)

        streaming = asyncio.ensure_future(self._manager.handle_request(scope, receive, noting))
        self._streams.add(streaming)
        try:
            await asyncio.wait({streaming})
        finally:
            self._streams.discard(streaming)
            streaming.cancel()
        if not streaming.cancelled():
            streaming.result()
        if state["begun"] and not state["over"]:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        elif not state["begun"]:
            raise Unavailable("This server is about to leave: connect again.")

    def _presence(self, key: Key) -> Presence:
        found = self._presences.get(key)
        if found is None:
            self._forget_the_gone()
            found = self._presences[key] = Presence(**self._patience)
        return found

    async def _end(self, key: Key) -> None:
        self._presences.pop(key, None)
        entry = self._sessions.pop(key, None)
        if entry is not None:
            await entry.session.close()

    def _forget_the_gone(self) -> None:
        """Sessions that nobody was heard of, and that hold nothing."""
        for key, entry in list(self._sessions.items()):
            if not entry.session.held and not entry.presence.is_alive():
                del self._sessions[key]
        for key, presence in list(self._presences.items()):
            if key not in self._sessions and not presence.is_alive():
                del self._presences[key]
        if len(self._sessions) >= MOST_SESSIONS or len(self._presences) >= MOST_SESSIONS:
            raise Unavailable(f"{MOST_SESSIONS:,} sessions are open here already; try again later.")

    # What tools ask for (`serving.Doorman`)

    def queue(self, ctx: Context) -> Queue:
        """The queue as the token of this request sees it."""
        assert ctx.request is not None
        secret = secret_of(ctx.request.scope) or ""
        digest = hashlib.sha256(secret.encode()).hexdigest()
        found = self._queues.get(digest)
        if found is None:
            found = self._queues[digest] = InsideQueue(self._app, secret)
            if len(self._queues) > MOST_QUEUES:
                self._queues.popitem(last=False)
        self._queues.move_to_end(digest)
        return found

    async def role(self, ctx: Context) -> Role | None:
        return _caller(ctx).role

    def is_stateless(self, ctx: Context) -> bool:
        return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS

    @asynccontextmanager
    async def session(
        self, ctx: Context, tool: Tool, given: dict[str, Any]
    ) -> AsyncIterator[tuple[Session, dict[str, Any]]]:
        named = given.pop("session", None)
        if not tool.holds and tool.name != CLAIM:
            yield Session(self.queue(ctx), _name(ctx)), {}
            return
        besides: dict[str, Any] = {}
        stateless = self.is_stateless(ctx)
        if stateless and named is None:
            named = secrets.token_urlsafe(12)
            besides = {"session": named}
        elif not stateless:
            assert ctx.request is not None
            named = ctx.request.headers.get(SESSION_ID.decode()) or ""
        entry = await self._entry(ctx, named, new=bool(besides) or not stateless)
        entry.session.queue = self.queue(ctx)
        entry.presence.enter()
        try:
            yield entry.session, besides
        finally:
            entry.presence.leave()

    async def _entry(self, ctx: Context, named: str, *, new: bool) -> Entry:
        key = (_owner(_caller(ctx)), named)
        entry = self._sessions.get(key)
        if entry is not None:
            return entry
        self._forget_the_gone()
        if sum(owner == key[0] for owner, _ in self._sessions) >= MOST_OF_ONE:
            raise Conflict(
                f"This token has {MOST_OF_ONE:,} sessions: go on with one of them.", code="too_many_sessions"
            )
        presence = self._presences.get(key) or Presence(**self._patience)
        own = hashlib.sha256(f"{key[0]}\n{named}".encode()).hexdigest()[:12]
        name = _name(ctx)
        session = Session(
            self.queue(ctx),
            named_as(rights_of(_caller(ctx)), f"{name}:{own}"),
            lease_s=_lease_s(ctx),
            alive=presence.is_alive,
            lives=f"if you call a tool at least every {self._patience['patience_s'] / 60:g} min"
            if self.is_stateless(ctx)
            else "while you are connected",
        )
        if not new and not await session.remember():
            raise Conflict(
                "This session is unknown here, or has ended: what it held is given to others.",
                code="unknown_session",
                field="session",
            )
        if new and name != _caller(ctx).name:
            # So that what is assigned to this name is for all sessions that have it.
            await session.queue.register_agent(session.agent, type=name, keep=True)
        entry = self._sessions[key] = Entry(session, presence)
        return entry


def _caller(ctx: Context) -> Caller:
    assert ctx.request is not None
    found: Caller = ctx.request.scope["caller"]
    return found


def _owner(caller: Caller) -> str:
    return caller.token_id or caller.name


def _name(ctx: Context) -> str:
    """What its agent is called: `/mcp?agent=NAME`, else as its token is."""
    asked = _asked(ctx, "agent")
    return _caller(ctx).name if asked is None else validation.text(asked, "agent")


def _lease_s(ctx: Context) -> float:
    """How long a lease is: `/mcp?lease=2m`."""
    asked = _asked(ctx, "lease")
    return LEASE_S if asked is None else lease_s(asked)


def _asked(ctx: Context, name: str) -> str | None:
    """What the URL of a client says."""
    assert ctx.request is not None
    found = parse_qs(ctx.request.scope["query_string"].decode("latin-1")).get(name)
    return found[0] if found else None
