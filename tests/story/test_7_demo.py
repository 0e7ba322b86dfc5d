"""Chapter 7. `dibs demo`, played for real: it must end well, and leave no process behind however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from dibs.demo import ledger
from dibs.demo.summary import summarize
from dibs.sync import connect_sync

if TYPE_CHECKING:
    from pathlib import Path

BRISK = "0.3"


def demo(folder: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", "import sys; from dibs.demo import main; sys.exit(main(sys.argv[1:]))", *options],
        env={**os.environ, "TMPDIR": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def workers_of(folder: Path) -> list[int]:
    """The ids of processes that work on a store below this folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                words = file.read().split("\0")
        except OSError:
            continue
        if "worker" in words and any(str(folder) in word for word in words):
            found.append(int(pid))
    return found


def test_the_demo_ends_with_every_task_done_exactly_once(tmp_path: Path) -> None:
    playing = demo(tmp_path, "--pace", BRISK)
    out, err = playing.communicate(timeout=90)
    assert playing.returncode == 0, out + err
    for said in ("kill -9", "coder-3 started in its place", "spawned", "503", "finished exactly once"):
        assert said in out
    assert "\x1b" not in out


def test_the_figures_agree_with_the_ledger(tmp_path: Path) -> None:
    playing = demo(tmp_path, "--pace", BRISK, "--json")
    out, err = playing.communicate(timeout=90)
    assert playing.returncode == 0, out + err
    summary = json.loads(out)
    assert (summary["tasks"], summary["spawned"], summary["retries"], summary["problems"]) == (14, 1, 2, [])
    assert summary["crashes"] >= 1
    assert summary["attempts"] == summary["tasks"] + summary["retries"] + summary["crashes"]

    # A task done twice, or by a claim that the store knows nothing of, would have been noticed.
    [written] = tmp_path.glob("dibs-demo-*/ledger.tsv")
    lines = ledger.read(str(written))
    with connect_sync(summary["url"]) as queue:
        dag = queue.get_dag(summary["dag_id"])
        for tampered in (lines[1:], [*lines, lines[-1]], [*lines, lines[-1]._replace(task_id="task_x")]):
            assert summarize(queue, dag, tampered, planned=13, seconds=0).problems
        assert not summarize(queue, dag, lines, planned=13, seconds=0).problems


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="looks for processes in /proc")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_a_demo_that_is_stopped(tmp_path: Path, ending: signal.Signals) -> None:
    playing = demo(tmp_path)
    assert playing.stdout is not None
    while "took" not in (line := playing.stdout.readline()):
        assert line, "the demo ended before an agent took a task"
    agents = workers_of(tmp_path)
    assert len(agents) == 6
    playing.send_signal(ending)
    playing.communicate(timeout=30)
    assert playing.returncode == (-signal.SIGKILL if ending is signal.SIGKILL else 130)
    # An agent notices within half a second that the demo is gone.
    for _ in range(100):
        if not workers_of(tmp_path):
            break
        signal.sigtimedwait([], 0.1)
    assert workers_of(tmp_path) == []


def test_a_store_inside_the_process_is_refused(tmp_path: Path) -> None:
    playing = demo(tmp_path, "--url", "memory:")
    _, err = playing.communicate(timeout=30)
    assert playing.returncode != 0
    assert "memory:" in err
