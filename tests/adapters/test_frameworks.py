"""Agents of other frameworks as handlers: what was paid for once is not paid for again."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, TypedDict

import agents
import httpx
import pytest
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic import BaseModel
from pydantic_ai import Agent, ModelHTTPError, ModelResponse, ModelRetry, TextPart, ToolCallPart, ToolReturn
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

import dibs
from dibs.adapters import langgraph, openai_agents, pydantic_ai
from dibs.adapters.durable import named, once, tool_step
from tests.hooks.receiver import until
from tests.server.process import COMMAND, environment
from tests.server.running import in_loop

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.queue import Queue

FRAMEWORKS = ("pydantic-ai", "openai-agents", "langgraph")


async def done(queue: Queue, app: dibs.App, type: str, payload: Any = None, **options: Any) -> Any:
    """The task, once a worker has nothing more to do."""
    options.setdefault("retry", "immediate")
    added = await queue.add(type, payload, **options)
    await worked(queue, app)
    return await queue.get(added.id)


async def worked(queue: Queue, app: dibs.App) -> None:
    async with dibs.Worker(app, queue, agent="ada") as worker:
        await worker.drain()


# Two processes, one after the other, import all three frameworks.
@pytest.mark.timeout(240)
@in_loop
async def test_a_worker_that_is_killed_has_paid_for_nothing_in_vain(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'work.db'}"
    command = [*COMMAND, "worker", "tests.adapters.frameworks:app", "--url", url]

    def worker() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, env=environment(tmp_path), cwd=tmp_path, stderr=subprocess.DEVNULL)

    def calls(type: str, what: str) -> list[str]:
        path = tmp_path / f"{type}-{what}"
        return path.read_text().split() if path.exists() else []

    async with dibs.connect(url) as queue:
        tasks = [await queue.add(type, {"folder": str(tmp_path)}, retry="immediate") for type in FRAMEWORKS]
        killed = worker()
        try:

            async def all_hang() -> bool:
                assert killed.poll() is None
                return all(calls(type, "model-2") for type in FRAMEWORKS)

            await until(all_hang, 90)
        finally:
            killed.kill()
            killed.wait()
        for added in tasks:
            await queue.renew((added.id, 1), lease=1)  # nobody is left who needs it
        other = worker()
        try:
            for added in tasks:
                ended = await queue.wait(added.id, timeout=90)
                assert (ended.status, ended.output) == ("completed", "42 it is"), ended.error
                assert (ended.attempts, ended.crashes) == (2, 1)
                # What was paid for before it was killed is known, too.
                assert (ended.tokens_in, ended.tokens_out, ended.turns) == (200, 20, 2)
                assert calls(ended.type, "model-1") == ["1"]
                assert calls(ended.type, "tool") == ["1"]
                assert calls(ended.type, "model-2") == ["1", "2"]
        finally:
            other.terminate()
            other.wait(60)


# Pydantic AI


class Report(BaseModel):
    title: str
    pages: int


@in_loop
async def test_an_answer_of_a_type_is_an_output() -> None:
    agent = Agent(TestModel(custom_output_args={"title": "tea", "pages": 3}), output_type=Report)
    app = dibs.App()
    app.handler("report")(pydantic_ai.handler_of(agent))
    async with dibs.connect("memory:") as queue:
        ended = await done(queue, app, "report", {"prompt": "about tea"})
        assert ended.output == {"title": "tea", "pages": 3}
        assert ended.tokens_in > 0
        without = await done(queue, app, "report", {"topic": "tea"})
        assert (without.status, without.reason) == ("dead_lettered", "invalid_input")


@in_loop
async def test_what_tools_say_is_kept_in_each_of_its_forms() -> None:
    called: list[str] = []
    seen: list[Any] = []

    def pretend(messages: list[Any], info: Any) -> ModelResponse:
        parts = messages[-1].parts
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("shy", {}), ToolCallPart("rich", {}), ToolCallPart("plain", {})])
        seen.append([(part.part_kind, str(part.content)) for part in parts])
        if len(seen) == 1:
            raise ConnectionError("the line broke")
        return ModelResponse(parts=[TextPart("done")])

    agent = Agent(FunctionModel(pretend))

    @agent.tool_plain
    def shy() -> str:
        called.append("shy")
        raise ModelRetry("not now")

    @agent.tool_plain
    def rich() -> ToolReturn:
        called.append("rich")
        return ToolReturn("a picture", content="of a cat", metadata={"kept": True})

    @agent.tool_plain
    def plain() -> dict[str, Any]:
        called.append("plain")
        return {"n": 1}

    app = dibs.App()
    app.handler("ask")(pydantic_ai.handler_of(agent))
    async with dibs.connect("memory:") as queue:
        ended = await done(queue, app, "ask", {"prompt": "go"})
        assert (ended.status, ended.output, ended.attempts) == ("completed", "done", 2)
    assert sorted(called) == ["plain", "rich", "shy"]
    # What the model hears after the crash is what it heard before.
    assert seen[0] == seen[1]
    assert [content for _, content in seen[0]] == ["not now", "a picture", "{'n': 1}", "of a cat"]


@in_loop
async def test_a_provider_that_does_not_know_us_is_not_asked_again() -> None:
    def pretend(messages: list[Any], info: Any) -> ModelResponse:
        raise ModelHTTPError(401, "pretend-1", "who are you?")

    app = dibs.App()
    app.handler("ask")(pydantic_ai.handler_of(Agent(FunctionModel(pretend))))
    async with dibs.connect("memory:") as queue:
        ended = await done(queue, app, "ask", {"prompt": "go"})
        assert (ended.status, ended.reason, ended.attempts) == ("dead_lettered", "auth_failure", 1)


def test_a_provider_that_is_asked_too_often_says_how_long_to_wait() -> None:
    limited = ModelHTTPError(429, "pretend-1", "slow down")
    found = named(limited)
    assert isinstance(found, dibs.Fail)
    assert found.reason == "rate_limit"
    # The worker reads it from the response, where there is one.
    answer = httpx.Response(429, headers={"retry-after": "7"}, request=httpx.Request("POST", "https://example.com"))
    limited.__cause__ = httpx.HTTPStatusError("slow down", request=answer.request, response=answer)
    assert named(limited) is limited.__cause__
    assert named(limited.__cause__) is limited.__cause__
    other = ValueError("something else")
    assert named(other) is other


@in_loop
async def test_an_agent_without_a_model_is_told_so() -> None:
    app = dibs.App()
    app.handler("ask")(pydantic_ai.handler_of(Agent()))
    async with dibs.connect("memory:") as queue:
        ended = await done(queue, app, "ask", {"prompt": "go"}, max_attempts=1)
        assert "has no model" in ended.error


def test_a_step_has_a_name_of_its_own_however_long_the_ids_are() -> None:
    assert tool_step("look", "call_1") == "tool look call_1"
    long = [tool_step("look", "x" * 500 + end) for end in "ab"]
    assert len({*long}) == 2
    assert all(len(name) <= 190 for name in long)


# OpenAI Agents SDK


class Scripted(agents.Model):
    """Says one thing after the other."""

    def __init__(self, *said: Any) -> None:
        self.said = list(said)

    async def get_response(self, *args: Any, **kwargs: Any) -> agents.ModelResponse:
        item = self.said.pop(0)
        if isinstance(item, Exception):
            raise item
        usage = agents.Usage(requests=1, input_tokens=7, output_tokens=1, total_tokens=8)
        return agents.ModelResponse(output=[item], usage=usage, response_id="r", request_id="q")

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def words(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(id="m", content=[part], role="assistant", status="completed", type="message")


def call(name: str, id: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(name=name, arguments="{}", call_id=id, type="function_call")


@in_loop
async def test_agents_that_hand_over_in_a_circle_keep_what_each_was_told() -> None:
    called: list[str] = []

    @agents.function_tool
    def look() -> str:
        """Looks."""
        called.append("look")
        return "seen"

    model = Scripted(call("transfer_to_two", "c1"), call("look", "c2"), ConnectionError("broke"), words("done"))
    one: agents.Agent[Any] = agents.Agent(name="one", model=model)
    two: agents.Agent[Any] = agents.Agent(name="two", model=model, tools=[look], handoffs=[one])
    one.handoffs = [agents.handoff(two)]
    app = dibs.App()
    app.handler("ask")(openai_agents.handler_of(one, run_config=agents.RunConfig(tracing_disabled=True)))
    async with dibs.connect("memory:") as queue:
        ended = await done(queue, app, "ask", {"prompt": "go"})
        assert (ended.status, ended.output, ended.attempts) == ("completed", "done", 2), ended.error
        assert (ended.tokens_in, ended.turns) == (21, 3)
    assert called == ["look"]
    assert two.tools == [look]


@in_loop
async def test_the_model_of_a_run_is_for_all_its_agents() -> None:
    model = Scripted(words("from the run"))
    agent: agents.Agent[Any] = agents.Agent(name="one", model="none-there-is")
    config = agents.RunConfig(model=model, tracing_disabled=True)
    app = dibs.App()
    app.handler("ask")(openai_agents.handler_of(agent, run_config=config))
    async with dibs.connect("memory:") as queue:
        assert (await done(queue, app, "ask", {"prompt": "go"})).output == "from the run"


# LangGraph


class Both(TypedDict, total=False):
    left: str
    right: str


@in_loop
async def test_of_two_nodes_side_by_side_only_the_one_that_failed_is_run_again() -> None:
    ran: list[str] = []

    def left(state: Both) -> Both:
        ran.append("left")
        return {"left": "l"}

    def right(state: Both) -> Both:
        ran.append("right")
        if ran.count("right") == 1:
            raise ConnectionError("the line broke")
        return {"right": "r"}

    graph = StateGraph(Both)
    for node in (left, right):
        graph.add_node(node)
        graph.add_edge(START, node.__name__)
        graph.add_edge(node.__name__, END)
    app = dibs.App()
    app.handler("both")(langgraph.handler_of(graph.compile()))
    async with dibs.connect("memory:") as queue:
        ended = await done(queue, app, "both", {})
        assert (ended.status, ended.output) == ("completed", {"left": "l", "right": "r"}), ended.error
    assert (ran.count("left"), ran.count("right")) == (1, 2)


@in_loop
async def test_in_a_function_every_task_is_done_once() -> None:
    ran: list[str] = []
    tries: list[Any] = []

    @task
    async def pay(what: str) -> str:
        ran.append(what)
        return what.upper()

    @entrypoint()
    async def flow(given: dict[str, Any]) -> dict[str, Any]:
        tries.append(given)
        one = await pay("one")
        if len(tries) == 1:
            raise ConnectionError("the line broke")
        return {"both": [one, await pay("two")], "given": given}

    app = dibs.App()
    app.handler("flow")(langgraph.handler_of(flow))
    async with dibs.connect("memory:") as queue:
        ended = await done(queue, app, "flow", {"n": 1})
        assert (ended.status, ended.output) == ("completed", {"both": ["ONE", "TWO"], "given": {"n": 1}}), ended.error
    assert ran == ["one", "two"]
    assert tries == [{"n": 1}, {"n": 1}]


def test_the_adapters_are_not_imported_by_those_who_do_not_use_them() -> None:
    names = ("pydantic_ai", "agents", "langgraph", "a2a")
    script = f"import sys, dibs.adapters, dibs.cli; print([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"


@in_loop
async def test_an_error_is_never_its_own_cause() -> None:
    class Response(Exception):
        response = httpx.Response(429)

    class TooMany(Exception):
        status_code = 429

    plain, hidden, limited = ValueError("no"), Response(), TooMany()
    limited.__cause__ = hidden

    class Ctx:
        async def step(self, name: str, made: Any) -> Any:
            return await made()

    for raised, expected, cause in ((plain, plain, None), (limited, hidden, None)):

        async def call(error: Exception = raised) -> Any:
            raise error

        with pytest.raises(type(expected)) as found:
            await once(Ctx(), "model", call, str, str)  # type: ignore[arg-type]
        assert (found.value, found.value.__cause__) == (expected, cause)


def test_an_agent_that_is_gone_is_not_taken_for_the_next_one_in_its_place() -> None:
    """Those that a handoff makes live only as long as somebody has them."""
    made = openai_agents._Made(None, agents.RunConfig(model=Scripted()))  # type: ignore[arg-type]
    for number in range(50):
        assert made.agent(agents.Agent(name=f"agent {number}")).name == f"agent {number}"
