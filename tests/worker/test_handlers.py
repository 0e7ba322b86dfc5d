"""What a handler is called with, and what its end means for the task."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

import dibs
from tests.worker.facts import ended, eventually, first, has_status


async def test_payload_keys_become_arguments(url: str) -> None:
    app = dibs.App()

    @app.handler("greet")
    async def greet(name: str, greeting: str = "hello") -> str:
        return f"{greeting} {name}"

    task = await ended(url, app, "greet", {"name": "Ada"})
    assert (task.status, task.output, task.attempts) == ("completed", "hello Ada", 1)


@pytest.mark.parametrize("payload", ["text", 7, [1, 2], False])
async def test_a_payload_that_is_no_object_is_the_one_argument(payload: Any) -> None:
    app = dibs.App()

    @app.handler("echo")
    async def echo(ctx: Any, value: Any) -> Any:
        return [ctx.task.payload, value]

    assert (await ended("memory:", app, "echo", payload)).output == [payload, payload]


@pytest.mark.parametrize(
    ("payload", "named"),
    [({}, "'topic'"), (None, "'topic'"), ({"topic": 1, "colour": 2}, "'colour'"), ({"topic": 1, "ctx": 2}, "'ctx'")],
)
async def test_a_payload_that_does_not_fit_is_invalid_input_and_not_retried(payload: Any, named: str) -> None:
    app = dibs.App()

    @app.handler("research")
    async def research(ctx: Any, topic: Any) -> None:
        raise AssertionError("it must not be called")

    task = await ended("memory:", app, "research", payload)
    assert (task.status, task.reason, task.attempts) == ("dead_lettered", "invalid_input", 1)
    assert named in (task.error or "")


async def test_a_payload_for_a_handler_without_arguments_is_invalid_input() -> None:
    app = dibs.App()
    app.handler("tick")(_tick)
    assert (await ended("memory:", app, "tick", 5)).reason == "invalid_input"
    assert (await ended("memory:", app, "tick")).status == "completed"


async def _tick() -> None:
    return None


async def test_the_context_is_known_by_its_annotation_too() -> None:
    app = dibs.App()

    @app.handler("who")
    async def who(work: dibs.Context, **others: Any) -> Any:
        return [work.agent, work.fence, others]

    assert (await ended("memory:", app, "who", {"a": 1})).output == ["tester", 1, {"a": 1}]


async def test_plain_functions_run_in_threads(url: str) -> None:
    app = dibs.App()

    @app.handler("where")
    def where(ctx: Any) -> str:
        ctx.progress(0.5, "half")
        return threading.current_thread().name

    assert (await ended(url, app, "where")).output == "dibs-work"


async def test_an_exception_fails_the_task_with_the_line_at_fault() -> None:
    app = dibs.App()

    @app.handler("divide", retry="immediate")
    async def divide(by: int) -> float:
        return 1 / by

    task = await ended("memory:", app, "divide", {"by": 0}, max_attempts=2)
    assert (task.status, task.reason, task.attempts) == ("dead_lettered", "error", 2)
    assert task.error is not None
    assert task.error.startswith("ZeroDivisionError: division by zero")
    assert "return 1 / by" in task.error
    assert "worker.py" not in task.error


async def test_fail_names_its_reason_and_can_be_final() -> None:
    app = dibs.App()

    @app.handler("log in")
    async def log_in() -> None:
        raise dibs.Fail("wrong password", reason="auth_failure", retry=False)

    task = await ended("memory:", app, "log in")
    assert (task.status, task.reason, task.error) == ("dead_lettered", "auth_failure", "wrong password")


async def test_retry_later_sets_the_delay() -> None:
    app = dibs.App()

    @app.handler("poll")
    async def poll(ctx: dibs.Context) -> str:
        if not ctx.previous_attempts:
            raise dibs.RetryLater(after=0.05)
        return "there"

    task = await ended("memory:", app, "poll")
    assert (task.status, task.attempts, task.output) == ("completed", 2, "there")


class Limited(Exception):
    """What a client library for HTTP raises."""

    def __init__(self, status: int, headers: dict[str, str]) -> None:
        super().__init__("the request failed")
        self.response = SimpleNamespace(status_code=status, headers=headers)


@pytest.mark.parametrize(("status", "attempts"), [(429, 1), (500, 2)])
async def test_a_response_that_is_a_rate_limit_uses_up_no_attempt(status: int, attempts: int) -> None:
    app = dibs.App()

    @app.handler("ask a model", retry="immediate")
    async def ask(ctx: dibs.Context) -> str:
        if not ctx.previous_attempts:
            raise Limited(status, {"Retry-After": "0.05"})
        return "there"

    task = await ended("memory:", app, "ask a model")
    assert (task.status, task.attempts, task.output) == ("completed", attempts, "there")


async def test_release_gives_the_task_back_without_an_attempt() -> None:
    app = dibs.App()

    @app.handler("later")
    async def later(ctx: dibs.Context) -> int:
        if ctx.fence == 1:
            raise dibs.Release()
        return ctx.fence

    task = await ended("memory:", app, "later")
    assert (task.status, task.attempts, task.output) == ("completed", 1, 2)


async def test_output_with_nul_completes_the_task_and_is_flagged(url: str) -> None:
    app = dibs.App()

    @app.handler("dirty")
    async def dirty() -> Any:
        return {"a\0b": "c\ud800", "set": {1}, "nan": float("nan")}

    task = await ended(url, app, "dirty")
    assert task.status == "completed"
    assert task.output_sanitized
    assert "\ufffd" in str(task.output)


async def test_output_that_raises_when_it_is_looked_at_does_not_wedge_the_task() -> None:
    app = dibs.App()

    class Nasty:
        def __str__(self) -> str:
            raise RuntimeError("look away")

    @app.handler("nasty")
    async def nasty() -> Any:
        return [Nasty()]

    assert (await ended("memory:", app, "nasty")).status in ("completed", "dead_lettered")


async def test_too_much_output_fails_the_task_for_good() -> None:
    app = dibs.App()

    @app.handler("flood")
    async def flood() -> str:
        return "x" * (17 * 1024 * 1024)

    task = await ended("memory:", app, "flood")
    assert (task.status, task.reason) == ("dead_lettered", "invalid_output")


@pytest.mark.parametrize("kind", ["coroutine", "thread"])
async def test_sys_exit_in_a_handler_fails_only_its_task(kind: str) -> None:
    app = dibs.App()

    async def leave() -> None:
        raise SystemExit(3)

    def leave_thread() -> None:
        raise SystemExit(3)

    app.handler("leave")(leave if kind == "coroutine" else leave_thread)
    task = await ended("memory:", app, "leave", max_attempts=1)
    assert task.status == "dead_lettered"
    assert "sys.exit(3)" in (task.error or "")


async def test_the_handlers_retry_policy_holds_where_the_task_says_nothing() -> None:
    app = dibs.App()

    @app.handler("fails", retry="immediate")
    async def fails() -> None:
        raise ValueError("no")

    async with dibs.connect("memory:") as queue:
        mine = await queue.add("fails", max_attempts=3)
        own = await queue.add("fails", max_attempts=3, retry="fixed:1h")
        async with dibs.Worker(app, queue) as worker:
            running = asyncio.create_task(worker.run())
            await eventually(lambda: has_status(queue, mine.id, "dead_lettered"))
            await eventually(lambda: has_status(queue, own.id, "retrying"))
            worker.stop()
            await first(running)


async def test_a_handler_offers_its_capabilities_for_its_own_type_only() -> None:
    app = dibs.App()
    app.handler("search", capabilities={"web"})(_tick)
    app.handler("write")(_tick)
    async with dibs.connect("memory:") as queue:
        search = await queue.add("search", requires={"web", "fast"})
        write = await queue.add("write", requires={"web"})
        plain = await queue.add("write", requires={"fast"})
        async with dibs.Worker(app, queue, capabilities={"fast"}) as worker:
            await first(worker.drain())
        assert [(await queue.get(t.id)).status for t in (search, write, plain)] == ["completed", "ready", "completed"]


def test_registering_nonsense_is_refused() -> None:
    app = dibs.App()

    async def positional(a: int, /) -> None: ...

    async def generator() -> Any:
        yield 1

    def plain() -> None: ...

    app.handler("taken")(plain)
    for wrong in (
        lambda: app.handler("taken")(plain),
        lambda: app.handler("x")(positional),
        lambda: app.handler("x")(generator),
        lambda: app.handler("x", executor="coroutine")(plain),
        lambda: app.handler("x", executor="process")(plain),
        lambda: app.handler("x", executor="gpu")(plain),
        lambda: app.handler("", executor="thread")(plain),
        lambda: app.handler("x", timeout=-1)(plain),
        lambda: app.handler("x", retry="sometimes")(plain),
        lambda: app.command("x", "rm -rf /"),
    ):
        with pytest.raises(dibs.Invalid):
            wrong()
    assert list(app.handlers) == ["taken"]
