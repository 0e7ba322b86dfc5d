"""The door for other people's agents: their card for anybody, their requests for whoever has a token.

The protocol is the SDK's. Before it sees a request, this looks at it: one JSON document, nested no deeper than ours may
be, from somebody whose role may ask this. Whose it is decides which queue answers: their project's, and nothing else.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.common import ServerCallContextBuilder
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from litestar import Request, Response, Router, get, post
from litestar.exceptions import ClientException
from litestar.response.base import ASGIResponse
from msgspec.json import encode
from starlette.requests import Request as SdkRequest

from dibs.a2a.card import PATH, WELL_KNOWN, card_of
from dibs.a2a.following import Visit
from dibs.a2a.handling import VISIT, Handler
from dibs.errors import Denied, Invalid, Unavailable
from dibs.model.role import STEERING, WATCHING
from dibs.server.admitting import ANYBODY, caller_of, secret_of
from dibs.server.bodies import read_json
from dibs.server.desk import Desk

if TYPE_CHECKING:
    from litestar.types import Receive, Scope, Send
    from starlette.responses import Response as SdkResponse

    from dibs.a2a.offer import Offer
    from dibs.model.event import Event
    from dibs.model.role import Role
    from dibs.server.feed import Following
    from dibs.server.streams import Streams

MAX_BODY_BYTES = 4 << 20
NOT_JSON = -32_700
_CARD_HEADERS = {"cache-control": "public, max-age=60"}
_NO_STORE = {"cache-control": "no-store"}

ROLES: dict[str, frozenset[Role]] = {
    "SendMessage": STEERING,
    "SendStreamingMessage": STEERING,
    "CancelTask": STEERING,
    "CreateTaskPushNotificationConfig": STEERING,
    "DeleteTaskPushNotificationConfig": STEERING,
    "GetTask": WATCHING,
    "ListTasks": WATCHING,
    "SubscribeToTask": WATCHING,
    "GetTaskPushNotificationConfig": WATCHING,
    "ListTaskPushNotificationConfigs": WATCHING,
    "GetExtendedAgentCard": WATCHING,
    # The words of version 0.3.
    "message/send": STEERING,
    "message/stream": STEERING,
    "tasks/cancel": STEERING,
    "tasks/pushNotificationConfig/set": STEERING,
    "tasks/pushNotificationConfig/delete": STEERING,
    "tasks/get": WATCHING,
    "tasks/resubscribe": WATCHING,
    "tasks/pushNotificationConfig/get": WATCHING,
    "tasks/pushNotificationConfig/list": WATCHING,
    "agent/getAuthenticatedExtendedCard": WATCHING,
}
"""Who may ask what. What is not here the protocol does not know."""


def router_of(offer: Offer, url: str) -> Router:
    """The routes of an offer, on a server that listens at this URL."""
    # It tells of every request that it refuses, with a traceback; whoever asked is told, and faults are in our log.
    logging.getLogger("a2a").setLevel(logging.CRITICAL)
    reached = offer.url or url
    card = encode(agent_card_to_dict(card_of(offer, reached)))
    made: list[JsonRpcDispatcher] = []

    @get(
        [WELL_KNOWN, f"{PATH}{WELL_KNOWN}"],
        opt={"roles": ANYBODY},
        operation_id="a2a_card",
        summary="Who this is to other agents, and what they can ask for",
    )
    async def a2a_card() -> Response[bytes]:
        return Response(card, media_type="application/json", headers=_CARD_HEADERS)

    @post(PATH, opt={"roles": WATCHING | STEERING}, operation_id="a2a", summary="A request of the A2A protocol")
    async def a2a(request: Request[Any, Any, Any]) -> ASGIResponse:
        desk: Desk = request.app.state.desk
        if not made:
            # Only now is there a desk: routes are made before their app.
            handler = Handler(offer, _Feed(desk.streams), reached, max_wait_s=desk.settings.max_wait_s)
            made.append(JsonRpcDispatcher(handler, _Builder(), enable_v0_3_compat=True))
        return await _answered(made[0], desk, request)

    return Router("/", route_handlers=[a2a_card, a2a], tags=["a2a"])


async def _answered(dispatcher: JsonRpcDispatcher, desk: Desk, request: Request[Any, Any, Any]) -> ASGIResponse:
    try:
        raw = await _body(request)
        asked = read_json(raw, desk.settings.max_depth)
    except Invalid as error:
        told = {"jsonrpc": "2.0", "id": None, "error": {"code": NOT_JSON, "message": error.message}}
        return ASGIResponse(body=encode(told), headers=_NO_STORE)
    method = asked.get("method") if isinstance(asked, dict) else None
    if isinstance(method, str) and method in ROLES:
        await _allow(desk, request, method)
    scope: Any = request.scope
    scope[VISIT] = _visit(desk, request)
    receive = _Again(raw, request.receive)
    return _Passed(await dispatcher.handle_requests(SdkRequest(scope, receive)), receive)


async def _body(request: Request[Any, Any, Any]) -> bytes:
    try:
        raw = await request.body()
    except ClientException:
        raw = None
    if raw is None or len(raw) > MAX_BODY_BYTES:
        raise Invalid(f"A message has at most {MAX_BODY_BYTES:,} bytes here; send less at a time.")
    return raw


async def _allow(desk: Desk, request: Request[Any, Any, Any], method: str) -> None:
    caller, roles = caller_of(request), ROLES[method]
    if caller.role not in roles:
        await desk.authority.record(caller, f"a2a {method}", request.scope["path"], "denied")
        may = ", ".join(sorted(roles))
        raise Denied(f"{method} is not for {caller.role} tokens; it takes one of: {may}.", field="role")


def _visit(desk: Desk, request: Request[Any, Any, Any]) -> Visit:
    caller, secret = caller_of(request), secret_of(request.scope)

    async def is_trusted() -> bool:
        try:
            return secret is not None and await desk.authority.identify(secret) == caller
        except Unavailable:
            # The store is away. It is looked at again soon.
            return True

    async def record(act: str, outcome: str) -> None:
        await desk.authority.record(caller, act, request.scope["path"], outcome)

    return Visit(desk.queues.of(caller), caller.name, caller.token_id or caller.name, is_trusted, record)


class _Builder(ServerCallContextBuilder):
    """Carries to the handler whose request it is."""

    def build(self, request: SdkRequest) -> ServerCallContext:
        return ServerCallContext(state={VISIT: request.scope[VISIT], "headers": dict(request.headers)})


class _Feed:
    """The server's streams as whoever follows a task sees them."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams

    @property
    def is_closing(self) -> bool:
        return self._streams.is_closing

    def follow(self) -> Following:
        return self._streams.feed.follow()

    async def newest(self) -> int:
        return await self._streams.feed.newest()

    async def after(self, seq: int, project: str, limit: int) -> tuple[list[Event], int]:
        return await self._streams.feed.after(seq, project, limit)

    async def rest(self, seq: int, timeout_s: float) -> None:
        await self._streams.rest(seq, timeout_s)


class _Again:
    """A body that was read, to be read again; then what else the client does."""

    def __init__(self, raw: bytes, receive: Receive) -> None:
        self._raw: bytes | None = raw
        self._receive = receive

    async def __call__(self) -> Any:
        raw, self._raw = self._raw, None
        if raw is None:
            return await self._receive()
        return {"type": "http.request", "body": raw, "more_body": False}


class _Passed(ASGIResponse):
    """An answer of the SDK."""

    def __init__(self, response: SdkResponse, receive: _Again) -> None:
        super().__init__()
        self._response = response
        self._again = receive
        response.headers.update(_NO_STORE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._response(scope, self._again, send)  # type: ignore[arg-type]
