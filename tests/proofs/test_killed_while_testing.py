"""Who is killed while a command judges the work leaves the judgement to be made again, not the work."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

import dibs
from tests.proofs.holder import end_soon
from tests.worker.facts import PATIENCE_S, lines, note
from tests.worker.test_signals import ROOT, worker

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _hangs_once(tested: Path) -> dict[str, Any]:
    """A test that says that it runs; the first time it then hangs."""
    code = (
        f"import os, time; p = {str(tested)!r}; f = os.path.exists(p); open(p, 'a').write('x\\n'); f or time.sleep(600)"
    )
    return {"validation": "command", "argv": [sys.executable, "-c", code]}


def _until(fact: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not fact():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_next_worker_only_tests_what_a_killed_one_made(tmp_path: Path) -> None:
    url, worked, tested = f"sqlite:{tmp_path / 'dibs.db'}", tmp_path / "worked", tmp_path / "tested"
    with dibs.connect_sync(url) as queue:
        task = queue.add("count", {"path": str(worked)}, expects=_hangs_once(tested), retry="immediate")
        with worker(url, tmp_path / "log", lease=600) as process:
            _until(lambda: lines(tested))
            process.kill()
            process.wait()
        assert queue.get(task.id).output is None
        end_soon(queue, task.id)
        with worker(url, tmp_path / "log"):
            _until(lambda: queue.get(task.id).status == "completed")
        ended = queue.get(task.id)
        assert (len(lines(worked)), len(lines(tested))) == (1, 2)
        assert (ended.attempts, ended.crashes) == (2, 1)
        assert [attempt.outcome for attempt in queue.history(task.id)] == ["expired", "completed"]


@pytest.mark.parametrize("by", ["the next worker", "whoever claims it"])
def test_so_does_a_killed_command_of_the_shell(tmp_path: Path, by: str) -> None:
    url, worked, tested = f"sqlite:{tmp_path / 'dibs.db'}", tmp_path / "worked", tmp_path / "tested"
    with dibs.connect_sync(url) as queue:
        task = queue.add("count", {"path": str(worked)}, expects=_hangs_once(tested), retry="immediate")
        [claim] = queue.claim("ada", lease=600)
        note(str(worked), "x")
        argv = [
            sys.executable,
            "-m",
            "dibs",
            "complete",
            task.id,
            "--fence",
            "1",
            "--output",
            '"by hand"',
            "--url",
            url,
        ]
        with subprocess.Popen(argv, cwd=ROOT) as process:
            _until(lambda: lines(tested))
            process.kill()
        end_soon(queue, task.id)
        if by == "the next worker":
            # It runs where the command ran, whose handler would have made something else.
            with worker(url, tmp_path / "log"):
                _until(lambda: queue.get(task.id).status == "completed")
        else:
            [claim] = queue.claim("bob", wait=PATIENCE_S)
            assert claim.made is not None
            queue.complete(claim, claim.made.output)
        assert queue.get(task.id).output == "by hand"
        assert (len(lines(worked)), len(lines(tested))) == (1, 2)
