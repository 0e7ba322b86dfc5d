"""Chapter 6. Many processes share one file, and one of them dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import dibs

if TYPE_CHECKING:
    from pathlib import Path

    from tests.story.shell import Shell

APP = """
import asyncio, os
import dibs

app = dibs.App()

@app.handler("slow")
async def slow(ctx, number):
    with open("begun", "a") as file:
        file.write(f"{ctx.agent}\\n")
    await ctx.progress(0.5, "in the middle")
    # Only an agent called `mortal` takes for ever; it is killed meanwhile.
    await asyncio.sleep(3600 if ctx.agent == "mortal" else 0)
    with open("done", "a") as file:
        file.write(f"{number}\\n")
    return os.getpid()
"""


def worker(folder: Path, agent: str, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "dibs.cli", "worker", "app:app", "--agent", agent, *options],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "DIBS_URL": "sqlite:tasks.db", "PYTHONPATH": os.pathsep.join(["", *sys.path])},
    )


def test_several_workers_do_each_task_once(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    with dibs.connect_sync(f"sqlite:{tmp_path / 'tasks.db'}") as queue:
        queue.add_many([dibs.NewTask("slow", {"number": number}) for number in range(40)])
        workers = [worker(tmp_path, f"worker-{number}", "--drain") for number in range(3)]
        assert [each.wait(100) for each in workers] == [0, 0, 0]
        assert queue.stats().by_status["completed"] == 40
    # Counted outside the store: nothing was forgotten, nothing was done twice.
    done = Counter((tmp_path / "done").read_text().split())
    assert done == Counter({str(number): 1 for number in range(40)})


def test_the_work_of_a_killed_worker_is_done_by_another(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    with dibs.connect_sync(f"sqlite:{tmp_path / 'tasks.db'}") as queue:
        task = queue.add("slow", {"number": 7})
        mortal = worker(tmp_path, "mortal")
        try:
            for event in queue.events():
                if event.type == "task.progress":
                    break
        finally:
            mortal.send_signal(signal.SIGKILL)
            mortal.wait()
        # Its lease would last for a minute; this is the same, only sooner.
        queue.renew((task.id, 1), lease=1)

        assert worker(tmp_path, "heir", "--drain").wait(100) == 0
        ended = queue.get(task.id)
        assert (ended.status, ended.attempts, ended.crashes) == ("completed", 2, 1)
        assert [(a.agent, a.outcome) for a in queue.history(task.id)] == [
            ("mortal", "expired"),
            ("heir", "completed"),
        ]
    assert (tmp_path / "done").read_text() == "7\n"


def test_the_shell_sees_what_python_added(shell: Shell) -> None:
    with dibs.connect_sync(f"sqlite:{shell.folder / '.dibs' / 'dibs.db'}") as queue:
        queue.add("greet", title="Say hello")
    assert "Say hello" in shell.run("dibs ls").stdout
