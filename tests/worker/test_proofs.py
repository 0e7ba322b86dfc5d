"""Commands that the output of a handler must pass: run by the worker, between the handler and the completion."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs import keeping, settling
from dibs.worker import command_app
from tests.worker import apps
from tests.worker.facts import LEASE_S, any_alive, ended, eventually, first, has_status, lines, note, renewed
from tests.worker.test_signals import worker

if TYPE_CHECKING:
    from pathlib import Path

POSITIVE = "import json, sys; json.load(sys.stdin) > 0 or sys.exit('it is not positive')"


def must(code: str, **more: Any) -> dict[str, Any]:
    return {"validation": "test-pass", "argv": [sys.executable, "-c", code], **more}


def hanging(pids: Path) -> str:
    """A program that says who it is, and never ends."""
    return f"import os, time; open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n'); time.sleep(600)"


def app_of(*outputs: Any) -> dibs.App:
    """Handles `job`: the first attempt gives the first of these, and so on."""
    app = dibs.App()

    @app.handler("job", retry="immediate")
    async def job(ctx: dibs.Context) -> Any:
        return outputs[len(ctx.previous_attempts)]

    return app


async def test_an_output_that_fails_its_test_is_tried_again_and_hears_why(url: str) -> None:
    async with dibs.connect(url) as queue:
        task = await queue.add("job", expects=must(POSITIVE))
        async with dibs.Worker(app_of(-1, 1), queue) as worker:
            await first(worker.drain())
        task = await queue.get(task.id)
        assert (task.status, task.output, task.attempts) == ("completed", 1, 2)
        [rejected, completed] = await queue.history(task.id)
        assert (rejected.outcome, rejected.reason) == ("rejected", "invalid_output")
        assert (rejected.error or "").startswith(f"refused by command: `{sys.executable} -c import json")
        assert (rejected.error or "").endswith("ended with exit code 1\nit is not positive")
        assert completed.outcome == "completed"


async def test_it_is_run_wherever_the_handler_ran() -> None:
    app = dibs.App()

    @app.handler("thread", retry="immediate")
    def thread(ctx: Any) -> int:
        return len(ctx.previous_attempts)

    app.handler("process", executor="process", retry="immediate")(apps.decide)
    by_command = command_app(["command"], [sys.executable, "-c", "print(1)"])
    for its_app, type, code, attempts in (
        (app, "thread", POSITIVE, 2),
        (app, "process", "import json, sys; sys.exit(json.load(sys.stdin) != 'out')", 1),
        (by_command, "command", POSITIVE, 1),
    ):
        task = await ended("memory:", its_app, type, expects=must(code))
        assert (task.status, task.attempts) == ("completed", attempts), task.error


async def test_it_knows_which_task_it_checks(url: str) -> None:
    code = "import os, sys; sys.exit(' '.join(os.environ[name] for name in sys.argv[1:]))"
    expects = must(code)
    expects["argv"] += ["DIBS_TASK_ID", "DIBS_FENCE", "DIBS_AGENT"]
    task = await ended(url, app_of(1), "job", expects=expects, max_attempts=1)
    assert (task.error or "").splitlines()[-1] == f"{task.id} 1 tester"


async def test_checks_are_made_in_their_order(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    note, text = must(f"open({str(ran)!r}, 'a').write('x')"), {"validation": "regex", "pattern": "a"}
    for order, runs in (([text, note], 0), ([note, text], 1)):
        task = await ended("memory:", app_of("b"), "job", expects={"validation": order}, max_attempts=1)
        assert (task.error or "").startswith("refused by regex")
        assert len(ran.read_text() if ran.exists() else "") == runs


async def test_a_test_has_its_time_and_no_more(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    expects = must(hanging(pids), timeout=1)
    task = await ended("memory:", app_of(1), "job", expects=expects, max_attempts=1)
    assert (task.status, task.reason) == ("dead_lettered", "invalid_output")
    assert "was still running after its timeout of 1 s" in (task.error or "")
    assert not any_alive(pids)


async def test_the_timeout_of_the_attempt_includes_the_test(url: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    task = await ended(url, app_of(1), "job", expects=must(hanging(pids)), timeout=2, max_attempts=1)
    assert (task.status, task.reason) == ("dead_lettered", "timeout")
    await eventually(lambda: not any_alive(pids))


async def test_the_lease_is_kept_while_the_test_runs(url: str, tmp_path: Path) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    expects = must(
        f"import os, time; open({str(begun)!r}, 'w').write('x')\n"
        f"while not os.path.exists({str(go)!r}): time.sleep(0.01)"
    )
    async with dibs.connect(url) as queue:
        task = await queue.add("job", expects=expects)
        async with dibs.Worker(app_of(1), queue, lease=LEASE_S) as worker:
            draining = asyncio.create_task(worker.drain())
            await eventually(lambda: lines(begun))
            await renewed(queue, task.id)
            go.touch()
            await first(draining)
        task = await queue.get(task.id)
        assert (task.status, task.fence, task.crashes) == ("completed", 1, 0)


async def test_a_cancel_ends_the_test(url: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with dibs.connect(url) as queue:
        task = await queue.add("job", expects=must(hanging(pids)))
        async with dibs.Worker(app_of(1), queue) as worker:
            draining = asyncio.create_task(worker.drain())
            await eventually(lambda: lines(pids))
            await queue.cancel(task.id)
            await first(draining)
        assert not any_alive(pids)
        assert await has_status(queue, task.id, "cancelled")


async def test_a_worker_that_leaves_gives_back_what_is_not_tested(url: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with dibs.connect(url) as queue:
        task = await queue.add("job", expects=must(hanging(pids)))
        async with dibs.Worker(app_of(1), queue) as worker:
            running = asyncio.create_task(worker.run())
            await eventually(lambda: lines(pids))
            worker.leave()
            await first(running)
        assert not any_alive(pids)
        task = await queue.get(task.id)
        assert (task.output, task.attempts) == (None, 0)
        assert task.status in ("ready", "retrying")


async def test_what_is_done_and_not_tested_is_only_tested_by_the_next(url: str, tmp_path: Path) -> None:
    worked, tested = tmp_path / "worked", tmp_path / "tested"
    # The first run of the test says that it runs, and hangs.
    code = (
        f"import os, time; p = {str(tested)!r}; f = os.path.exists(p); open(p, 'a').write('x\\n'); f or time.sleep(600)"
    )
    app = dibs.App()

    @app.handler("job")
    async def job(ctx: dibs.Context) -> str:
        note(str(worked), "x")
        ctx.spend(usd=0.5, turns=2)
        ctx.decide({"decision": "so", "reasoning": "why"})
        return "done"

    async with dibs.connect(url) as queue:
        task = await queue.add("job", expects={**must(code), "validation": ["decision-report", "command"]})
        async with dibs.Worker(app, queue) as one:
            running = asyncio.create_task(one.run())
            await eventually(lambda: lines(tested))
            one.leave()
            await first(running)
        async with dibs.Worker(app, queue) as other:
            await first(other.drain())
        task = await queue.get(task.id)
        assert (task.status, task.output, task.decision) == (
            "completed",
            "done",
            {"decision": "so", "reasoning": "why"},
        )
        assert (len(lines(worked)), len(lines(tested))) == (1, 2)
        assert [(each.outcome, each.cost_usd, each.turns) for each in await queue.history(task.id)] == [
            ("released", 0.5, 2),
            ("completed", 0.0, 0),
        ]


async def test_what_was_made_elsewhere_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worked = tmp_path / "worked"
    app = dibs.App()

    @app.handler("job")
    async def job() -> str:
        note(str(worked), "x")
        return "done"

    async with dibs.connect("memory:") as queue:
        task = await queue.add("job", expects=must(""))
        [claim] = await queue.claim("ada")
        await keeping.keep(queue.store, claim, settling.completed(claim, "elsewhere"))
        await queue.release(claim)
        monkeypatch.chdir(tmp_path)
        async with dibs.Worker(app, queue) as here:
            await first(here.drain())
        assert (await queue.get(task.id)).output == "done"
        assert len(lines(worked)) == 1


async def test_the_test_of_a_killed_worker_ends_too(file_url: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with dibs.connect(file_url) as queue:
        count = {"path": str(tmp_path / "count")}
        await queue.add("count", count, expects=must(hanging(pids)))
        with worker(file_url, tmp_path / "log") as process:
            await eventually(lambda: lines(pids))
            process.kill()
            process.wait()
        await eventually(lambda: not any_alive(pids))


@pytest.mark.parametrize(
    ("expects", "off", "why"),
    [
        ({"validation": "command", "argv": ["no-such-program"]}, "on", "there is no program 'no-such-program' here"),
        (must(""), "off", "is not run here, because DIBS_CHECK_COMMANDS is off"),
    ],
    ids=["missing", "switched off"],
)
async def test_nobody_works_where_its_test_cannot_be_run(
    expects: Any, off: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = dibs.App()

    @app.handler("job")
    async def job() -> None:
        raise AssertionError("it must not be called")

    monkeypatch.setenv("DIBS_CHECK_COMMANDS", off)
    task = await ended("memory:", app, "job", expects=expects, max_attempts=1)
    assert (task.status, task.reason) == ("dead_lettered", "error")
    assert (task.error or "").startswith("its output could not be checked: ")
    assert why in (task.error or "")


async def test_a_program_that_the_work_should_have_made_is_missed(tmp_path: Path) -> None:
    expects = {"validation": "command", "argv": [str(tmp_path / "made")]}
    task = await ended("memory:", app_of(1), "job", expects=expects, max_attempts=1)
    assert (task.status, task.reason) == ("dead_lettered", "error")
    assert (task.error or "").startswith("its output could not be checked: the command ")


async def test_output_that_cannot_be_kept_is_not_tested(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    expects = must(f"open({str(ran)!r}, 'a')")
    task = await ended("memory:", app_of("x" * (17 << 20)), "job", expects=expects)
    assert (task.status, task.reason) == ("dead_lettered", "invalid_output")
    assert not ran.exists()
