"""Handlers whose work others judge, and handlers that judge."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import dibs
from tests.worker.facts import eventually, first, has_status, lines, note

if TYPE_CHECKING:
    from pathlib import Path

JUDGED: dict[str, Any] = {"validation": "judge", "rubric": "It is about tea.", "criteria": ["tea", "short"]}


def judges() -> dibs.App:
    app = dibs.App()

    @app.handler("judge", capabilities={"judge"})
    async def judge(task: dict[str, Any], output: str, rubric: str, criteria: list[str]) -> dict[str, Any]:
        met = {"tea": "tea" in output, "short": len(output) < 20}
        return {
            "verdict": "pass" if all(met.values()) else "fail",
            "criteria": {name: {"pass": met[name], "reason": f"{task['type']}: {output}"} for name in criteria},
            "reason": "" if all(met.values()) else f"it does not say: {rubric}",
        }

    return app


async def test_an_agent_judges_what_another_made_and_the_author_hears_why(url: str) -> None:
    app = dibs.App()

    @app.handler("poem")
    async def poem(ctx: dibs.Context) -> str:
        return "tea" if ctx.previous_attempts else "coffee"

    async with dibs.connect(url) as queue:
        task = await queue.add("poem", expects=JUDGED, retry="immediate")
        after = await queue.add("print", after=[task])
        async with (
            dibs.Worker(app, queue, agent="author") as author,
            dibs.Worker(judges(), queue, agent="judge") as other,
        ):
            judging = asyncio.create_task(other.run())
            await first(author.drain())
            judging.cancel()
        task = await queue.get(task.id)
        assert (task.status, task.output, task.attempts) == ("completed", "tea", 2)
        refused, passed = await queue.history(task.id)
        assert refused.error == ("refused by judge for 2 reasons: it does not say: It is about tea.\ntea: poem: coffee")
        assert passed.outcome == "completed"
        assert (await queue.get(after.id)).status == "ready"


async def test_one_who_judges_and_writes_does_not_judge_itself(url: str) -> None:
    app = judges()

    @app.handler("poem")
    async def poem() -> str:
        return "tea"

    async with dibs.connect(url) as queue:
        tasks = await queue.add_many([dibs.NewTask("poem", expects=JUDGED) for _ in range(4)])
        async with dibs.Worker(app, queue, agent="ada") as ada, dibs.Worker(app, queue, agent="bob") as bob:
            await first(asyncio.gather(ada.drain(), bob.drain()))
        for task in tasks:
            [work] = await queue.history(task.id)
            [verdict] = await queue.history(f"{task.id}_judge_1_0")
            assert work.outcome == verdict.outcome == "completed"
            assert work.agent != verdict.agent


async def test_a_command_runs_once_before_the_work_is_handed_in(url: str, tmp_path: Path) -> None:
    app = dibs.App()
    seen = tmp_path / "seen"

    @app.handler("poem")
    async def poem() -> str:
        note(str(seen), "made")
        return "tea"

    code = f"open({str(seen)!r}, 'a').write('tested\\n')"
    expects = {"validation": ["command", "human"], "argv": [sys.executable, "-c", code]}
    async with dibs.connect(url) as queue:
        task = await queue.add("poem", expects=expects)
        async with dibs.Worker(app, queue, agent="author") as worker:
            working = asyncio.create_task(worker.run())
            await eventually(lambda: has_status(queue, task.id, "waiting"))
            [question] = await queue.inbox()
            await queue.answer(question, True, by="grace")
            assert await has_status(queue, task.id, "completed")
            working.cancel()
        assert lines(seen) == ["made", "tested"]
        assert [attempt.number for attempt in await queue.history(task.id)] == [1]


async def test_a_person_who_says_no_has_it_done_again(url: str) -> None:
    app = dibs.App()

    @app.handler("poem")
    async def poem(ctx: dibs.Context) -> str:
        return ctx.previous_attempts[-1].error or "" if ctx.previous_attempts else "a long poem"

    async with dibs.connect(url) as queue:
        task = await queue.add("poem", expects={"validation": "human"}, retry="immediate")
        async with dibs.Worker(app, queue, agent="author") as worker:
            working = asyncio.create_task(worker.run())
            await eventually(queue.inbox)
            [question] = await queue.inbox()
            await queue.answer(question, {"approve": False, "reason": "too long"}, by="grace")
            await eventually(queue.inbox)
            [again] = await queue.inbox()
            await queue.answer(again, True)
            working.cancel()
        assert (await queue.get(task.id)).output == "refused by grace: too long"
