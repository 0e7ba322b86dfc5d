"""Each preset with a stand-in for its program: how runs end, what is told of them, and that nothing stays behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from dibs.presets import NAMES, find
from dibs.worker import command_app
from tests.servers.serving import SECRET
from tests.servers.threaded import threaded
from tests.worker.facts import any_alive, ended, eventually, first, has_status, lines

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("programs")

MEASURE = """
import resource, subprocess, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (65 << 20, 65 << 20))  # of any file
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
TELL_COSTS = ("aider", "claude", "opencode")


async def ran(preset: str, scene: str, **options: Any) -> dibs.Task:
    """The task that a stand-in worked on."""
    app = command_app(["code"], [], preset=preset)
    payload = {"prompt": f"Mend it. SCENE={scene}"}
    return await ended("memory:", app, "code", payload, **{"max_attempts": 1, **options})


@pytest.mark.parametrize("preset", NAMES)
async def test_a_success_is_an_output_with_its_tokens_and_cost(preset: str) -> None:
    task = await ran(preset, "success")
    assert task.status == "completed", task.error
    assert "all done" in task.output["text"]
    assert (task.tokens_in, task.tokens_out) == ((2000, 70) if preset == "aider" else (2002, 70))
    if preset in TELL_COSTS:
        assert task.cost_usd == pytest.approx(0.04, abs=0.003)


@pytest.mark.parametrize("preset", NAMES)
async def test_an_answer_in_json_is_the_output(preset: str) -> None:
    task = await ran(preset, "json")
    if preset == "aider":  # which writes more than its answer
        assert '{"files": 3}' in task.output["text"]
    else:
        assert task.output == {"files": 3}


@pytest.mark.parametrize("preset", NAMES)
async def test_a_failure_says_why(preset: str) -> None:
    task = await ran(preset, "failure")
    assert (task.status, task.reason) == ("dead_lettered", "error")
    assert "the tests do not pass" in (task.error or "")
    assert task.tokens_in or preset in ("codex", "gemini")


@pytest.mark.parametrize("preset", NAMES)
async def test_an_end_without_an_answer_is_a_failure(preset: str) -> None:
    task = await ran(preset, "silent")
    assert (task.status, task.reason) == ("dead_lettered", "error")
    assert "without an answer" in (task.error or "")


@pytest.mark.parametrize("scene", ["rate_limit", "usage_limit"])
@pytest.mark.parametrize("preset", NAMES)
async def test_a_limit_counts_no_attempt_and_says_when_to_come_back(preset: str, scene: str) -> None:
    resets_at = int(time.time()) // 60 * 60 + 7_200
    argument = f":{resets_at}" if scene == "usage_limit" else ""
    app = command_app(["code"], [], preset=preset)
    async with dibs.connect("memory:") as queue:
        task = await queue.add("code", {"prompt": f"SCENE={scene}{argument}"}, max_attempts=1)
        async with dibs.Worker(app, queue) as worker:
            running = asyncio.ensure_future(worker.run())
            await eventually(lambda: has_status(queue, task.id, "retrying"))
            worker.stop()
            await first(running)
        task = await queue.get(task.id)
        [attempt] = await queue.history(task.id)
        assert (task.attempts, attempt.outcome, attempt.reason) == (0, "rate_limited", "rate_limit")
        assert task.retry_at is not None
        assert attempt.ended_at is not None
        wait_s = (task.retry_at - attempt.ended_at).total_seconds()
        expected = 700.0 if scene == "rate_limit" else resets_at - attempt.ended_at.timestamp()
        # Some say how long it is until then, and that a moment before the attempt ends.
        assert abs(wait_s - expected) < (1 if scene == "rate_limit" else 60), (wait_s, expected, attempt.error)


@pytest.mark.parametrize("preset", NAMES)
async def test_a_program_that_is_killed_is_a_crash(preset: str) -> None:
    task = await ran(preset, "killed")
    assert (task.status, task.reason, task.crashes) == ("dead_lettered", "crash", 1)
    assert "SIGKILL" in (task.error or "")


