"""Whole worker processes on one file: signals, stops and kills."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import dibs
from tests.worker.facts import LEASE_S, PATIENCE_S, any_alive, eventually, first, has_status, lines

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


@contextmanager
def worker(url: str, log: Path, *, lease: float = 60, concurrency: int = 10) -> Iterator[subprocess.Popen[bytes]]:
    """A worker process; killed at the end if it still runs."""
    argv = [sys.executable, "-m", "tests.worker.serve", url, str(lease), str(concurrency)]
    with log.open("ab") as output, subprocess.Popen(argv, cwd=ROOT, stdout=output, stderr=output) as process:
        try:
            yield process
        finally:
            process.kill()


async def test_sigterm_finishes_running_work_and_claims_no_more(file_url: str, tmp_path: Path) -> None:
    began, release = tmp_path / "began", tmp_path / "release"
    nap = {"began": str(began), "release": str(release)}
    async with dibs.connect(file_url) as queue:
        task = await queue.add("nap", nap)
        with worker(file_url, tmp_path / "log") as process:
            await eventually(lambda: lines(began))
            process.send_signal(signal.SIGTERM)
            await eventually(lambda: "finishing" in (tmp_path / "log").read_text())
            late = await queue.add("nap", nap)
            assert process.poll() is None
            release.touch()
            assert process.wait(PATIENCE_S) == 0
        assert (await queue.get(task.id)).output == "rested"
        assert await has_status(queue, late.id, "ready")


async def test_a_second_signal_releases_and_leaves(file_url: str, tmp_path: Path) -> None:
    began = tmp_path / "began"
    async with dibs.connect(file_url) as queue:
        task = await queue.add("nap", {"began": str(began), "release": str(tmp_path / "never")})
        with worker(file_url, tmp_path / "log") as process:
            await eventually(lambda: lines(began))
            process.send_signal(signal.SIGTERM)
            await eventually(lambda: "finishing" in (tmp_path / "log").read_text())
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 0
        task = await queue.get(task.id)
        assert (task.status, task.attempts, task.crashes) == ("ready", 0, 0)


async def test_a_worker_stopped_past_its_lease_cannot_settle(file_url: str, tmp_path: Path) -> None:
    began, release, log = tmp_path / "began", tmp_path / "release", tmp_path / "log"
    async with dibs.connect(file_url) as queue:
        task = await queue.add("nap", {"began": str(began), "release": str(release)}, retry="immediate")
        with worker(file_url, log, lease=LEASE_S) as process:
            await eventually(lambda: lines(began))
            await eventually(lambda: _stopped_between_writes(process, tmp_path / "dibs.db"))
            claims = await first(_claim(queue))
            assert claims[0].task.id == task.id
            release.touch()
            said = log.read_text().count(task.id)
            process.send_signal(signal.SIGCONT)
            await eventually(lambda: log.read_text().count(task.id) > said)
            assert await has_status(queue, task.id, "running")
            await queue.complete(claims[0], "by the second agent")
            # It goes on with other work.
            other = await queue.add("count", {"path": str(tmp_path / "count")})
            await first(queue.wait(other.id))
        assert (await queue.get(task.id)).output == "by the second agent"
        outcomes = [attempt.outcome for attempt in await queue.history(task.id)]
        assert outcomes == ["expired", "completed"]


def _stopped_between_writes(process: subprocess.Popen[bytes], file: Path) -> bool:
    """Stop it; in the middle of a write, while it would keep the file locked, it may go on until the next time."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            process.send_signal(signal.SIGCONT)
            return False
        connection.execute("ROLLBACK")
    return True


async def _claim(queue: dibs.Queue) -> list[dibs.Claim]:
    """The stopped worker's task, as soon as its lease has expired."""
    while True:
        claims = await queue.claim("second", types=["nap"], wait=1)
        if claims:
            return claims


async def test_steps_survive_kill_9_and_are_not_run_twice(file_url: str, tmp_path: Path) -> None:
    path, release = tmp_path / "steps", tmp_path / "release"
    async with dibs.connect(file_url) as queue:
        task = await queue.add("steps", {"path": str(path), "release": str(release)})
        with worker(file_url, tmp_path / "log") as process:
            await eventually(lambda: _recorded(queue, task.id))
            process.kill()
            process.wait()
        await _end_lease(queue, task.id)
        release.touch()
        with worker(file_url, tmp_path / "log"):
            done = await first(queue.wait(task.id))
        assert (done.status, done.output) == ("completed", ["one", "two"])
        assert lines(path) == ["one", "two"]


async def _end_lease(queue: dibs.Queue, task_id: str) -> None:
    """Until now it had to last, and nobody is left who needs it."""
    await queue.renew((task_id, 1), lease=1)


async def _recorded(queue: dibs.Queue, task_id: str) -> bool:
    return any(entry.kind == "step" for entry in await queue.journal(task_id))


async def test_a_killed_workers_tasks_are_done_by_the_next(file_url: str, tmp_path: Path) -> None:
    began, count = tmp_path / "began", tmp_path / "count"
    async with dibs.connect(file_url) as queue:
        nap = await queue.add("nap", {"began": str(began), "release": str(tmp_path / "release")}, retry="immediate")
        with worker(file_url, tmp_path / "log") as process:
            await eventually(lambda: lines(began))
            process.kill()
            process.wait()
        await _end_lease(queue, nap.id)
        (tmp_path / "release").touch()
        tasks = await queue.add_many([dibs.NewTask("count", {"path": str(count)}) for _ in range(20)])
        with worker(file_url, tmp_path / "log"):
            for task in [nap, *tasks]:
                assert (await first(queue.wait(task.id))).status == "completed"
        assert len(lines(began)) == 2
        assert len(lines(count)) == 20


@pytest.mark.parametrize("type", ["sleep", "hang"])
async def test_commands_and_children_of_a_killed_worker_end_too(type: str, file_url: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with dibs.connect(file_url) as queue:
        await queue.add(type, {"pids": str(pids)})
        with worker(file_url, tmp_path / "log") as process:
            await eventually(lambda: lines(pids))
            assert any_alive(pids)
            process.kill()
            process.wait()
        await eventually(lambda: not any_alive(pids))


async def test_the_claim_that_a_command_of_a_killed_worker_was_given_is_removed(
    file_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids, temporary = tmp_path / "pids", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    async with dibs.connect(file_url) as queue:
        await queue.add("sleep", {"pids": str(pids), "secret": "geheim"})
        with worker(file_url, tmp_path / "log") as process:
            await eventually(lambda: lines(pids))
            [claim] = temporary.iterdir()
            assert "geheim" in claim.read_text()
            process.kill()
            process.wait()
        await eventually(lambda: not list(temporary.iterdir()))
