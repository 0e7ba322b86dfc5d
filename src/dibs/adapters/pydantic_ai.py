"""An agent of Pydantic AI as the handler of a task.

    from dibs.adapters.pydantic_ai import handler_of, run

    app.handler("research")(handler_of(agent))                 # the payload's `prompt` is what it is asked

    @app.handler("compare")
    async def compare(ctx, one, other):                        # or in a handler of your own
        result = await run(ctx, agent, f"Compare {one} and {other}.")
        return result.output

Every model call and every tool call is a step: made once in the life of the task, whatever crashes. Tokens are spent as
they are used. `deps=lambda ctx: ctx` hands the task's context to tools, which may then `ask`, `spawn` and `log`.

Needs `pip install pydantic-ai-slim` and the parts of your model's provider.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter
from pydantic_ai import ModelMessagesTypeAdapter, ModelRetry, ToolReturn
from pydantic_ai.models import CompletedStreamedResponse, infer_model
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.toolsets import WrapperToolset
from pydantic_core import to_jsonable_python

from dibs.adapters.durable import MODEL, once, tool_step
from dibs.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from pydantic_ai import Agent, AgentRunResult, ModelMessage, ModelResponse, ModelSettings, RunContext
    from pydantic_ai.models import ModelRequestParameters, StreamedResponse
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

    from dibs.worker.context import Context

_returns: TypeAdapter[ToolReturn[Any]] = TypeAdapter(ToolReturn)
_VALUE, _RETURN, _RETRY = "value", "return", "retry"


async def run(ctx: Context, agent: Agent[Any, Any], prompt: Any = None, **options: Any) -> AgentRunResult[Any]:
    """Run the agent as part of a task. Takes the options of `Agent.run`; without `model` it is the agent's own."""
    model = options.pop("model", None) or agent.model
    if model is None:
        raise Invalid("the agent has no model: give it one, or pass model=…", field="model")
    toolsets = [_Tools(toolset, ctx) for toolset in (*agent.toolsets, *options.pop("toolsets", ()))]
    with agent.override(model=_Model(infer_model(model), ctx), toolsets=toolsets, tools=[]):
        return await agent.run(prompt, **options)


def handler_of(
    agent: Agent[Any, Any], *, deps: Callable[[Context], Any] | None = None, **options: Any
) -> Callable[..., Awaitable[Any]]:
    """A handler that asks the agent what the payload's `prompt` says, and answers what it answers, as JSON.

    `deps` makes what the agent's tools depend on of the task's context; other options are those of `Agent.run`.
    """

    async def handle(ctx: Context, prompt: str) -> Any:
        more = options if deps is None else {**options, "deps": deps(ctx)}
        return to_jsonable_python((await run(ctx, agent, prompt, **more)).output)

    return handle


class _Model(WrapperModel):
    """A model whose answers are kept."""

    def __init__(self, wrapped: Any, ctx: Context) -> None:
        super().__init__(wrapped)
        self._ctx = ctx

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        async def call() -> ModelResponse:
            return await self.wrapped.request(messages, model_settings, model_request_parameters)

        return await once(self._ctx, MODEL, call, _dump, _load, _spent)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Who wants to hear it word by word hears it when it is kept."""
        response = await self.request(messages, model_settings, model_request_parameters)
        yield CompletedStreamedResponse(response, model_request_parameters=model_request_parameters, replay_events=True)


@dataclass
class _Tools(WrapperToolset[Any]):
    """Tools whose calls are kept: also that one sent the model back to think again."""

    wrapped: AbstractToolset[Any]
    ctx: Context

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        async def call() -> dict[str, Any]:
            try:
                value = await self.wrapped.call_tool(name, tool_args, ctx, tool)
            except ModelRetry as again:
                return {_RETRY: again.message}
            if isinstance(value, ToolReturn):
                return {_RETURN: _returns.dump_python(value, mode="json")}
            return {_VALUE: to_jsonable_python(value)}

        kept = await once(self.ctx, tool_step(name, ctx.tool_call_id or name), call, _same, _same)
        if _RETRY in kept:
            raise ModelRetry(kept[_RETRY])
        return _returns.validate_python(kept[_RETURN]) if _RETURN in kept else kept[_VALUE]


def _same(value: dict[str, Any]) -> dict[str, Any]:
    return value


def _dump(response: ModelResponse) -> Any:
    [dumped] = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    return dumped


def _load(kept: Any) -> ModelResponse:
    [response] = ModelMessagesTypeAdapter.validate_python([kept])
    return response  # type: ignore[return-value]


def _spent(response: ModelResponse) -> dict[str, Any]:
    usage = response.usage
    return {
        "tokens_in": usage.input_tokens,
        "tokens_out": usage.output_tokens,
        "tokens_cached": usage.cache_read_tokens,
        "tokens_cache_written": usage.cache_write_tokens,
        "turns": 1,
        "model": response.model_name,
    }
