"""Threads, child processes and commands: what comes back, and that nothing stays behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.worker import command_app
from tests.worker.apps import app as processes
from tests.worker.facts import PATIENCE_S, alive, any_alive, ended, eventually, first, has_status, lines

if TYPE_CHECKING:
    from pathlib import Path


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


async def ran(code: str, payload: Any = None, *, args: tuple[str, ...] = (), **options: Any) -> dibs.Task:
    """The task that a small program worked on."""
    app = command_app(["job"], [*python(code), *args])
    return await ended("memory:", app, "job", payload, **{"max_attempts": 1, **options})


# Child processes


async def test_a_process_handler_returns_its_output_from_a_reused_child() -> None:
    async with dibs.connect("memory:") as queue:
        first_task = await queue.add("double", {"number": 4})
        async with dibs.Worker(processes, queue, concurrency=1) as worker:
            await first(worker.drain())
            second_task = await queue.add("double", {"number": 5})
            await first(worker.drain())
        one, two = await queue.get(first_task.id), await queue.get(second_task.id)
        assert (one.output["double"], two.output["double"]) == (8, 10)
        assert one.output["pid"] == two.output["pid"]
        assert (one.cost_usd, one.tokens_in) == (0.5, 7)
        assert [e.value for e in await queue.journal(one.id) if e.kind == "log"] == [b'"doubling 4"']
    await eventually(lambda: not alive(one.output["pid"]))


async def test_a_child_killed_by_a_signal_is_a_crash_and_three_are_a_poison_pill() -> None:
    task = await ended("memory:", processes, "die", max_attempts=10)
    assert (task.status, task.crashes, task.poison_pill) == ("dead_lettered", 3, True)
    assert "SIGKILL" in (task.error or "")


async def test_a_process_handler_names_its_failure() -> None:
    task = await ended("memory:", processes, "refuse")
    assert (task.status, task.reason, task.error) == ("dead_lettered", "auth_failure", "no such account")


async def test_a_process_handler_has_steps_and_children(url: str) -> None:
    task = await ended(url, processes, "family")
    assert (task.status, task.output) == ("completed", 6)


async def test_a_process_over_its_timeout_is_killed_with_all_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    task = await ended("memory:", processes, "hang", {"pids": str(pids)}, timeout=1.0, max_attempts=1)
    assert (task.status, task.reason) == ("dead_lettered", "timeout")
    await eventually(lambda: not any_alive(pids))


SCRIPT = """
import asyncio, os, dibs

app = dibs.App()

@app.handler("where", executor="process")
def where():
    return [__name__, os.getpid()]

async def main():
    async with dibs.connect("memory:") as queue:
        task = await queue.add("where")
        async with dibs.Worker(app, queue) as worker:
            await worker.drain()
        name, pid = (await queue.get(task.id)).output
        print(name, pid != os.getpid())

if __name__ == "__main__":
    asyncio.run(main())
"""


def test_a_process_handler_may_live_in_the_script_itself(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert done.stdout == "__dibs_main__ True\n"


# Threads


@pytest.mark.parametrize("store", ["memory:", "sqlite"])
async def test_a_thread_over_its_timeout_is_left_alone_and_told(store: str, tmp_path: Path) -> None:
    app, told = dibs.App(), []
    url = store if store == "memory:" else f"sqlite:{tmp_path / 'dibs.db'}"

    @app.handler("stuck", timeout=0.2)
    def stuck(ctx: Any) -> str:
        while not ctx.cancelled:
            time.sleep(0.01)
        with pytest.raises(dibs.LeaseLost):
            ctx.progress(1.0)
        told.append(True)
        return "too late"

    task = await ended(url, app, "stuck", max_attempts=1)
    assert (task.status, task.reason, task.output) == ("dead_lettered", "timeout", None)
    await eventually(lambda: told)


# Coroutines


async def test_a_coroutine_over_its_timeout_is_cancelled(url: str) -> None:
    app, cleaned = dibs.App(), []

    @app.handler("stuck", timeout="1h")
    async def stuck() -> None:
        try:
            await asyncio.sleep(300)
        finally:
            cleaned.append(True)

    async with dibs.connect(url) as queue:
        task = await queue.add("stuck", timeout=0.2, max_attempts=1)
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
        task = await queue.get(task.id)
        assert (task.status, task.reason, cleaned) == ("dead_lettered", "timeout", [True])
        assert [attempt.outcome for attempt in await queue.history(task.id)] == ["timed_out"]


async def test_a_cancelled_task_stops_its_coroutine_within_moments(url: str) -> None:
    app, began, cleaned = dibs.App(), asyncio.Event(), asyncio.Event()

    @app.handler("long")
    async def long() -> None:
        began.set()
        try:
            await asyncio.sleep(300)
        finally:
            cleaned.set()

    async with dibs.connect(url) as queue:
        task = await queue.add("long")
        # The lease is long: it is not the renewal that brings the news.
        async with dibs.Worker(app, queue, lease="1h") as worker:
            running = asyncio.create_task(worker.run())
            await first(began.wait())
            await queue.cancel(task.id, "changed my mind")
            await first(cleaned.wait())
            worker.stop()
            await first(running)
        assert (await queue.get(task.id)).cancel_reason == "changed my mind"
        assert [attempt.outcome for attempt in await queue.history(task.id)] == ["cancelled"]


# Commands


async def test_a_command_gets_the_claim_and_returns_json() -> None:
    code = """
