"""Handlers that get a whole group: what they return ends all of it, unless they settled some one by one."""

from __future__ import annotations

import asyncio
import functools
import time
from typing import Any

import pytest

import dibs
from tests.worker import group_apps
from tests.worker.facts import LEASE_S, PATIENCE_S, eventually, first, has_status, renewed


async def add(queue: dibs.Queue, count: int, **options: Any) -> list[str]:
    """Tasks of one group, ready at once; their ids."""
    tasks = [dibs.NewTask("note", n, coalesce_key="room", coalesce_window=0, **options) for n in range(count)]
    return [task.id for task in await queue.add_many(tasks)]


async def drained(queue: dibs.Queue, app: dibs.App, ids: list[str]) -> list[dibs.Task]:
    """These tasks after one worker has drained the queue."""
    async with dibs.Worker(app, queue, agent="tester") as worker:
        await first(worker.drain())
    return [await queue.get(id) for id in ids]


async def test_what_a_handler_returns_completes_the_whole_group(url: str) -> None:
    app = dibs.App()
    runs = []

    @app.handler("note")
    async def note(ctx: Any, value: int) -> dict[str, Any]:
        runs.append([value, *(member.task.payload for member in ctx.group)])
        ctx.spend(usd=0.3)
        return {"sent": runs[-1]}

    async with dibs.connect(url) as queue:
        tasks = await drained(queue, app, await add(queue, 3))
    assert runs == [[0, 1, 2]]
    assert [(task.status, task.output) for task in tasks] == [("completed", {"sent": [0, 1, 2]})] * 3
    assert [task.cost_usd for task in tasks] == [0.3, 0, 0]


async def test_a_handler_that_fails_fails_the_whole_group(url: str) -> None:
    app = dibs.App()

    @app.handler("note")
    async def note(ctx: Any, value: int) -> None:
        raise dibs.Fail("no network", retry=False)

    async with dibs.connect(url) as queue:
        tasks = await drained(queue, app, await add(queue, 3))
    assert [(task.status, task.error) for task in tasks] == [("dead_lettered", "no network")] * 3


async def test_draining_takes_what_still_gathers_and_leaves_what_is_scheduled(url: str) -> None:
    app = dibs.App()
    runs = []

    @app.handler("note")
    async def note(ctx: Any, value: int) -> None:
        runs.append([value, *(member.task.payload for member in ctx.group)])

    async with dibs.connect(url) as queue:
        # At once: a window of half a second may be over before a second call.
        await queue.add_many([dibs.NewTask("note", n, coalesce_key="room", coalesce_window=0.5) for n in range(2)])
        later = await queue.add("note", 7, run_after="1h")
        [scheduled] = await drained(queue, app, [later.id])
    assert runs == [[0, 1]]
    assert scheduled.status == "scheduled"


async def test_a_group_that_fails_is_one_failure_to_its_breaker() -> None:
    app = dibs.App()

    @app.handler("note")
    async def note(ctx: Any, value: int) -> None:
        raise dibs.Fail("no network", retry=False)

    async with dibs.connect("memory:") as queue:
        await queue.set_breaker("note", failure_threshold=3)
        tasks = await drained(queue, app, await add(queue, 5))
        assert [task.status for task in tasks] == ["dead_lettered"] * 5
        assert [each.failures for each in await queue.breakers() if each.type == "note"] == [1]


async def test_one_whose_output_could_not_be_checked_fails_alone(url: str) -> None:
    app = dibs.App()
    runs = []

    @app.handler("note")
    async def note(ctx: Any, value: int) -> str:
        runs.append([value, *(member.task.payload for member in ctx.group)])
        return "done"

    missing = {"validation": "command", "argv": ["no-such-program"]}
    async with dibs.connect(url) as queue:
        first_ids = await add(queue, 1, expects=missing, priority=1, max_attempts=2, retry="fixed:1s")
        tasks = await drained(queue, app, [*first_ids, *await add(queue, 3)])
    assert runs == [[0, 1, 2]]
    assert [task.status for task in tasks] == ["dead_lettered", *["completed"] * 3]
    assert (tasks[0].error or "").startswith("its output could not be checked: there is no program")
    assert [task.attempts for task in tasks] == [2, 1, 1, 1]


