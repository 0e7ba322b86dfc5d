"""What a worker was just starting when it was killed is ended, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.worker.facts import alive, eventually

_WORKER = """
import os, signal, subprocess, sys
from dibs.worker.executors.minder import Minder

minder, when = Minder(), sys.argv[1]
command = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
with minder.starting() as mark:
    process = subprocess.Popen(
        command, env={**os.environ, **mark}, stdout=subprocess.PIPE, start_new_session=True
    )
    process.stdout.readline()
    print(process.pid, flush=True)
    if when == "starting":
        os.kill(os.getpid(), signal.SIGKILL)
    minder.mind(process.pid)
if when == "forgotten":
    minder.forget(process.pid)
if when == "closed":
    minder.close()
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(when: str) -> int:
    """A worker that dies at this moment; the process that it had started."""
    done = subprocess.run([sys.executable, "-c", _WORKER, when], stdout=subprocess.PIPE, text=True, check=False)
    return int(done.stdout)


needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="without /proc it cannot be seen")


@needs_proc
@pytest.mark.parametrize("when", ["starting", "started", "closed"])
async def test_what_runs_or_is_being_started_ends_with_its_worker(when: str) -> None:
    pid = killed(when)
    await eventually(lambda: not alive(pid))


@needs_proc
async def test_what_was_started_and_forgotten_is_left_alone() -> None:
    pid = killed("forgotten")
    other = killed("starting")
    await eventually(lambda: not alive(other))
    assert alive(pid)
    os.kill(pid, signal.SIGKILL)
