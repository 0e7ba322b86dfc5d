"""What a handler can do while it runs, and what the next attempt gets back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import dibs
from tests.worker import apps
from tests.worker.facts import ended, eventually, first


async def test_a_step_is_not_run_again_by_the_next_attempt(url: str) -> None:
    app, calls = dibs.App(), []

    def search(topic: str) -> Any:
        calls.append(topic)
        return (topic, {"hits": 3})

    @app.handler("research", retry="immediate")
    async def research(ctx: dibs.Context, topic: str) -> Any:
        notes = await ctx.step("search", search, topic)
        if not ctx.previous_attempts:
            raise RuntimeError("after the step")
        return notes

    task = await ended(url, app, "research", {"topic": "CORS"})
    assert (task.status, task.output, calls) == ("completed", ["CORS", {"hits": 3}], ["CORS"])


async def test_a_step_returns_json_the_first_time_too() -> None:
    app = dibs.App()

    async def pair() -> Any:
        return (1, 2)

    @app.handler("pair")
    async def handler(ctx: dibs.Context) -> Any:
        return repr(await ctx.step("pair", pair))

    assert (await ended("memory:", app, "pair")).output == "[1, 2]"


async def test_the_same_step_name_again_is_another_step() -> None:
    app, calls = dibs.App(), []

    def call(number: int) -> int:
        calls.append(number)
        return number

    @app.handler("loop", retry="immediate")
    async def loop(ctx: dibs.Context) -> Any:
        found = [await ctx.step("call", call, number) for number in range(3)]
        if not ctx.previous_attempts:
            raise RuntimeError("again")
        return found

    assert (await ended("memory:", app, "loop")).output == [0, 1, 2]
    assert calls == [0, 1, 2]


async def test_a_step_with_another_body_is_refused() -> None:
    app = dibs.App()

    @app.handler("moody", retry="immediate")
    async def moody(ctx: dibs.Context) -> Any:
        await ctx.step("sum", sum, [len(ctx.previous_attempts), 1])
        raise RuntimeError("again")

    task = await ended("memory:", app, "moody", max_attempts=2)
    assert "recorded with another function or other arguments" in (task.error or "")


async def test_spawn_and_wait_resumes_with_the_childs_output(url: str) -> None:
    app, runs = dibs.App(), []

    @app.handler("child")
    async def child(number: int) -> int:
        return number * 10

    @app.handler("parent")
    async def parent(ctx: dibs.Context) -> Any:
        runs.append(ctx.fence)
        try:
            one = await ctx.spawn("child", {"number": 1})
            two = await ctx.spawn("child", {"number": 2}, title="second", name="two")
        except Exception:
            return "swallowed"
        return [one.output, two.output]

    async with dibs.connect(url) as queue:
        task = await queue.add("parent")
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        task = await queue.get(task.id)
        assert (task.status, task.output, task.attempts) == ("completed", [10, 20], 1)
        assert runs == [1, 2, 3]
        children = (await queue.find(type="child")).items
        assert len(children) == 2
        assert {child.parent_id for child in children} == {task.id}


async def test_spawn_without_waiting_goes_on_and_spawns_once(url: str) -> None:
    app = dibs.App()

    @app.handler("child")
    async def child() -> None: ...

    @app.handler("parent", retry="immediate")
    async def parent(ctx: dibs.Context) -> str:
        spawned = await ctx.spawn("child", wait=False)
        if not ctx.previous_attempts:
            raise RuntimeError("again")
        return spawned.id

    task = await ended(url, app, "parent")
    async with dibs.connect(url) as queue:
        if not url.startswith("memory:"):
            [only] = (await queue.find(type="child")).items
            assert task.output == only.id


async def test_a_failed_child_is_raised_in_the_parent(url: str) -> None:
    app = dibs.App()

    @app.handler("child")
    async def child() -> None:
        raise dibs.Fail("no luck", retry=False)

    @app.handler("parent")
    async def parent(ctx: dibs.Context) -> Any:
        try:
            await ctx.spawn("child", max_attempts=1)
        except dibs.ChildFailed as failure:
            return [failure.task.status, failure.task.error]

    assert (await ended(url, app, "parent")).output == ["dead_lettered", "no luck"]


async def test_a_parent_that_does_not_catch_it_fails_with_the_childs_error() -> None:
    app = dibs.App()

    @app.handler("child")
    async def child() -> None:
        raise dibs.Fail("no luck", retry=False)

    @app.handler("parent")
    async def parent(ctx: dibs.Context) -> Any:
        await ctx.spawn("child", max_attempts=1)

    task = await ended("memory:", app, "parent", max_attempts=1)
    assert task.status == "dead_lettered"
    assert "no luck" in (task.error or "")


async def test_spawn_refuses_what_add_does_not_take() -> None:
    app = dibs.App()

    @app.handler("parent")
    async def parent(ctx: dibs.Context) -> Any:
        with pytest.raises(dibs.Invalid, match="colour"):
            await ctx.spawn("child", colour="red")
        with pytest.raises(dibs.Invalid, match="priority"):
            await ctx.spawn("child", priority=500)
        return "refused"

    assert (await ended("memory:", app, "parent")).output == "refused"


async def test_a_checkpoint_is_there_for_the_next_attempt(url: str) -> None:
    app = dibs.App()

    @app.handler("long", retry="immediate")
    async def long(ctx: dibs.Context) -> Any:
        if ctx.last_checkpoint is None:
            await ctx.checkpoint({"page": 1})
            await ctx.checkpoint({"page": 2})
            raise RuntimeError("power cut")
        return ctx.last_checkpoint

    assert (await ended(url, app, "long")).output == {"page": 2}


async def test_spending_adds_up_and_unknown_stays_unknown(url: str) -> None:
    app = dibs.App()

    @app.handler("pay")
    async def pay(ctx: dibs.Context) -> None:
        ctx.spend(usd=0.25, tokens_in=10, model="m")
        ctx.spend(usd=0.5, tokens_in=5)
        with pytest.raises(dibs.Invalid):
            ctx.spend(usd=-1)

    task = await ended(url, app, "pay")
    assert (task.status, task.cost_usd, task.tokens_in, task.tokens_out) == ("completed", 0.75, 15, None)


async def test_log_lines_are_kept_in_order_and_cleaned(url: str) -> None:
    app = dibs.App()

    @app.handler("talk")
    async def talk(ctx: dibs.Context) -> None:
        ctx.log("one")
        ctx.log("two\0")

    async with dibs.connect(url) as queue:
        task = await queue.add("talk")
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        journal = await queue.journal(task.id)
        assert [entry.value for entry in journal if entry.kind == "log"] == [b'"one"', '"two\ufffd"'.encode()]


async def test_log_lines_and_progress_are_seen_while_the_task_runs(url: str) -> None:
    app, seen = dibs.App(), asyncio.Event()

    @app.handler("talk")
    async def talk(ctx: dibs.Context) -> None:
        ctx.log("working")
        await ctx.progress(0.4, "nearly half")
        await seen.wait()

    async with dibs.connect(url) as queue:
        task = await queue.add("talk")
        async with dibs.Worker(app, queue) as worker:
            running = asyncio.create_task(worker.drain())
            await eventually(lambda: _logged(queue, task.id))
            await eventually(lambda: _progressed(queue, task.id))
            now = await queue.get(task.id)
            assert (now.status, now.progress, now.note) == ("running", 0.4, "nearly half")
            seen.set()
            await first(running)


async def _logged(queue: dibs.Queue, task_id: str) -> bool:
    return any(entry.kind == "log" for entry in await queue.journal(task_id))


async def _progressed(queue: dibs.Queue, task_id: str) -> bool:
    return (await queue.get(task_id)).progress is not None


async def test_a_thread_uses_the_same_verbs_without_await(url: str) -> None:
    app, calls = dibs.App(), []

    def search(topic: str) -> str:
        calls.append(topic)
        return topic.upper()

    async def slowly(topic: str) -> str:
        calls.append("slowly")
        return topic

    @app.handler("child")
    async def child(number: int) -> int:
        return number

    @app.handler("parent", retry="immediate")
    def parent(ctx: Any) -> Any:
        ctx.log("hello")
        ctx.progress(0.5)
        ctx.spend(usd=1)
        found = ctx.step("search", search, "x"), ctx.step("slowly", slowly, "y")
        ctx.checkpoint({"found": found})
        return [*found, ctx.spawn("child", {"number": 7}).output, ctx.cancelled, ctx.last_checkpoint]

    task = await ended(url, app, "parent")
    assert task.error is None
    assert task.output == ["X", "y", 7, False, {"found": ["X", "y"]}]
    assert calls == ["x", "slowly"]


@pytest.mark.parametrize("line", [123, None, object()])
async def test_a_log_line_that_is_no_text_fails_the_attempt_and_not_the_worker(line: Any) -> None:
    app = dibs.App()

    @app.handler("chatty")
    async def chatty(ctx: dibs.Context) -> None:
        ctx.log(line)

    task = await ended("memory:", app, "chatty", max_attempts=1)
    assert (task.status, "line must be text" in (task.error or "")) == ("dead_lettered", True)


async def test_spending_on_a_model_that_is_no_text_is_refused() -> None:
    app = dibs.App()

    @app.handler("spender")
    async def spender(ctx: dibs.Context) -> None:
        ctx.spend(usd=1, model=4)  # type: ignore[arg-type]

    task = await ended("memory:", app, "spender", max_attempts=1)
    assert (task.status, "model must be text" in (task.error or "")) == ("dead_lettered", True)


@pytest.mark.parametrize("executor", ["coroutine", "auto", "process"])
@pytest.mark.parametrize("verb", ["step", "checkpoint"])
async def test_what_could_not_be_kept_as_it_was_flags_the_output(file_url: str, executor: str, verb: str) -> None:
    app = dibs.App()
    if executor == "coroutine":

        @app.handler("odd")
        async def odd(ctx: dibs.Context) -> Any:
            return await (ctx.step("odd", apps.Odd) if verb == "step" else ctx.checkpoint(apps.Odd()))
    else:
        app.handler("odd", executor=executor)(apps.odd_step if verb == "step" else apps.odd_checkpoint)
    task = await ended(file_url, app, "odd")
    assert (task.status, task.output) == ("completed", "odd" if verb == "step" else None), task.error
    assert task.output_sanitized


async def test_a_sound_step_flags_nothing() -> None:
    app = dibs.App()

    @app.handler("sound")
    async def sound(ctx: dibs.Context) -> Any:
        await ctx.checkpoint({"page": 1})
        return await ctx.step("sum", sum, [1, 2])

    task = await ended("memory:", app, "sound")
    assert (task.output, task.output_sanitized) == (3, False)


@pytest.mark.parametrize("executor", ["coroutine", "auto", "process"])
async def test_a_handler_sees_the_tasks_context(file_url: str, executor: str) -> None:
    app = dibs.App()
    if executor == "coroutine":

        @app.handler("aware")
        async def aware(ctx: dibs.Context) -> Any:
            return ctx.context
    else:
        app.handler("aware", executor=executor)(apps.context_of)
    known = {"goal": "ship it", "constraints": ["no network"]}
    assert (await ended(file_url, app, "aware", context=known)).output == known
    assert (await ended(file_url, app, "aware")).output is None