async def test_a_group_that_failed_is_tried_again_together(url: str) -> None:
    app = dibs.App()
    runs = []

    @app.handler("note")
    async def note(ctx: Any, value: int) -> str:
        runs.append(len(ctx.group) + 1)
        if len(runs) == 1:
            raise RuntimeError("once")
        return "done"

    async with dibs.connect(url) as queue:
        tasks = await drained(queue, app, await add(queue, 4, retry="fixed:200ms"))
    assert runs == [4, 4]
    assert [(task.output, task.attempts) for task in tasks] == [("done", 2)] * 4


async def test_a_handler_settles_some_one_by_one(url: str) -> None:
    app = dibs.App()

    @app.handler("note")
    async def note(ctx: Any, value: int) -> str:
        if not ctx.group:
            return "alone"
        one, two, three, _ = ctx.group
        settled = await ctx.complete(one, "by itself")
        assert settled.status == "completed"
        await ctx.fail(two, "broken", reason="invalid_input")
        await ctx.release(three, delay=0)
        with pytest.raises(dibs.IllegalTransition):
            await ctx.complete(one, "again")
        return "the rest"

    async with dibs.connect(url) as queue:
        tasks = await drained(queue, app, await add(queue, 5))
    outputs = ["the rest", "by itself", None, "alone", "the rest"]
    assert [task.output for task in tasks] == outputs
    assert (tasks[2].status, tasks[2].error, tasks[2].reason) == ("dead_lettered", "broken", "invalid_input")


async def test_what_was_settled_one_by_one_stays_so_if_the_handler_fails(url: str) -> None:
    app = dibs.App()

    @app.handler("note")
    async def note(ctx: Any, value: int) -> None:
        await ctx.complete(ctx.group[0], "done")
        raise dibs.Fail("and then no more", retry=False)

    async with dibs.connect(url) as queue:
        tasks = await drained(queue, app, await add(queue, 3))
    assert [task.status for task in tasks] == ["dead_lettered", "completed", "dead_lettered"]


@pytest.mark.parametrize("executor", ["thread", "process"])
async def test_threads_and_processes_settle_members_too(executor: Any, file_url: str) -> None:
    app = dibs.App()
    app.handler("note", executor=executor)(group_apps.settles_the_first)
    async with dibs.connect(file_url) as queue:
        tasks = await drained(queue, app, await add(queue, 3))
    assert [task.output for task in tasks] == ["the rest", "completed by itself", "the rest"]


async def test_a_command_gets_the_whole_group_and_ends_all_of_it(file_url: str) -> None:
    app = dibs.App()
    script = "import json, sys; claim = json.load(sys.stdin); print(len(claim['group']))"
    app.command("note", ["python3", "-c", script])
    async with dibs.connect(file_url) as queue:
        tasks = await drained(queue, app, await add(queue, 3))
    assert [(task.status, task.output) for task in tasks] == [("completed", 2)] * 3


async def test_only_members_can_be_settled_by_a_handler() -> None:
    app = dibs.App()
    fields = []

    @app.handler("note")
    async def note(ctx: Any, value: int) -> None:
        for wrong in (ctx.task, None, "task_x"):
            try:
                await ctx.complete(wrong)
            except dibs.Invalid as error:
                fields.append(error.field)
        stranger = dibs.Claim(task=ctx.task, fence=1, agent="me")
        for settle in (ctx.complete(stranger), ctx.fail(ctx.group[0], "x", reason=""), ctx.release(ctx.group[0], -1)):
            try:
                await settle
            except dibs.Invalid as error:
                fields.append(error.field)

    async with dibs.connect("memory:") as queue:
        tasks = await drained(queue, app, await add(queue, 2))
    assert fields == ["member", "member", "member", "member", "reason", "delay"]
    assert [task.status for task in tasks] == ["completed"] * 2


async def test_a_member_that_is_cancelled_does_not_stop_the_others(url: str) -> None:
    app = dibs.App()
    begun, go_on = asyncio.Event(), asyncio.Event()

    @app.handler("note")
    async def note(ctx: Any, value: int) -> list[Any]:
        begun.set()
        await go_on.wait()
        return [await ctx.complete(ctx.group[0], "never"), ctx.cancelled]

    async with dibs.connect(url) as queue:
        ids = await add(queue, 3)
        async with dibs.Worker(app, queue, agent="tester") as worker:
            working = asyncio.create_task(worker.drain())
            await first(begun.wait())
            await queue.cancel(ids[1])
            go_on.set()
            await first(working)
        tasks = [await queue.get(id) for id in ids]
        [attempt] = await queue.history(ids[1])
    assert [task.status for task in tasks] == ["completed", "cancelled", "completed"]
    assert tasks[0].output == [None, False]
    assert attempt.outcome == "cancelled"


