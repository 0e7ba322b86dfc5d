"""Workers of the three frameworks in one process, for a test to kill: each calls a model, a tool, and a model again.

Every call is written down, in the folder that the task names. The second call of a model hangs, in the first attempt.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, TypedDict

import agents
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic_ai import Agent, ModelMessage, ModelResponse, RunContext, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

import dibs
from dibs.adapters import langgraph, openai_agents, pydantic_ai

app = dibs.App()


def note(ctx: dibs.Context, what: str) -> int:
    """Write down that something was called; how often it was by now."""
    path = Path(ctx.task.payload["folder"]) / f"{ctx.task.type}-{what}"
    with path.open("a") as file:
        file.write(f"{ctx.fence}\n")
    return len(path.read_text().split())


async def second_thought(ctx: dibs.Context) -> None:
    """In the first attempt nobody comes back from here."""
    note(ctx, "model-2")
    if ctx.fence == 1:
        await asyncio.sleep(600)


# Pydantic AI


async def pretend(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    ctx = CURRENT["pydantic-ai"]
    usage = RequestUsage(input_tokens=100, output_tokens=10)
    if len(messages) == 1:
        note(ctx, "model-1")
        return ModelResponse(parts=[ToolCallPart("double", {"n": 21})], usage=usage, model_name="pretend-1")
    await second_thought(ctx)
    return ModelResponse(parts=[TextPart("42 it is")], usage=usage, model_name="pretend-1")


CURRENT: dict[str, dibs.Context] = {}
asked = Agent(FunctionModel(pretend), deps_type=dibs.Context)


@asked.tool
def double(run: RunContext[dibs.Context], n: int) -> int:
    note(run.deps, "tool")
    return 2 * n


@app.handler("pydantic-ai")
async def with_pydantic_ai(ctx: dibs.Context, folder: str) -> str:
    CURRENT["pydantic-ai"] = ctx
    return str((await pydantic_ai.run(ctx, asked, "what?", deps=ctx)).output)


# OpenAI Agents SDK


class Pretend(agents.Model):
    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        ctx = CURRENT["openai-agents"]
        usage = agents.Usage(requests=1, input_tokens=100, output_tokens=10, total_tokens=110)
        if not any(item.get("type") == "function_call_output" for item in input):
            note(ctx, "model-1")
            call = ResponseFunctionToolCall(
                name="double_it", arguments=json.dumps({"n": 21}), call_id="call_1", type="function_call"
            )
            return agents.ModelResponse(output=[call], usage=usage, response_id=None)
        await second_thought(ctx)
        text = ResponseOutputText(text="42 it is", type="output_text", annotations=[])
        said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return agents.ModelResponse(output=[said], usage=usage, response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@agents.function_tool
def double_it(run: agents.RunContextWrapper[dibs.Context], n: int) -> int:
    """Twice as much."""
    note(run.context, "tool")
    return 2 * n


desk = agents.Agent(name="desk", model=Pretend(), tools=[double_it])


@app.handler("openai-agents")
async def with_openai_agents(ctx: dibs.Context, folder: str) -> str:
    CURRENT["openai-agents"] = ctx
    config = agents.RunConfig(tracing_disabled=True)
    return str((await openai_agents.run(ctx, desk, "what?", context=ctx, run_config=config)).final_output)


# LangGraph


class State(TypedDict, total=False):
    n: int
    said: str


def model(text: str) -> GenericFakeChatModel:
    usage: Any = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    return GenericFakeChatModel(messages=iter([AIMessage(text, usage_metadata=usage)]))


async def first(state: State) -> State:
    note(CURRENT["langgraph"], "model-1")
    return {"said": str((await model("21").ainvoke("how much?")).content)}


async def tool(state: State) -> State:
    note(CURRENT["langgraph"], "tool")
    return {"n": 2 * int(state["said"])}


async def last(state: State) -> State:
    await second_thought(CURRENT["langgraph"])
    return {"said": str((await model(f"{state['n']} it is").ainvoke("what?")).content)}


graph = StateGraph(State)
for name, node in (("first", first), ("tool", tool), ("last", last)):
    graph.add_node(name, node)
for one, other in ((START, "first"), ("first", "tool"), ("tool", "last"), ("last", END)):
    graph.add_edge(one, other)


@app.handler("langgraph")
async def with_langgraph(ctx: dibs.Context, folder: str) -> str:
    CURRENT["langgraph"] = ctx
    return str((await langgraph.run(ctx, graph, {}))["said"])
