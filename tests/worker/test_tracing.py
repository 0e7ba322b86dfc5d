"""Attempts as spans: each a trace of its own, linked to the one in which its task was added."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

import dibs
from dibs import tracing
from dibs.rules import traces
from dibs.tracing import attributes as names
from dibs.tracing import spans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import ReadableSpan

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Where the spans of this test arrive. The provider of the process can be set only once, so it is put in place."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", lambda name: provider.get_tracer(name))
    yield exporter
    provider.shutdown()


def attempts(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.kind is SpanKind.CONSUMER]


async def drained(app: dibs.App, queue: Any) -> None:
    async with dibs.Worker(app, queue, agent="coder") as worker:
        await worker.drain()


async def test_an_attempt_is_linked_to_the_span_that_added_its_task(url: str, exported: InMemorySpanExporter) -> None:
    app = dibs.App()

    @app.handler("code")
    async def code(ctx: dibs.Context) -> str | None:
        with trace.get_tracer("library").start_as_current_span("a call to a model"):
            ctx.spend(usd=0.5, tokens_in=10, tokens_out=2, turns=1, model="large")
        return ctx.traceparent

    async with dibs.connect(url) as queue:
        with trace.get_tracer("app").start_as_current_span("producer") as producer:
            task = await queue.add("code", {}, models=["large"])
        await drained(app, queue)
        output = (await queue.get(task.id)).output
    [attempt] = attempts(exported)
    [link] = attempt.links
    assert attempt.parent is None
    assert link.context.span_id == producer.get_span_context().span_id
    assert link.context.trace_id == producer.get_span_context().trace_id
    assert attempt.context.trace_id != link.context.trace_id
    [call] = [span for span in exported.get_finished_spans() if span.name == "a call to a model"]
    assert call.parent is not None
    assert call.parent.span_id == attempt.context.span_id
    parsed = traces.parse(output)
    assert parsed is not None
    assert int(parsed.span_id, 16) == attempt.context.span_id
    told = dict(attempt.attributes or {})
    assert attempt.name == "process code"
    assert told[names.MESSAGING_MESSAGE] == task.id
    assert told[names.MESSAGING_DESTINATION] == "code"
    assert told[names.GEN_AI_OPERATION] == "invoke_agent"
    assert told[names.GEN_AI_AGENT_ID] == "coder"
    assert told[names.GEN_AI_REQUEST_MODEL] == "large"
    assert told[names.GEN_AI_RESPONSE_MODEL] == "large"
    assert told[names.GEN_AI_INPUT_TOKENS] == 10
    assert told[names.GEN_AI_OUTPUT_TOKENS] == 2
    assert told[names.TASK_COST] == 0.5
    assert told[names.TASK_FENCE] == 1
    assert told[names.TASK_OUTCOME] == "completed"
    assert attempt.status.status_code is StatusCode.UNSET


async def test_every_attempt_has_a_span_and_says_how_it_ended(url: str, exported: InMemorySpanExporter) -> None:
    app = dibs.App()

    @app.handler("code")
    async def code(ctx: dibs.Context) -> None:
        if ctx.fence == 1:
            raise dibs.Fail("the tests are red\nwith a long story", reason="syntax_error_of_ours")
        if ctx.fence == 2:
            raise dibs.Release

    async with dibs.connect(url) as queue:
        await queue.add("code", {}, retry="immediate", context={"traceparent": PARENT, "tracestate": "a=1"})
        await drained(app, queue)
    ended = attempts(exported)
    assert [(span.attributes or {})[names.TASK_OUTCOME] for span in ended] == ["failed", "released", "completed"]
    assert [(span.attributes or {})[names.TASK_FENCE] for span in ended] == [1, 2, 3]
    assert ended[0].status.status_code is StatusCode.ERROR
    assert ended[0].status.description == "the tests are red"
    assert (ended[0].attributes or {})[names.ERROR_TYPE] == "syntax_error_of_ours"
    for span in ended:
        [link] = span.links
        assert f"{link.context.trace_id:032x}" in PARENT
        assert link.context.trace_state.to_header() == "a=1"
        assert link.context.is_remote


async def test_what_an_attempt_spawns_is_linked_to_it(url: str, exported: InMemorySpanExporter) -> None:
    app = dibs.App()

    @app.handler("plan")
    async def plan(ctx: dibs.Context) -> None:
        await ctx.spawn("code", {}, wait=False)

    @app.handler("code")
    async def code() -> None: ...

    async with dibs.connect(url) as queue:
        await queue.add("plan", {})
        await drained(app, queue)
    made = {(span.attributes or {})[names.MESSAGING_DESTINATION]: span for span in attempts(exported)}
    above, below = made["plan"], made["code"]
    assert above.links == ()
    assert below.links[0].context.span_id == above.context.span_id


async def test_threads_and_commands_go_on_in_the_trace(url: str, exported: InMemorySpanExporter) -> None:
    app = dibs.App()

    @app.handler("thread")
    def thread(ctx: dibs.SyncContext) -> str | None:
        with trace.get_tracer("library").start_as_current_span("in a thread"):
            found: str | None = ctx.traceparent
        return found

    app.command("command", [sys.executable, "-c", "import os; print(os.environ['TRACEPARENT'])"])
    async with dibs.connect(url) as queue:
        tasks = [await queue.add(type, {}) for type in ("thread", "command")]
        await drained(app, queue)
        outputs = [(await queue.get(task.id)).output for task in tasks]
    made = {(span.attributes or {})[names.MESSAGING_DESTINATION]: span for span in attempts(exported)}
    for type, output in zip(("thread", "command"), outputs, strict=True):
        parsed = traces.parse(output)
        assert parsed is not None
        assert int(parsed.span_id, 16) == made[type].context.span_id
    [inside] = [span for span in exported.get_finished_spans() if span.name == "in a thread"]
    assert inside.parent is not None
    assert inside.parent.span_id == made["thread"].context.span_id


async def test_without_spans_the_producers_trace_is_handed_on(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "opentelemetry.trace")
    app = dibs.App()

    @app.handler("code")
    async def code(ctx: dibs.Context) -> str | None:
        return ctx.traceparent

    app.command("command", [sys.executable, "-c", "import os; print(os.environ.get('TRACEPARENT'))"])
    async with dibs.connect(url) as queue:
        given = tracing.enter(PARENT)
        tasks = [await queue.add(type, {}) for type in ("code", "command")]
        [many] = await queue.add_many([dibs.NewTask("code", {})])
        tracing.leave(given)
        dag = await queue.add_dag("a dag", [dibs.NewTask("code", {}, context={"goal": "x"})])
        await drained(app, queue)
        assert [(await queue.get(task.id)).output for task in (*tasks, many)] == [PARENT] * 3
        assert (await queue.get(dag.tasks[0].id)).output is None
        assert (await queue.get(dag.tasks[0].id)).context == {"goal": "x"}


async def test_a_trace_changes_nothing_about_keys(url: str) -> None:
    async with dibs.connect(url) as queue:
        given = tracing.enter(PARENT)
        first = await queue.add("code", {"n": 1}, key="k")
        dag = await queue.add_dag("a dag", [dibs.NewTask("code", {})], key="d")
        tracing.leave(given)
        assert (await queue.add("code", {"n": 1}, key="k")).id == first.id
        assert (await queue.add_dag("a dag", [dibs.NewTask("code", {})], key="d")).id == dag.id


@pytest.mark.parametrize("given", [PARENT, "nonsense"])
def test_the_shell_adds_in_the_trace_of_its_environment(given: str, file_url: str) -> None:
    env = {**os.environ, "TRACEPARENT": given, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "dibs.cli", "add", "code", "--url", file_url]
    subprocess.run(command, env=env, check=True, capture_output=True)
    with dibs.connect_sync(file_url) as queue:
        [task] = queue.find().items
    assert task.context == ({"traceparent": PARENT} if given == PARENT else None)


def test_nobody_who_does_not_trace_imports_anything() -> None:
    program = "import sys, dibs, dibs.worker; print([name for name in sys.modules if 'opentelemetry' in name])"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_no_spans_are_made_while_nobody_asked_for_any(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries load OpenTelemetry by themselves. Whoever asks for spans later gets them."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    asked = []
    real = trace.ProxyTracerProvider().get_tracer(spans.SCOPE)
    assert isinstance(real, trace.ProxyTracer)

    def start_span(*args: Any, **options: Any) -> Any:
        asked.append(args)
        return provider.get_tracer(spans.SCOPE).start_span(*args, **options)

    monkeypatch.setattr(real, "start_span", start_span)
    monkeypatch.setattr(trace, "get_tracer", lambda _: real)
    monkeypatch.setattr(trace, "get_tracer_provider", trace.ProxyTracerProvider)
    monkeypatch.setattr(spans, "LOOK_EVERY_S", 0.0)
    app = dibs.App()

    @app.handler("code")
    async def code(ctx: dibs.Context) -> str | None:
        return ctx.traceparent

    async with dibs.connect(url) as queue:
        first = await queue.add("code")
        await drained(app, queue)
        assert asked == []
        assert (await queue.get(first.id)).output is None
        monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
        second = await queue.add("code")
        await drained(app, queue)
        assert len(asked) == 1
        assert (await queue.get(second.id)).output is not None
    provider.shutdown()