async def test_when_the_first_is_cancelled_the_others_are_given_back(url: str) -> None:
    app = dibs.App()
    begun = asyncio.Event()
    runs: list[int] = []

    @app.handler("note")
    async def note(ctx: Any, value: int) -> int:
        runs.append(value)
        begun.set()
        if value == 0:
            await asyncio.sleep(PATIENCE_S)
        return value

    async with dibs.connect(url) as queue:
        ids = await add(queue, 3)
        async with dibs.Worker(app, queue, agent="tester") as worker:
            working = asyncio.create_task(worker.drain())
            await first(begun.wait())
            await queue.cancel(ids[0])
            await first(working)
        tasks = [await queue.get(id) for id in ids]
    assert runs == [0, 1]
    assert [(task.status, task.attempts) for task in tasks] == [("cancelled", 0), ("completed", 1), ("completed", 1)]


async def test_the_leases_of_a_whole_group_are_kept(url: str) -> None:
    app = dibs.App()

    @app.handler("note")
    async def note(ctx: Any, value: int) -> str:
        await renewed(queue, ctx.task.id, *(claim.task.id for claim in ctx.group))
        return "done"

    async with dibs.connect(url) as queue:
        ids = await add(queue, 3)
        async with dibs.Worker(app, queue, agent="tester", lease=LEASE_S) as worker:
            await first(worker.drain())
        tasks = [await queue.get(id) for id in ids]
    assert [(task.status, task.attempts, task.fence) for task in tasks] == [("completed", 1, 1)] * 3


async def test_a_worker_that_leaves_gives_the_whole_group_back(url: str) -> None:
    app = dibs.App()
    begun = asyncio.Event()

    @app.handler("note")
    async def note(ctx: Any, value: int) -> None:
        begun.set()
        await asyncio.sleep(PATIENCE_S)

    async with dibs.connect(url) as queue:
        ids = await add(queue, 3)
        async with dibs.Worker(app, queue, agent="tester") as worker:
            working = asyncio.create_task(worker.run())
            await first(begun.wait())
            worker.leave()
            await first(working)
        tasks = [await queue.get(id) for id in ids]
    assert [(task.status, task.attempts) for task in tasks] == [("ready", 0)] * 3


async def test_each_of_a_group_must_pass_its_own_command(file_url: str) -> None:
    app = dibs.App()

    @app.handler("note")
    async def note(ctx: Any, value: int) -> str:
        return "out"

    def passing(code: int) -> dict[str, Any]:
        return {"validation": "command", "argv": ["sh", "-c", f"exit {code}"]}

    common: dict[str, Any] = {"coalesce_key": "k", "coalesce_window": 0, "max_attempts": 2, "retry": "immediate"}
    async with dibs.connect(file_url) as queue:
        contracts = (None, passing(0), passing(1))
        ids = [(await queue.add("note", 1, expects=expects, **common)).id for expects in contracts]
        tasks = await drained(queue, app, ids)
    assert [task.status for task in tasks] == ["completed", "completed", "dead_lettered"]
    assert [task.attempts for task in tasks] == [1, 1, 2]


@pytest.mark.alone
async def test_a_window_ends_soon_after_its_time(url: str) -> None:
    app = dibs.App()
    groups: list[int] = []

    @app.handler("note")
    async def note(ctx: Any, value: int) -> None:
        groups.append(len(ctx.group) + 1)

    async with dibs.connect(url) as queue, dibs.Worker(app, queue, agent="tester") as worker:
        working = asyncio.create_task(worker.run())
        await eventually(lambda: queue.due_in is None and worker._presence.announced)
        took = []
        for _ in range(5):
            began = time.monotonic()
            tasks = [await queue.add("note", n, coalesce_key="room") for n in range(3)]
            ended = functools.partial(has_status, queue, status="completed")
            for task in tasks:
                await eventually(functools.partial(ended, task_id=task.id))
            took.append(time.monotonic() - began)
        worker.stop()
        await first(working)
    assert sum(groups) == 15
    # The duty that promotes what is scheduled comes once a second.
    assert min(took) < 0.5
