"""The MCP server itself, on the official SDK: tools, resources and the Tasks extension, for whom a doorman lets in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import mcp_types as types
from mcp.server import Server
from mcp.shared.exceptions import MCPError

from dibs.errors import DibsError, Invalid, NotFound
from dibs.mcp import answers, extension, resources, tools
from dibs.mcp.arguments import checked
from dibs.mcp.definitions import BY_NAME, Tool, offered
from dibs.mcp.listening import Streams
from dibs.priming import OVER_MCP, primer

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from mcp.server.context import ServerRequestContext

    from dibs.mcp.session import Session
    from dibs.model.role import Role
    from dibs.queue import Queue

    Context = ServerRequestContext[Any, Any]


class Doorman(Protocol):
    """Knows whose request it is."""

    def queue(self, ctx: Context) -> Queue:
        """The queue as this caller sees it."""
        ...

    async def role(self, ctx: Context) -> Role | None:
        """Which tools are for this caller; None: all."""
        ...

    def is_stateless(self, ctx: Context) -> bool:
        """Whether nothing ties this request to others: then tools say which session they are of."""
        ...

    def session(
        self, ctx: Context, tool: Tool, given: dict[str, Any]
    ) -> AbstractAsyncContextManager[tuple[Session, dict[str, Any]]]:
        """The session of a call, for as long as it takes: its own argument is taken out of those given. And what the
        answer says besides."""
        ...


class _Server(Server[Any]):
    """The SDK believes that whoever lets clients listen tells them of everything; here it is only of tasks."""

    def get_capabilities(self, *args: Any, **kwargs: Any) -> types.ServerCapabilities:
        found = super().get_capabilities(*args, **kwargs)
        found.tools = types.ToolsCapability(list_changed=False)
        found.resources = types.ResourcesCapability(subscribe=False, list_changed=False)
        return found


def create_server(doorman: Doorman, streams: Streams | None = None) -> Server[Any]:
    """A server for the sessions of this doorman. `streams`: those of clients that listen, for who wants to end them."""
    door = _Door(doorman)
    server = _Server(
        "dibs",
        version=_version(),
        title="dibs: a queue of work for agents",
        instructions=primer(OVER_MCP),
        on_list_tools=door.list_tools,
        on_list_resources=door.list_resources,
        on_list_resource_templates=door.list_templates,
        on_read_resource=door.read_resource,
    )
    server.add_request_handler("tools/call", types.CallToolRequestParams, door.call_tool)
    extension.add_to(server, doorman.queue, streams or Streams())
    return server


def _version() -> str:
    from dibs import __version__

    return __version__


class _Door:
    """What is asked for, as the SDK hands it over."""

    def __init__(self, doorman: Doorman) -> None:
        self._doorman = doorman

    async def list_tools(self, ctx: Context, params: Any) -> types.ListToolsResult:
        stateless = self._doorman.is_stateless(ctx)
        found = offered(await self._doorman.role(ctx))
        return types.ListToolsResult(tools=[_shown(tool, stateless=stateless) for tool in found])

    async def call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | dict[str, Any]:
        tool = BY_NAME.get(params.name)
        if tool is None:
            there_are = ", ".join(BY_NAME)
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name:.80}; there are {there_are}.")
        try:
            given = checked(tool.schema(stateless=self._doorman.is_stateless(ctx)), params.arguments)
            if tool.name == "add" and given.get("wait") and extension.is_known(ctx):
                return await extension.create(self._doorman.queue(ctx), given)
            async with self._doorman.session(ctx, tool, given) as (session, besides):
                told, failed = await tools.run(session, tool.name, given)
        except DibsError as error:
            return _result(answers.error(error), failed=True)
        return _result({**besides, **told}, failed=failed)

    async def list_resources(self, ctx: Context, params: Any) -> types.ListResourcesResult:
        rules = types.Resource(
            uri=resources.RULES, name="rules", description="How to work here", mime_type=resources.MARKDOWN
        )
        return types.ListResourcesResult(resources=[rules])

    async def list_templates(self, ctx: Context, params: Any) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(uri_template=uri, name=name, description=about)
                for uri, name, about in resources.TEMPLATES
            ]
        )

    async def read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        try:
            text, kind = await resources.read(self._doorman.queue(ctx), params.uri)
        except DibsError as error:
            wrong = isinstance(error, (NotFound, Invalid))
            code = types.INVALID_PARAMS if wrong else types.INTERNAL_ERROR
            raise MCPError(code, error.message, {"uri": params.uri, "code": error.code}) from None
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=params.uri, mime_type=kind, text=text)]
        )


def _shown(tool: Tool, *, stateless: bool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=True) if tool.looks else None
    return types.Tool(
        name=tool.name, description=tool.about, input_schema=tool.schema(stateless=stateless), annotations=hints
    )


def _result(told: dict[str, Any], *, failed: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=answers.text(told))], is_error=failed)
