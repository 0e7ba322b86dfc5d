"""From a verb of the table to a handler: read the parameters, ask the queue, write the answer.

Every route is made here. A topic's module says only what is special about some of its verbs.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from litestar import Request, Router
from litestar.handlers import HTTPRouteHandler
from litestar.response.base import ASGIResponse
from msgspec.json import Encoder

from dibs import wire
from dibs.errors import DibsError, Invalid, Unavailable
from dibs.server.admitting import caller_of
from dibs.server.bodies import IN_PATH, from_body, from_path, from_query, read_json
from dibs.server.desk import Asking
from dibs.server.leaving import while_there
from dibs.wire.problems import refusal_of

if TYPE_CHECKING:
    from litestar.types import HTTPScope, Receive

    from dibs.server.callers import Caller
    from dibs.server.desk import Desk
    from dibs.wire.verbs import Verb

Serve = Callable[..., Coroutine[Any, Any, Any]]
"""Takes an `Asking` and the parameters by name; answers what is sent back."""

QUOTED = "dibs_path_is_quoted"
"""In the scope: the path was left as it was sent, because a name in it has a slash."""
_JSON = (b"application/json",)
_HEADERS = {"cache-control": "no-store"}


def _as_json(value: Any) -> Any:
    if isinstance(value, DibsError):
        return refusal_of(value)
    raise NotImplementedError


encode = Encoder(enc_hook=_as_json).encode


def router_of(topic: str, special: dict[str, Serve] | None = None) -> Router:
    """The routes of a topic. What `special` does not name is asked of the queue itself."""
    handlers = [handler_of(verb, (special or {}).get(verb.name, _ask_the_queue)) for verb in wire.of(topic)]
    return Router(path="/", route_handlers=handlers, tags=[topic])


def handler_of(verb: Verb, serve: Serve) -> HTTPRouteHandler:
    """The handler of one verb."""

    async def handle(request: Request[Any, Any, Any]) -> ASGIResponse:
        desk: Desk = request.app.state.desk
        scope: Any = request.scope
        given = from_path(request.path_params, quoted=QUOTED in scope)
        value = await respond(desk, verb, serve, caller_of(request), scope, request.receive, given)
        if isinstance(value, ASGIResponse):
            return value
        return ASGIResponse(body=value, status_code=verb.status, headers=_HEADERS)

    handle.__name__ = handle.__qualname__ = verb.name
    handle.__doc__ = verb.about
    return HTTPRouteHandler(
        # litestar keeps some names, such as `scope`, for itself.
        "/".join(f"{{{IN_PATH}{part[1:-1]}:str}}" if part.startswith("{") else part for part in verb.path.split("/")),
        http_method=verb.method,  # type: ignore[arg-type]
        opt={"roles": verb.roles, "verb": verb, "serve": serve},
        status_code=verb.status,
        name=f"{verb.name} {verb.path}",
    )(handle)


async def respond(
    desk: Desk, verb: Verb, serve: Serve, caller: Caller, scope: HTTPScope, receive: Receive, given: dict[str, Any]
) -> bytes | ASGIResponse:
    """Ask for a verb; `given` is what the path says. The answer as JSON, or one of its own."""
    asking = Asking(verb, caller, desk.queues.of(caller), desk, scope, receive)
    if verb.in_query:
        given |= from_query(verb, scope["query_string"])
        if verb.sends != "bytes":
            _refuse_body(scope)
    else:
        given |= from_body(verb, await _body(verb, desk, scope, receive))
    work = serve(asking, **given)
    if verb.waits and verb.in_query:
        work = while_there(receive, work)
    try:
        value = await work
    except DibsError as error:
        if verb.acts:
            await desk.authority.record(caller, verb.name, scope["path"], error.code)
        raise
    if verb.acts:
        await desk.authority.record(caller, verb.name, scope["path"], "done")
    return value if isinstance(value, ASGIResponse) else encode(value)


async def _ask_the_queue(asking: Asking, **given: Any) -> Any:
    """As the queue has it. Whoever holds a task proves it by its fence."""
    if asking.verb.holds:
        given["claim"] = asking.claim_of(given.pop("task_id"), given.pop("fence"))
    return await getattr(asking.queue, asking.verb.name)(**given)


async def in_their_name(asking: Asking, **given: Any) -> Any:
    """As the queue has it. Who does not say for whom it is does it in the name of its token."""
    if given.get("by") is None:
        given["by"] = asking.caller.name
    return await _ask_the_queue(asking, **given)


async def _body(verb: Verb, desk: Desk, scope: HTTPScope, receive: Receive) -> Any:
    """The JSON document of a request; an object without anything where nothing was sent."""
    kind: bytes | None = None
    odd = False
    most = desk.settings.max_body_bytes
    for name, value in scope["headers"]:
        if name == b"content-type":
            odd |= kind is not None
            kind = value
        elif name == b"content-encoding":
            odd |= value.lower() != b"identity"
        elif name == b"content-length" and (not value.isdigit() or int(value) > most):
            raise _too_large(most)
    raw = await _read(receive, most)
    if not raw and kind is None:
        return {}
    if odd or kind is None or not _is_json(kind):
        raise Invalid(
            f"{verb.name} takes Content-Type: application/json, in UTF-8 and not compressed.",
            code="wrong_media_type",
            field="Content-Type",
        )
    return read_json(raw, desk.settings.max_depth)


async def _read(receive: Receive, most: int) -> bytes:
    message: Any = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        raw: bytes = message["body"]
        if len(raw) > most:
            raise _too_large(most)
        return raw
    parts, size = [], 0
    while True:
        if message["type"] == "http.disconnect":
            raise Unavailable("the client left before all was sent.", code="client_left")
        parts.append(message["body"])
        size += len(message["body"])
        if size > most:
            raise _too_large(most)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def _too_large(most: int) -> Invalid:
    return Invalid(f"The body is larger than the {most:,} bytes that are taken; send less at a time.", code="too_large")


def _is_json(kind: bytes) -> bool:
    if kind in _JSON:
        return True
    media_type, *parameters = (part.strip().lower() for part in kind.split(b";"))
    return media_type in _JSON and all(part in (b"charset=utf-8", b'charset="utf-8"') for part in parameters)


def _refuse_body(scope: HTTPScope) -> None:
    for name, value in scope["headers"]:
        if name == b"transfer-encoding" or (name == b"content-length" and value != b"0"):
            raise Invalid(f"{scope['method']} takes no body; put parameters into the query.", code="not_http")
