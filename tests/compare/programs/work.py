"""Handlers under a worker, and commands under `dibs run`: one task at a time, to its end; what is seen afterwards."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from tests.compare.perform import plain
from tests.compare.processes import apart, command
from tests.compare.program import IN_OTHER_PROCESSES, Program

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.compare.program import Scene

Add = tuple[str, Any, dict[str, Any]]
PATIENCE_S = 20.0


def _app() -> Any:
    import dibs

    app = dibs.App()
    seen: list[int] = []

    @app.handler("greet")
    async def greet(name: str, greeting: str = "hello") -> str:
        return f"{greeting} {name}"

    @app.handler("blocking")
    def blocking(ctx: Any, n: int) -> dict[str, Any]:
        return {"n": n, "fence": ctx.fence, "attempts": len(ctx.previous_attempts)}

    @app.handler("steps")
    async def steps(ctx: Any) -> list[Any]:
        async def add(one: int, other: int) -> int:
            seen.append(one)
            return one + other

        first = await ctx.step("first", add, 1, 2)
        await ctx.progress(0.5, "half")
        ctx.log("a line")
        ctx.spend(usd=0.03, tokens_in=900, tokens_out=200, turns=1)
        await ctx.checkpoint({"page": 7})
        if not ctx.previous_attempts:
            raise ValueError("once more")
        return [first, len(seen)]

    @app.handler("parent")
    async def parent(ctx: Any) -> Any:
        child = await ctx.spawn("greet", {"name": "child"})
        return {"child": child.output}

    @app.handler("of-failed")
    async def of_failed(ctx: Any) -> str:
        try:
            await ctx.spawn("fails", None, max_attempts=1)
        except dibs.ChildFailed as error:
            return str(error)
        return "it did not fail"

    @app.handler("asks")
    async def asks(ctx: Any) -> Any:
        return await ctx.ask("Which?", timeout="1s", default="the first")

    @app.handler("fails")
    async def fails() -> None:
        raise RuntimeError("boom")

    @app.handler("gives-up")
    async def gives_up() -> None:
        raise dibs.Fail("no key", reason="auth_failure", retry=False)

    @app.handler("later")
    async def later(ctx: Any) -> str:
        if ctx.fence < 2:
            raise dibs.RetryLater(after=0.1)
        return "now"

    @app.handler("back")
    async def back(ctx: Any) -> str:
        if ctx.fence < 2:
            raise dibs.Release(delay=0)
        return "now"

    @app.handler("slow", timeout=1)
    async def slow() -> None:
        await asyncio.sleep(30)

    @app.handler("inputs")
    async def inputs(ctx: Any) -> Any:
        return [list(ctx.inputs.values()), ctx.task.context]

    return app


WORK: dict[str, tuple[Add, ...]] = {
    "arguments": (("greet", {"name": "Ada"}, {}), ("greet", {"name": "Ada", "greeting": "hi"}, {})),
    "arguments that do not fit": (("greet", {}, {}), ("greet", {"name": "a", "colour": 2}, {}), ("greet", 7, {})),
    "in a thread": (("blocking", {"n": 3}, {}),),
    "steps that are kept": (("steps", None, {"retry": "immediate"}),),
    "a child": (("parent", None, {}),),
    "a child that fails": (("of-failed", None, {}),),
    "a question that nobody answers": (("asks", None, {}),),
    "errors": (("fails", None, {"max_attempts": 2, "retry": "immediate"}), ("gives-up", None, {})),
    "not now": (("later", None, {}), ("back", None, {})),
    "out of time": (("slow", None, {"max_attempts": 1}),),
    "a dead end": (("fails", None, {"max_attempts": 1, "context": {"goal": "g"}}),),
}


def _under_a_worker(adds: tuple[Add, ...]) -> Callable[[Scene], None]:
    async def run(scene: Scene) -> None:
        import dibs

        async with dibs.connect(scene.url) as queue:
            first = [await queue.add(type, payload, **options) for type, payload, options in adds]
            await queue.add("inputs", None, after_ended=[first[0]], context={"goal": "all"})
            async with dibs.Worker(_app(), queue, agent="coder-1", concurrency=1, lease=30) as worker:
                await worker.drain()
                # What waits for a person is left by drain; a question that nobody answers ends by itself.
                until = time.monotonic() + PATIENCE_S
                while (await queue.find(status="waiting")).items and time.monotonic() < until:
                    await asyncio.sleep(0.2)
                    await worker.drain()
            page = await queue.find(limit=100)
            for task in sorted(page.items, key=lambda task: task.id):
                scene.note("task", plain(task))
                scene.note("history", plain(await queue.history(task.id)))
                scene.note("journal", plain(await queue.journal(task.id)))
                await _events(scene, queue, task.id)

    return lambda scene: asyncio.run(run(scene))


async def _events(scene: Scene, queue: Any, task: str) -> None:
    """Note what happened to a task: between tasks, what comes first is a matter of moments."""
    told = [plain(event) for event in await queue.read_events(0) if event.task_id == task]
    scene.note("events", [{name: value for name, value in event.items() if name != "seq"} for event in told])


_SAYS = """
import json, os, sys
claim = json.load(sys.stdin)
print(sys.argv[1:], claim["fence"], os.environ["DIBS_TASK_ID"] == claim["task"]["id"])
"""
COMMANDS: dict[str, tuple[tuple[str, ...], Any, str, tuple[str, ...]]] = {
    "what the command sees": ((), {"prompt": "say it", "n": 3}, _SAYS, ("{prompt}", "{payload.n}")),
    "a key that is missing": ((), {"n": 3}, _SAYS, ("{payload.other}",)),
    "a command that fails": ((), None, "import sys; print('no', file=sys.stderr); sys.exit(3)", ()),
    "a command that is killed": ((), None, "import os; os.kill(os.getpid(), 9)", ()),
    "a command that takes too long": (("--timeout", "1s"), None, "import time; time.sleep(20)", ()),
    "JSON as output": ((), None, "import json; print(json.dumps({'answer': 42}))", ()),
    "a command that is not there": ((), None, "", ("nothing",)),
}
"""Options of `dibs run`, the payload, a program, and its arguments."""


def _under_run(options: tuple[str, ...], payload: Any, code: str, words: tuple[str, ...]) -> Callable[[Scene], None]:
    def run(scene: Scene) -> None:
        (scene.folder / "tool.py").write_text(code)
        argv = ("python3", "tool.py", *words) if code else ("/no/such/command", *words)
        command(scene, "add", "work", "A title", "--payload", json.dumps(payload), "--max-attempts", "1")
        ran = apart(scene, "run", "--type", "work", "--agent", "coder-1", *options, "--drain", "--", *argv)
        scene.note("dibs run", {"exit": ran.code, "out": ran.out.splitlines()})
        found = json.loads(command(scene, "ls", "--json").out)
        for task in found["items"]:
            scene.note("show", command(scene, "show", task["id"], "--json").seen)
            scene.note("history", command(scene, "history", task["id"], "--json").seen)

    return run


PROGRAMS = (
    *(Program("worker", name, _under_a_worker(adds)) for name, adds in WORK.items()),
    *(
        Program("run", name, _under_run(options, payload, code, words), stores=IN_OTHER_PROCESSES)
        for name, (options, payload, code, words) in COMMANDS.items()
    ),
)
