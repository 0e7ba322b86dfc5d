"""The Tasks extension on the wire: who may use it, and what its methods take and answer.

It is of protocol 2026-07-28 and later. A client says with each request that it has it; one that does not gets no handle
and may not ask about any.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from dibs.errors import Conflict, DibsError, Invalid, NotFound
from dibs.mcp import handles, listening, tools

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.server.context import ServerRequestContext

    from dibs.queue import Queue

    Context = ServerRequestContext[Any, Any]
    QueueOf = Callable[[Context], Queue]

BY = "mcp"
"""Who answers through `tasks/update`: the user of a client, whose name nobody knows."""


class Named(types.RequestParams):
    """What every method of the extension takes."""

    model_config = ConfigDict(alias_generator=to_camel)
    task_id: str


class Responses(Named):
    """What `tasks/update` takes."""

    input_responses: dict[str, Any]


def add_to(server: Server[Any], queue_of: QueueOf, streams: listening.Streams) -> None:
    """Let a server serve the extension, on the queue of whoever asks."""

    async def get(ctx: Context, params: Named) -> dict[str, Any]:
        _admit(ctx, params)
        return await _told(handles.get(queue_of(ctx), params.task_id, may_ask=_may_ask(ctx)))

    async def update(ctx: Context, params: Responses) -> dict[str, Any]:
        _admit(ctx, params)
        await _told(handles.update(queue_of(ctx), params.task_id, params.input_responses, by=BY))
        return {}

    async def cancel(ctx: Context, params: Named) -> dict[str, Any]:
        _admit(ctx, params)
        await _told(handles.cancel(queue_of(ctx), params.task_id))
        return {}

    async def listen(ctx: Context, params: types.SubscriptionsListenRequestParams) -> types.SubscriptionsListenResult:
        _admit_version(ctx)
        if listening.asked_for(params) is not None:
            _admit_extension(ctx)
        return await listening.listen(ctx, params, streams, queue_of(ctx), may_ask=_may_ask(ctx))

    server.extensions[handles.EXTENSION] = {}
    server.add_request_handler("tasks/get", Named, get)
    server.add_request_handler("tasks/update", Responses, update)
    server.add_request_handler("tasks/cancel", Named, cancel)
    server.add_request_handler("subscriptions/listen", types.SubscriptionsListenRequestParams, listen)


async def create(queue: Queue, given: dict[str, Any]) -> dict[str, Any]:
    """Add tasks, and answer with the handle of all of them."""
    target, _ = await tools.added(queue, given, created_by=BY)
    return {"resultType": "task", **await handles.created(queue, target)}


def is_known(ctx: Context) -> bool:
    """Whether this request's client has the extension."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return False
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and handles.EXTENSION in (capabilities.extensions or {})


def _may_ask(ctx: Context) -> bool:
    """Whether its user can fill in forms."""
    capabilities = ctx.session.client_capabilities
    return capabilities is not None and capabilities.elicitation is not None


def _admit(ctx: Context, params: Named) -> None:
    """Refuse those who do not have the extension, and headers that name another task than the request does."""
    _admit_version(ctx)
    _admit_extension(ctx)
    named = None if ctx.request is None else ctx.request.headers.get(MCP_NAME_HEADER)
    if named is not None and decode_header_value(named) != params.task_id:
        raise MCPError(types.HEADER_MISMATCH, f"{MCP_NAME_HEADER} does not match the request's taskId")


def _admit_version(ctx: Context) -> None:
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MCPError(types.METHOD_NOT_FOUND, "Method not found", ctx.method)


def _admit_extension(ctx: Context) -> None:
    if not is_known(ctx):
        needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {handles.EXTENSION: {}}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability", needed)


async def _told(asking: Any) -> dict[str, Any]:
    """What the queue says; what it refuses as an error of the protocol."""
    try:
        return await asking  # type: ignore[no-any-return]
    except DibsError as error:
        wrong = isinstance(error, (NotFound, Invalid, Conflict))
        code = types.INVALID_PARAMS if wrong else types.INVALID_REQUEST
        raise MCPError(code, error.message, {"code": error.code}) from None
