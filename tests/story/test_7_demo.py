"""Chapter 7. `dibs demo`, played for real: it must end well, and leave no process behind however it ends."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from urllib.request import urlopen

import pytest
from msgspec.structs import replace
from rich.console import Console

import dibs
from dibs.cli import wording
from dibs.demo import landing_page, ledger, look
from dibs.demo.fleet import Fleet, Member
from dibs.demo.scene import Scene, happening
from dibs.demo.serving import go_on
from dibs.demo.show import CAST, UNDERSTUDY, Play
from dibs.demo.summary import summarize
from dibs.demo.view import View, picture
from dibs.sync import connect_sync

if TYPE_CHECKING:
    from pathlib import Path

    from dibs.model.event import Event
    from dibs.testing import FakeClock

BRISK = "0.3"
PATIENCE_S = 60.0


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
            words, settings = (_words(f"/proc/{pid}/{name}") for name in ("cmdline", "environ"))
        except OSError:
            continue
        if "worker" in words and any(str(folder) in setting for setting in settings):
            found.append(int(pid))
    return found


def _words(path: str) -> list[str]:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().split("\0")


def test_the_demo_ends_with_every_task_done_exactly_once(tmp_path: Path) -> None:
    playing = demo(tmp_path, "--pace", BRISK)
    out, err = playing.communicate(timeout=110)
    assert playing.returncode == 0, out + err
    for said in ("kill -9", "coder-3 started in its place", "spawned", "503", "finished exactly once"):
        assert said in out
    assert "\x1b" not in out


def test_the_figures_agree_with_the_ledger(tmp_path: Path) -> None:
    playing = demo(tmp_path, "--pace", BRISK, "--json")
    out, err = playing.communicate(timeout=110)
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
    playing = demo(tmp_path, "--pace", "2")
    assert playing.stdout is not None
    while "took" not in (line := playing.stdout.readline()):
        assert line, "the demo ended before an agent took a task"
    agents = workers_of(tmp_path)
    assert len(agents) >= 5  # one of the six may just have been killed
    playing.send_signal(ending)
    playing.communicate(timeout=PATIENCE_S)
    assert playing.returncode == (-signal.SIGKILL if ending is signal.SIGKILL else 130)
    # An agent notices within half a second that the demo is gone, once it has its turn.
    deadline = time.monotonic() + PATIENCE_S
    while left := workers_of(tmp_path):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (100, 30), (200, 50)])
def test_the_picture_shows_every_task_and_agent_and_fits_a_terminal(tmp_path: Path, width: int, height: int) -> None:
    with connect_sync("memory:") as queue, Fleet("memory:", folder=str(tmp_path), pace=1, prefix="") as fleet:
        added = queue.add_dag(landing_page.TITLE, landing_page.tasks())
        for name, can in (*CAST, UNDERSTUDY):
            # Any process will do for a drawing; these end at once.
            fleet.members[name] = Member(name, can, subprocess.Popen(["true"]))
        fleet.members["coder-1"].killed = True
        [claim] = queue.claim("maestro", capabilities={"planning"})
        queue.renew(claim, progress=0.5, note="thinking hard")
        dag = queue.get_dag(added.id)
        assert dag.created_at is not None
        story = [told for event in queue.read_events() if (told := happening(event, dag, dag.created_at))]
        surface = Console(width=width, height=height, color_system=None, record=True, file=io.StringIO())
        surface.print(picture(Scene(dag, fleet, 1.0, story), width, height))
        drawn = surface.export_text()
        for member in fleet.members.values():
            member.process.wait()
    # A child is still to come.
    assert len(drawn.splitlines()) < height
    for task in dag.tasks:
        assert drawn.count(f" {task.title} ") == 1
    for shown in ("● maestro", "thinking hard", "○ coder-3", "browser,deploy", "maestro took"):
        assert shown in drawn
    # Where there is no room for all, the one that was replaced is left out.
    assert ("✗ coder-1 kill -9" in drawn) == (height > 24)


class Told(View):
    told: list[str]

    def show(self, scene: Scene) -> None:
        self.told = [each.text for each in scene.story]


def test_what_happens_while_it_looks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with connect_sync("memory:") as queue, Fleet("memory:", folder=str(tmp_path), pace=1, prefix="") as fleet:
        view = Told()
        play = Play(queue, fleet, view, prefix="")
        [claim] = queue.claim(agent="maestro", capabilities=["planning"])
        read_events = queue.read_events

        def meanwhile(after: int) -> list[Event]:
            monkeypatch.undo()
            queue.spawn(claim, [dibs.NewTask("research", title="Dig deeper")])
            return read_events(after)

        monkeypatch.setattr(queue, "read_events", meanwhile)
        play._look()
    assert "a child was spawned: “Dig deeper”" in view.told


def test_an_agent_that_stood_still_is_no_failure(clock: FakeClock) -> None:
    with connect_sync("memory:", clock=clock) as queue:
        [flaky] = [task for task in landing_page.tasks() if task.ref == landing_page.FLAKY]
        task = replace(flaky, after=(), requires=(), retry="immediate")
        dag = queue.add_dag(landing_page.TITLE, [task])
        for _ in range(2):
            queue.fail(queue.claim("coder-1")[0], "503")
        queue.renew(queue.claim("coder-1", lease=2)[0])
        clock.advance(5)
        queue.run_duties()
        queue.complete(queue.claim("coder-2")[0])
        told = summarize(queue, queue.get_dag(dag.id), [], planned=1, seconds=0)
    assert (told.retries, told.crashes, told.attempts) == (2, 1, 4)
    assert not [problem for problem in told.problems if "fail twice" in problem or "ended" in problem]


def test_signs_and_colours_are_those_of_the_shell() -> None:
    assert wording.SIGNS.items() >= look.SIGNS.items()
    assert wording.STYLES.items() >= look.STYLES.items()
    for value in (None, 0.25, 1234.5):
        assert look.usd(value) == wording.usd(value)


def test_on_a_store_of_its_own_the_demo_touches_only_its_own_tasks(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path / 'mine.db'}"
    with connect_sync(url) as queue:
        mine = queue.add("research", {"topic": "my own"})
        playing = demo(tmp_path, "--url", url, "--pace", BRISK)
        assert playing.stdout is not None
        while "took" not in (line := playing.stdout.readline()):
            assert line, "the demo ended before an agent took a task"
        playing.send_signal(signal.SIGINT)
        playing.communicate(timeout=PATIENCE_S)
        # Stopped half-way, it leaves nothing that waits for agents who are gone.
        assert list(tmp_path.glob("dibs-demo-*")) == []
        assert queue.get(mine.id).status == "ready"
        assert {task.status for task in queue.find(tag="demo").items} <= {"completed", "cancelled"}


def test_a_store_inside_the_process_is_refused(tmp_path: Path) -> None:
    playing = demo(tmp_path, "--url", "memory:")
    _, err = playing.communicate(timeout=PATIENCE_S)
    assert playing.returncode != 0
    assert "memory:" in err


def test_one_that_cannot_begin_leaves_no_folder(tmp_path: Path) -> None:
    playing = demo(tmp_path, "--url", "redis://127.0.0.1:1/?connect_timeout=0")
    playing.communicate(timeout=PATIENCE_S)
    assert playing.returncode != 0
    assert list(tmp_path.glob("dibs-demo-*")) == []


def test_with_its_dashboard_agents_go_on_working_until_it_is_stopped(tmp_path: Path) -> None:
    process = demo(tmp_path, "--serve", "--pace", "0.1")
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        address = first.removeprefix("The dashboard: ").strip().partition("/login")[0]
        lines = [first]
        while "Ctrl-C ends it" not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1], "".join(lines)
        store = next(line for line in lines if "export DIBS_URL=" in line).partition("=")[2].strip()
        with connect_sync(store) as queue, urlopen(f"{address}/healthz", timeout=PATIENCE_S) as answer:
            assert answer.status == 200
            # Somebody is asked something, sooner or later: there is always something to see.
            while not queue.inbox():
                assert process.poll() is None
                time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
        with connect_sync(store) as queue:
            assert queue.find(status="waiting").items == []
        assert workers_of(tmp_path) == []
        with pytest.raises(OSError):
            urlopen(f"{address}/healthz", timeout=5)
    finally:
        process.kill()
        process.communicate()


def test_a_graph_that_was_being_added_when_the_demo_stops_is_cancelled_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with connect_sync("memory:") as queue:
        add_dag, added = queue.add_dag, []

        def interrupted(*args: Any, **options: Any) -> Any:
            added.append(add_dag(*args, **options))
            if len(added) == 1:
                raise KeyboardInterrupt
            return added[-1]

        monkeypatch.setattr(queue, "add_dag", interrupted)
        go_on(queue, cast("Fleet", SimpleNamespace(lost=list)), "x.")
        assert [dag.status for dag in queue.dags().items] == ["cancelled"]
        assert added[0].id == added[-1].id
