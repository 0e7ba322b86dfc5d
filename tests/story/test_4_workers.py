"""Chapter 4. A worker does the asking, renewing and settling; you write functions."""

from __future__ import annotations

import asyncio
from typing import Any

import dibs


def drained(url: str, app: dibs.App, *tasks: dibs.NewTask) -> list[dibs.Task]:
    """Add tasks, let one worker do all it can, and answer the tasks as they ended."""

    async def run() -> list[dibs.Task]:
        async with dibs.connect(url) as queue:
            added = await queue.add_many(tasks)
            async with dibs.Worker(app, queue, agent="worker-1", capabilities={"web-search"}) as worker:
                await worker.drain()
            return [await queue.get(task.id) for task in added]

    return asyncio.run(run())


def test_a_handler_is_a_function_of_the_payload(url: str) -> None:
    app = dibs.App()

    @app.handler("greet")
    async def greet(name: str, greeting: str = "Hello") -> str:
        return f"{greeting}, {name}!"

    [task] = drained(url, app, dibs.NewTask("greet", {"name": "Ada"}))
    assert (task.status, task.output, task.agent) == ("completed", "Hello, Ada!", "worker-1")


def test_a_plain_function_runs_in_a_thread(url: str) -> None:
    app = dibs.App()

    @app.handler("sum")
    def add_up(numbers: list[int]) -> int:
        return sum(numbers)

    [task] = drained(url, app, dibs.NewTask("sum", {"numbers": [1, 2, 3]}))
    assert task.output == 6


def test_a_payload_that_does_not_fit_is_not_tried_again(url: str) -> None:
    app = dibs.App()

    @app.handler("greet")
    async def greet(name: str) -> str:
        return name

    [task] = drained(url, app, dibs.NewTask("greet", {"nmae": "Ada"}))
    assert (task.status, task.reason, task.attempts) == ("dead_lettered", "invalid_input", 1)
    assert task.error is not None
    assert "'name'" in task.error


def test_a_step_is_not_paid_for_twice(url: str) -> None:
    app = dibs.App()
    searches = []

    def search(topic: str) -> list[str]:
        searches.append(topic)
        return [f"three facts about {topic}"]

    @app.handler("research", retry="immediate")
    async def research(ctx: dibs.Context, topic: str) -> dict[str, Any]:
        facts = await ctx.step("search", search, topic)
        ctx.spend(usd=0.01, tokens_in=900, tokens_out=120, model="pretend-1")
        if not ctx.previous_attempts:
            raise RuntimeError("the connection dropped after the search")
        return {"facts": facts}

    [task] = drained(url, app, dibs.NewTask("research", {"topic": "coffee"}, requires=["web-search"]))
    assert task.output == {"facts": ["three facts about coffee"]}
    assert task.attempts == 2
    assert searches == ["coffee"]
    # Both attempts cost something; both are counted.
    assert task.cost_usd is not None
    assert round(task.cost_usd, 4) == 0.02


def test_a_handler_can_wait_for_work_it_discovers(url: str) -> None:
    app = dibs.App()

    @app.handler("count")
    async def count(ctx: dibs.Context, words: list[str]) -> int:
        if len(words) <= 1:
            return len(words)
        # Waiting holds no slot: this run ends here, and the handler runs again when the child is done.
        rest = await ctx.spawn("count", {"words": words[1:]})
        return 1 + int(rest.output)

    [task] = drained(url, app, dibs.NewTask("count", {"words": ["to", "be", "or", "not"]}))
    assert task.output == 4


def test_a_handler_says_how_a_failure_is_meant(url: str) -> None:
    app = dibs.App()

    @app.handler("deploy")
    async def deploy() -> None:
        raise dibs.Fail("the key was revoked", reason="auth_failure", retry=False)

    [task] = drained(url, app, dibs.NewTask("deploy"))
    assert (task.status, task.reason, task.error) == ("dead_lettered", "auth_failure", "the key was revoked")


def test_a_timeout_ends_an_attempt(url: str) -> None:
    app = dibs.App()

    @app.handler("think")
    async def think() -> None:
        await asyncio.sleep(60)

    [task] = drained(url, app, dibs.NewTask("think", timeout=0.2, max_attempts=1))
    assert (task.status, task.reason) == ("dead_lettered", "timeout")
