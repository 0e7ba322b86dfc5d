"""An agent of the OpenAI Agents SDK as the handler of a task.

    from dibs.adapters.openai_agents import handler_of, run

    app.handler("research")(handler_of(agent))                 # the payload's `prompt` is what it is asked

    @app.handler("compare")
    async def compare(ctx, one, other):                        # or in a handler of your own
        result = await run(ctx, agent, f"Compare {one} and {other}.")
        return result.final_output

Every model call and every call of a function tool is a step, of the agent and of those that it hands over to: made once
in the life of the task, whatever crashes. Tokens are spent as they are used. `context=lambda ctx: ctx` hands the task's
context to tools, which may then `ask`, `spawn` and `log`. What the provider runs itself, and the tools of MCP servers,
are called as ever.

Needs `pip install openai-agents`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agents import Agent, FunctionTool, Handoff, Model, ModelResponse, RunConfig, Runner
from agents.usage import deserialize_usage, serialize_usage
from openai.types.responses import ResponseOutputItem
from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from dibs.adapters.durable import MODEL, once, tool_step
from dibs.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from agents import RunResult
    from agents.tool_context import ToolContext

    from dibs.worker.context import Context

_items: TypeAdapter[list[ResponseOutputItem]] = TypeAdapter(list[ResponseOutputItem])


async def run(
    ctx: Context, agent: Agent[Any], input: Any, *, run_config: RunConfig | None = None, **options: Any
) -> RunResult:
    """Run the agent as part of a task. Takes the options of `Runner.run`."""
    config = run_config or RunConfig()
    made = _Made(ctx, config)
    # Its agents have their models by now; one for all would take their place.
    result: RunResult = await Runner.run(made.agent(agent), input, run_config=replace(config, model=None), **options)
    return result


def handler_of(
    agent: Agent[Any], *, context: Callable[[Context], Any] | None = None, **options: Any
) -> Callable[..., Awaitable[Any]]:
    """A handler that asks the agent what the payload's `prompt` says, and answers what it answers, as JSON.

    `context` makes what the agent's tools are given of the task's context; other options are those of `Runner.run`.
    """

    async def handle(ctx: Context, prompt: str) -> Any:
        more = options if context is None else {**options, "context": context(ctx)}
        return to_jsonable_python((await run(ctx, agent, prompt, **more)).final_output)

    return handle


class _Made:
    """Agents as they are in one run: with models and tools whose answers are kept. The given ones stay as they are."""

    def __init__(self, ctx: Context, config: RunConfig) -> None:
        self._ctx = ctx
        self._config = config
        self._agents: dict[int, tuple[Agent[Any], Agent[Any]]] = {}
        """By what is known of a given one while it is there: so it stays."""

    def agent(self, given: Agent[Any]) -> Agent[Any]:
        """This agent, once: agents may hand over to each other in circles."""
        known = self._agents.get(id(given))
        if known is not None:
            return known[1]
        tools = [self._tool(tool) if isinstance(tool, FunctionTool) else tool for tool in given.tools]
        made = given.clone(model=self._model(given), tools=tools, handoffs=[])
        self._agents[id(given)] = (given, made)
        made.handoffs = [
            self.agent(target) if isinstance(target, Agent) else self._handoff(target) for target in given.handoffs
        ]
        return made

    def _model(self, agent: Agent[Any]) -> _Model:
        wanted = self._config.model or agent.model
        found = wanted if isinstance(wanted, Model) else self._config.model_provider.get_model(wanted)
        return _Model(found, wanted if isinstance(wanted, str) else None, self._ctx)

    def _handoff(self, given: Handoff[Any, Any]) -> Handoff[Any, Any]:
        async def hand_over(context: Any, arguments: str) -> Any:
            return self.agent(await given.on_invoke_handoff(context, arguments))

        return replace(given, on_invoke_handoff=hand_over)

    def _tool(self, given: FunctionTool) -> FunctionTool:
        async def invoke(context: ToolContext[Any], arguments: str) -> Any:
            async def call() -> Any:
                return to_jsonable_python(await given.on_invoke_tool(context, arguments))

            return await once(self._ctx, tool_step(given.name, context.tool_call_id), call, _same, _same)

        return replace(given, on_invoke_tool=invoke)


class _Model(Model):
    """A model whose answers are kept."""

    def __init__(self, wrapped: Model, name: str | None, ctx: Context) -> None:
        self._wrapped = wrapped
        self._name = name or getattr(wrapped, "model", None)
        self._ctx = ctx

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        async def call() -> ModelResponse:
            return await self._wrapped.get_response(*args, **kwargs)

        return await once(self._ctx, MODEL, call, _dump, _load, self._spent)

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise Invalid("a task runs its agent with `run`: what is streamed is not kept.", field="agent")

    def get_retry_advice(self, request: Any) -> Any:
        return self._wrapped.get_retry_advice(request)

    async def close(self) -> None:
        await self._wrapped.close()

    def _spent(self, response: ModelResponse) -> dict[str, Any]:
        usage = response.usage
        details = usage.input_tokens_details
        return {
            "tokens_in": usage.input_tokens,
            "tokens_out": usage.output_tokens,
            "tokens_cached": getattr(details, "cached_tokens", 0) or 0,
            "tokens_cache_written": getattr(details, "cache_write_tokens", 0) or 0,
            "turns": 1,
            "model": self._name if isinstance(self._name, str) else None,
        }


def _same(value: Any) -> Any:
    return value


def _dump(response: ModelResponse) -> Any:
    return {
        "output": _items.dump_python(response.output, mode="json", warnings=False),
        "usage": serialize_usage(response.usage),
        "response_id": response.response_id,
        "request_id": response.request_id,
    }


def _load(kept: Any) -> ModelResponse:
    return ModelResponse(
        output=_items.validate_python(kept["output"]),
        usage=deserialize_usage(kept["usage"]),
        response_id=kept["response_id"],
        request_id=kept["request_id"],
    )