@pytest.mark.parametrize("preset", NAMES)
async def test_grandchildren_end_with_the_program(preset: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    task = await ran(preset, f"family:{pids}")
    assert (task.status, len(lines(pids))) == ("completed", 1)
    await eventually(lambda: not any_alive(pids))


async def test_a_timeout_ends_the_program_with_all_it_started_and_keeps_what_it_said(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    app = command_app(["code"], [], preset="claude", timeout=15.0)
    url = f"sqlite:{tmp_path / 'dibs.db'}"
    payload = {"prompt": f"SCENE=hangs:{pids}"}
    task = await ended(url, app, "code", payload, max_attempts=1)
    assert (task.status, task.reason) == ("dead_lettered", "timeout")
    assert [artifact.name for artifact in task.artifacts] == ["transcript-1"]
    await eventually(lambda: not any_alive(pids))


@pytest.mark.parametrize("preset", NAMES)
async def test_broken_lines_are_counted_and_passed_over(preset: str) -> None:
    async with dibs.connect("memory:") as queue:
        task = await queue.add("code", {"prompt": "SCENE=broken"})
        async with dibs.Worker(command_app(["code"], [], preset=preset), queue) as worker:
            await first(worker.drain())
        task = await queue.get(task.id)
        assert task.status == "completed", task.error
        assert "all done" in task.output["text"]
        log = [entry.value.decode() for entry in await queue.journal(task.id) if entry.kind == "log"]
        assert preset == "aider" or any(f"{4:,} of " in line for line in log), log


@pytest.mark.parametrize("preset", NAMES)
async def test_the_prompt_has_the_goal_the_inputs_and_what_was_tried_before(preset: str) -> None:
    app = command_app(["code"], [], preset=preset)

    @app.handler("facts")
    def facts() -> dict[str, str]:
        return {"found": "seventeen"}

    async with dibs.connect("memory:") as queue:
        fact = await queue.add("facts")
        once = {"prompt": "Count them. SCENE=failure"}
        context = {"constraints": ["no new dependencies"], "goal": "ship it"}
        task = await queue.add("code", once, after=[fact], retry="immediate", max_attempts=1, context=context)
        async with dibs.Worker(app, queue) as worker:
            await first(worker.drain())
            await queue.retry(task.id, payload={"prompt": "Count them again. SCENE=echo", "limit": 7})
            await first(worker.drain())
        task = await queue.get(task.id)
        assert task.status == "completed", task.error
        for part in ("Count them again", "ship it", "no new dependencies", "seventeen", "do not pass", '"limit": 7'):
            assert part in task.output["text"], part


async def test_a_task_that_says_nothing_to_do_is_refused() -> None:
    task = await ended("memory:", command_app(["code"], [], preset="claude"), "code", {"limit": 7}, max_attempts=3)
    assert (task.status, task.reason, task.attempts) == ("dead_lettered", "invalid_input", 1)
    assert "prompt" in (task.error or "")


async def test_a_run_over_its_budget_is_stopped(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    task = await ran("opencode", "success", max_cost=0.01)
    assert (task.status, task.reason) == ("dead_lettered", "budget_exceeded")
    assert not pids.exists()


async def test_progress_and_a_note_are_told_while_it_runs() -> None:
    async with dibs.connect("memory:") as queue:
        task = await queue.add("code", {"prompt": "SCENE=success"})
        async with dibs.Worker(command_app(["code"], [], preset="codex"), queue) as worker:
            await first(worker.drain())
        events = [event.type async for event in _kept(queue)]
        assert "task.progress" in events
        log = [entry.value.decode() for entry in await queue.journal(task.id) if entry.kind == "log"]
        assert any("bash -lc ls" in line for line in log)
        assert any("edits a.py" in line for line in log)


async def _kept(queue: dibs.Queue) -> Any:
    """The events so far."""
    async for event in queue.events():
        yield event
        if event.type == "task.completed":
            return


async def test_it_works_on_a_server_and_keeps_its_transcript_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIBS_TOKEN", SECRET)
    app = command_app(["code"], [], preset="claude")
    with threaded(f"sqlite:{tmp_path / 'dibs.db'}") as url:
        task = await ended(url, app, "code", {"prompt": "SCENE=success"})
        assert (task.status, task.output, task.tokens_in) == ("completed", {"text": "all done"}, 2002)
        assert [artifact.name for artifact in task.artifacts] == ["transcript-1"]


async def test_what_earlier_attempts_used_is_taken_off_the_limits(programs: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    program = programs / "claude"
    program.write_text(f'#!/bin/sh\necho "$@" >> {seen}\n' + program.read_text().removeprefix("#!/bin/sh\n"))
    app = command_app(["code"], [], preset="claude")
    payload = {"prompt": "SCENE=failure"}
    await ended("memory:", app, "code", payload, max_cost=1.0, max_turns=9, max_attempts=2, retry="immediate")
    one, two = seen.read_text().splitlines()
    assert "--max-budget-usd 1 --max-turns 9" in one
    assert "--max-budget-usd 0.9579 --max-turns 7" in two


@pytest.mark.parametrize("preset", NAMES)
def test_the_command_line_says_nothing_twice(preset: str) -> None:
    known = find(preset)
    for _, arguments in known.unless:
        own = arguments[:1] + tuple("mine" for _ in arguments[1:])
        argv = known.command(own, model="m", prompt_file="p")
        assert argv.count(arguments[0]) == 1
        assert argv[-len(own) :] == list(own)
    assert known.command(("--model=mine",), model="theirs").count("theirs") == 0
    assert known.command((), model="theirs")[-1] in ("theirs", "p")


@pytest.mark.timeout(240)
@pytest.mark.parametrize(("preset", "scene", "size", "most"), [
    # As much as somebody says who runs for hours; of a quarter of it, less may be left in memory.
    ("claude", "flood", 1 << 30, 160_000),
    *((name, "flood", 256 << 20, 120_000) for name in NAMES if name != "claude"),
    ("codex", "one_long_line", 256 << 20, 160_000),
    # An answer in very many pieces, each of which is cheap.
    *((name, "chatter", 32 << 20, 160_000) for name in ("aider", "gemini")),
])  # fmt: skip
def test_a_flood_of_output_takes_bounded_memory_and_disk(
    preset: str, scene: str, size: int, most: int, tmp_path: Path
) -> None:
    url = f"sqlite:{tmp_path / 'dibs.db'}"
    with dibs.connect_sync(url) as queue:
        task = queue.add("code", {"prompt": f"SCENE={scene}:{size}"}, max_attempts=1)
    arguments = ["-m", "dibs.cli", "run", "--preset", preset, "--type", "code", "--drain", "--url", url]
    # A process remembers how large the one was that started it: a small one stands between.
    done = subprocess.run([sys.executable, "-c", MEASURE, sys.executable, *arguments], capture_output=True, check=True)
    largest = int(done.stdout.split()[-1])
    with dibs.connect_sync(url) as queue:
        task = queue.get(task.id)
        assert task.status == "completed", task.error
        [kept] = task.artifacts
        assert min(size, 36 << 20) <= kept.size <= 65 << 20
        # What is left out is left out of the middle.
        content = queue.open_artifact(kept).read()
        assert b"said " in content[-5_000:]
        assert b"stand-in" in content[:5_000] or preset in ("aider", "opencode")
    assert largest < most, f"{largest:,} KiB"
