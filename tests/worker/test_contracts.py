"""Handlers whose tasks expect something of their output: checked before completion, told to the next attempt."""

from __future__ import annotations

import logging
import sys
from typing import Any

import pytest

import dibs
from dibs.worker import command_app
from tests.worker import apps
from tests.worker.facts import ended

LINK = {"validation": "regex", "pattern": "https?://"}
REPORT = {"validation": "decision-report"}
DECIDED = {"decision": "tea", "reasoning": "it was there"}


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


async def test_a_handler_whose_output_is_refused_runs_again_and_hears_why(url: str) -> None:
    app = dibs.App()

    @app.handler("find", retry="immediate")
    async def find(ctx: dibs.Context) -> Any:
        if not ctx.previous_attempts:
            return "no link"
        return "https://example.com is what I found after: " + (ctx.previous_attempts[-1].error or "")

    task = await ended(url, app, "find", expects=LINK)
    assert (task.status, task.attempts) == ("completed", 2)
    assert task.output.endswith("refused by regex: nothing in the text matches `https?://`")


async def test_a_handler_that_never_learns_makes_a_dead_letter(url: str) -> None:
    app = dibs.App()
    app.handler("find", retry="immediate")(_nothing)
    async with dibs.connect(url) as queue:
        task = await queue.add("find", expects=LINK, max_attempts=2)
        after = await queue.add("write", after=[task])
        async with dibs.Worker(app, queue) as worker:
            await worker.drain()
        task = await queue.get(task.id)
        assert (task.status, task.reason, task.attempts, task.output) == ("dead_lettered", "invalid_output", 2, None)
        assert [attempt.outcome for attempt in await queue.history(task.id)] == ["rejected", "rejected"]
        assert (await queue.get(after.id)).status == "cancelled"


async def _nothing() -> str:
    return "nothing"


async def test_the_tasks_own_policy_wins_over_the_handlers(url: str) -> None:
    app = dibs.App()
    app.handler("find", retry=dibs.Retry(no_retry_on=("invalid_output",)))(_nothing)
    once = await ended(url, app, "find", expects=LINK)
    assert (once.status, once.attempts) == ("dead_lettered", 1)
    twice = await ended(url, app, "find", expects=LINK, retry="immediate", max_attempts=2)
    assert (twice.status, twice.attempts) == ("dead_lettered", 2)


async def test_handlers_decide_wherever_they_run() -> None:
    app = dibs.App()

    @app.handler("coroutine")
    async def coroutine(ctx: dibs.Context) -> str:
        ctx.decide("a first thought")
        ctx.decide(DECIDED)
        return "out"

    @app.handler("thread")
    def thread(ctx: Any) -> str:
        ctx.decide(DECIDED)
        return "out"

    app.handler("process", executor="process")(apps.decide)
    for type in ("coroutine", "thread", "process"):
        task = await ended("memory:", app, type, expects=REPORT)
        assert (task.status, task.output, task.decision) == ("completed", "out", DECIDED), task.error


async def test_a_decision_is_kept_without_a_contract_too() -> None:
    app = dibs.App()

    @app.handler("choose")
    async def choose(ctx: dibs.Context) -> None:
        ctx.decide("tea")

    assert (await ended("memory:", app, "choose")).decision == "tea"


async def test_a_decision_that_is_not_json_is_refused_where_it_is_made() -> None:
    app = dibs.App()

    @app.handler("choose")
    async def choose(ctx: dibs.Context) -> str:
        with pytest.raises(dibs.Invalid) as caught:
            ctx.decide({"decision": object()})
        return caught.value.field or ""

    assert (await ended("memory:", app, "choose")).output == "decision"


@pytest.mark.parametrize(
    ("printed", "decision"),
    [
        ({"answer": 42, "decision": DECIDED}, DECIDED),
        (DECIDED, DECIDED),
    ],
    ids=["a part of it", "all of it"],
)
async def test_a_command_prints_its_decision(printed: Any, decision: Any) -> None:
    app = command_app(["job"], python(f"import json; print(json.dumps({printed!r}))"))
    task = await ended("memory:", app, "job", expects=REPORT)
    assert (task.status, task.output, task.decision, task.exit_code) == ("completed", printed, decision, 0)


async def test_a_command_that_prints_something_else_is_refused() -> None:
    task = await ended("memory:", command_app(["job"], python("print('done')")), "job", expects=REPORT, max_attempts=1)
    assert (task.status, task.reason, task.exit_code) == ("dead_lettered", "invalid_output", 0)
    assert (
        task.error == "refused by decision-report: no decision was given; it must be an object with decision, reasoning"
    )


async def test_nobody_works_where_the_output_could_not_be_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    app = dibs.App()

    @app.handler("find", retry="immediate")
    async def find() -> None:
        raise AssertionError("it must not be called")

    async with dibs.connect("memory:") as queue:
        task = await queue.add("find", expects={**LINK, "pattern": "unchecked"})
        monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
        monkeypatch.setattr("dibs.checking._prepared", {})
        async with dibs.Worker(app, queue) as worker:
            await worker.drain()
        task = await queue.get(task.id)
    assert (task.status, task.reason) == ("dead_lettered", "error")
    assert (task.error or "").startswith("its output could not be checked: ")
    assert "pip install 'dibs[contracts]'" in (task.error or "")


async def test_a_worker_tells_of_a_rejected_output(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="dibs.worker")
    app = dibs.App()
    app.handler("find")(_nothing)
    task = await ended("memory:", app, "find", expects=LINK, max_attempts=1)
    [told] = [record.getMessage() for record in caplog.records if record.getMessage().startswith("rejected")]
    assert told.startswith(f"rejected find {task.id} after ")
    assert told.endswith("refused by regex: nothing in the text matches `https?://`; dead letter")