import json, os, sys
claim = json.load(sys.stdin)
same = claim == json.load(open(os.environ["DIBS_CLAIM_FILE"]))
ids = os.environ["DIBS_TASK_ID"] == claim["task"]["id"] and os.environ["DIBS_FENCE"] == str(claim["fence"])
print(json.dumps([same, ids, os.environ["DIBS_AGENT"], os.environ["DIBS_URL"], claim["task"]["payload"]]))
"""
    task = await ran(code, {"a": 1})
    assert task.output == [True, True, "tester", "memory:", {"a": 1}]


async def test_a_command_that_prints_text_returns_text() -> None:
    task = await ran("print('hello'); print('world')")
    assert (task.output, task.output_sanitized) == ("hello\nworld", False)


async def test_a_command_that_reads_nothing_and_prints_nothing_completes() -> None:
    task = await ran("", {"large": "x" * 500_000})
    assert (task.status, task.output) == ("completed", "")


@pytest.mark.parametrize("code", ["b'a\\0b'", "b'a\\xffb'", "b'\"a\\\\u0000b\"'"])
async def test_broken_output_of_a_command_is_replaced_and_flagged(code: str) -> None:
    task = await ran(f"import sys; sys.stdout.buffer.write({code})")
    assert (task.status, task.output, task.output_sanitized) == ("completed", "a\ufffdb", True)


async def test_a_failing_command_keeps_its_exit_code_and_the_tail_of_stderr() -> None:
    task = await ran("import sys; [print('line', n, file=sys.stderr) for n in range(5000)]; sys.exit(3)")
    assert (task.status, task.reason, task.exit_code) == ("dead_lettered", "error", 3)
    assert task.error is not None
    assert "exit code 3" in task.error
    assert "line 4999" in task.error
    assert len(task.error) < 5_000


async def test_a_command_killed_by_a_signal_is_a_crash() -> None:
    task = await ran("import os; os.kill(os.getpid(), 9)", retry="immediate", max_attempts=2)
    assert (task.status, task.reason, task.crashes) == ("dead_lettered", "crash", 2)


async def test_a_command_that_does_not_exist_fails_its_task() -> None:
    app = command_app(["job"], ["/no/such/program"])
    task = await ended("memory:", app, "job", max_attempts=1)
    assert "/no/such/program" in (task.error or "")


async def test_places_in_arguments_are_replaced_and_stay_one_argument() -> None:
    code = "import json, sys; print(json.dumps(sys.argv[1:]))"
    args = ("{prompt}", "--n={payload.a.b}", "{payload.list}", "{type}:{title}", "{id}", "{unknown} {}")
    payload = {"prompt": "two words; $(rm -rf /) {id}", "a": {"b": 3}, "list": [1, "x"]}
    task = await ran(code, payload, args=args, title="T")
    assert task.output == [payload["prompt"], "--n=3", '[1,"x"]', "job:T", task.id, "{unknown} {}"]


@pytest.mark.parametrize("place", ["{prompt}", "{payload.a.c}", "{payload.a.b.c}", "{title}"])
async def test_a_missing_key_is_invalid_input(place: str) -> None:
    task = await ran("", {"a": {"b": 3}}, args=(place,), max_attempts=3)
    assert (task.status, task.reason, task.attempts) == ("dead_lettered", "invalid_input", 1)
    assert place in (task.error or "")


async def test_lines_of_stderr_are_logged_while_the_command_runs(tmp_path: Path) -> None:
    release = tmp_path / "release"
    code = f"""
import os, sys, time
print("working", file=sys.stderr, flush=True)
while not os.path.exists({str(release)!r}):
    time.sleep(0.01)
"""
    async with dibs.connect("memory:") as queue:
        task = await queue.add("job")
        async with dibs.Worker(command_app(["job"], python(code)), queue) as worker:
            running = asyncio.create_task(worker.drain())

            async def logged() -> bool:
                return any(entry.value == b'"working"' for entry in await queue.journal(task.id))

            await eventually(logged)
            release.touch()
            await first(running)
        assert await has_status(queue, task.id, "completed")


FAMILY = """
import os, subprocess, sys, time
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
with open({pids!r}, "w") as file:
    file.write(f"{{os.getpid()}} {{grandchild.pid}}\\n")
{then}
"""


async def test_cancelling_a_running_command_kills_its_grandchildren(url: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    code = FAMILY.format(pids=str(pids), then="time.sleep(300)")
    async with dibs.connect(url) as queue:
        task = await queue.add("job")
        async with dibs.Worker(command_app(["job"], python(code)), queue) as worker:
            running = asyncio.create_task(worker.run())
            await eventually(lambda: lines(pids))
            await queue.cancel(task.id)
            await eventually(lambda: not any_alive(pids))
            worker.stop()
            await first(running)
        assert await has_status(queue, task.id, "cancelled")


async def test_a_command_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    then = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)"
    app = command_app(["job"], python(FAMILY.format(pids=str(pids), then=then)), timeout=1)
    task = await ended("memory:", app, "job", max_attempts=1)
    assert (task.status, task.reason) == ("dead_lettered", "timeout")
    await eventually(lambda: not any_alive(pids))


async def test_a_grandchild_that_holds_the_output_open_does_not_hold_up_the_task(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    task = await ran(FAMILY.format(pids=str(pids), then="print('done')"))
    assert task.output == "done"
    await eventually(lambda: not any_alive(pids))


async def test_too_much_output_of_a_command_fails_its_task() -> None:
    task = await ran("import sys; [sys.stdout.write('x' * 1_000_000) for _ in range(17)]")
    assert (task.status, task.reason) == ("dead_lettered", "invalid_output")
