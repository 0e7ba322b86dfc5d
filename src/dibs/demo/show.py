"""The demo from curtain to curtain: submit the graph, start the agents, do the harm, watch, and check the outcome."""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from msgspec.json import encode

from dibs.demo import landing_page, ledger
from dibs.demo.fleet import Fleet
from dibs.demo.look import console, usd
from dibs.demo.scene import Happening, Scene, happening
from dibs.demo.serving import Server, go_on
from dibs.demo.summary import Summary, summarize
from dibs.demo.view import View, view_for_this_terminal
from dibs.errors import DibsError, Invalid
from dibs.model.status import DagStatus
from dibs.sync import connect_sync, drive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dibs.model.dag import Dag
    from dibs.model.event import Event
    from dibs.sync import SyncQueue

CAST = (
    ("maestro", "planning"),
    ("scout", "web-search"),
    ("pixel", "design"),
    ("coder-1", "code"),
    ("coder-2", "code"),
    ("shipper", "browser,deploy"),
)
UNDERSTUDY = ("coder-3", "code")
TICK_S = 0.1
PATIENCE_S = 90.0
DEADLY_PROGRESS = 0.6
INTERRUPTED = 130
_ENDED = (DagStatus.COMPLETED, DagStatus.FAILED, DagStatus.CANCELLED)


def run(argv: Sequence[str] | None = None) -> int:
    """Play the demo and answer its exit code. What it leaves is kept for looking around, unless it was interrupted."""
    options = _options(argv)
    folder = tempfile.mkdtemp(prefix="dibs-demo-")
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        code = _run(options, folder)
        if options.url and code == 0:
            # The tasks are elsewhere; a ledger and a log that agree with them are of no more use.
            shutil.rmtree(folder, ignore_errors=True)
        return code
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        sys.stderr.write("Interrupted; the agents were stopped.\n")
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)
        with suppress(OSError):  # what nothing was written to is of no use to anybody
            os.rmdir(folder)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="dibs demo", description="Watch a small fleet of agents build a landing page."
    )
    parser.add_argument("--url", help="play on this store instead of a fresh file; not memory:")
    parser.add_argument("--json", action="store_true", help="no view; the figures as JSON at the end")
    parser.add_argument("--serve", action="store_true", help="with the dashboard, until Ctrl-C")
    parser.add_argument("--pace", type=float, default=1.0, help="how long the pretended work takes; default 1")
    options = parser.parse_args(argv)
    if options.url and options.url.startswith("memory:"):
        raise Invalid("the demo's agents are separate processes: they cannot share a memory: store.", field="url")
    if options.serve and options.url and options.url.startswith(("http:", "https:")):
        raise Invalid("a server is there already, with its dashboard: leave out --serve.", field="serve")
    if options.serve and options.json:
        raise Invalid("--serve goes on until it is stopped: leave out --json.", field="serve")
    if not 0 <= options.pace <= 2:
        raise Invalid("pace must be between 0 and 2.", field="pace")
    return options


def _leave(*_: Any) -> None:
    raise KeyboardInterrupt


def _run(options: argparse.Namespace, folder: str) -> int:
    url = options.url or f"sqlite:{os.path.join(folder, 'demo.db')}"
    prefix = f"demo-{secrets.token_hex(3)}." if options.url else ""
    view = View() if options.json else view_for_this_terminal()
    with connect_sync(url) as queue, ExitStack() as served:
        server = served.enter_context(Server(queue.url, folder)) if options.serve else None
        if server is not None:
            _show_the_way(server)
        with Fleet(queue.url, folder=folder, pace=options.pace, prefix=prefix) as fleet:
            play = Play(queue, fleet, view, prefix)
            try:
                with view:
                    dag, seconds = play.run()
            except BaseException:
                if options.url:
                    # On a store of their own, people shall not find tasks that nobody will ever do.
                    queue.cancel(play.dag_id, reason="the demo was stopped")
                raise
            summary = summarize(queue, dag, ledger.read(fleet.ledger), planned=play.planned, seconds=seconds)
            if server is not None:
                _print(summary, play, log=fleet.log)
                _show_the_way(server, again=True)
                go_on(queue, fleet, prefix)
                return 1 if summary.problems else 0
    if options.json:
        sys.stdout.write(encode(summary).decode() + "\n")
    else:
        _print(summary, play, log=fleet.log)
    return 1 if summary.problems else 0


def _show_the_way(server: Server, *, again: bool = False) -> None:
    """Where the dashboard is; the link works once, so the second time it is only where."""
    said = f"The dashboard: {server.url}" if again or server.login is None else f"The dashboard: {server.login}"
    surface = console()
    surface.print(said, style="bold", soft_wrap=True)
    if again:
        surface.print("The agents go on working; Ctrl-C ends it.", soft_wrap=True)
    elif server.login is not None:
        surface.print("That link logs you in, once, within ten minutes.", soft_wrap=True)


class Play:
    """One performance: what is shown, and the harm that is done on cue."""

    def __init__(self, queue: SyncQueue, fleet: Fleet, view: View, prefix: str) -> None:
        self._queue = queue
        self._fleet = fleet
        self._view = view
        self._story: list[Happening] = []
        self._seen = drive(queue.queue.store.last_seq())
        self._begun = time.monotonic()
        self._begun_at = datetime.now(UTC)
        self._killed_at: float | None = None
        self._replaced = False
        self.rescue = ""
        tasks = landing_page.tasks(prefix)
        self.planned = len(tasks)
        self.dag_id = queue.add_dag(landing_page.TITLE, tasks, created_by=landing_page.ORCHESTRATOR).id
        self._tell(f"{landing_page.ORCHESTRATOR} submitted {self.planned} tasks in one commit", "cyan")

    def run(self) -> tuple[Dag, float]:
        """Play until the dag has ended; how it ended, and how long it took."""
        for name, can in CAST:
            self._fleet.start(name, can)
        self._tell(f"{len(CAST)} agents started, each a process of its own", "cyan")
        while True:
            dag = self._look()
            if dag.status in _ENDED:
                seconds = self._elapsed()
                return self._look(), seconds
            if lost := self._fleet.lost():
                raise DibsError(f"the agent {lost[0].name} stopped; {_last_words(self._fleet.log)}")
            if self._elapsed() > PATIENCE_S:
                raise DibsError(f"the demo is not done after {PATIENCE_S:g} s; see {self._fleet.log}")
            self._do_harm(dag)
            time.sleep(TICK_S)

    def _look(self) -> Dag:
        """Tell what happened since the last look. The graph is read last: so it has every task that events name."""
        events = self._news()
        dag = self._queue.get_dag(self.dag_id)
        for event in events:
            if event.dag_id == self.dag_id and (told := happening(event, dag, self._begun_at)):
                self._story.append(told)
        self._view.show(Scene(dag, self._fleet, self._elapsed(), self._story))
        return dag

    def _news(self) -> list[Event]:
        news: list[Event] = []
        while events := self._queue.read_events(self._seen):
            self._seen = events[-1].seq
            news += events
        return news

    def _do_harm(self, dag: Dag) -> None:
        """Kill the first agent of the doomed task in the middle of it; replace it when its lease has ended."""
        doomed = next(task for task in dag.tasks if task.ref == landing_page.DOOMED)
        if self._killed_at is None:
            if doomed.status == "running" and (doomed.progress or 0) >= DEADLY_PROGRESS and doomed.agent:
                member = self._fleet.kill(doomed.agent)
                self._killed_at = self._elapsed()
                self.rescue = member.name
                self._tell(f"kill -9 {member.pid}: {member.name} is dead in the middle of “{doomed.title}”", "bold red")
        elif doomed.crashes and not self._replaced:
            self._replaced = True
            self._fleet.start(*UNDERSTUDY)
            self._tell(f"{UNDERSTUDY[0]} started in its place", "cyan")

    def _tell(self, text: str, style: str) -> None:
        self._story.append(Happening(self._elapsed(), text, style))

    def _elapsed(self) -> float:
        return time.monotonic() - self._begun


def _last_words(log: str) -> str:
    """The end of the agents' log, for an error message."""
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = file.read().strip().splitlines()
    return f"its last words: {lines[-1]}" if lines else f"see {log}"


def _print(summary: Summary, play: Play, *, log: str) -> None:
    surface = console()

    def say(text: str = "", style: str = "") -> None:
        surface.print(text, style=style or None, soft_wrap=True)

    say()
    if summary.problems:
        say(f"✗ The demo did not come out right after {summary.seconds:.1f} s:", "bold red")
        for problem in summary.problems:
            say(f"  {problem}")
        say(f"  The agents' log: {log}")
    else:
        say(f"✓ {summary.title}: in production after {summary.seconds:.1f} s", "bold green")
    for name, figure in (
        ("tasks", f"{summary.tasks} ({summary.tasks - summary.spawned} planned, {summary.spawned} spawned on the way)"),
        ("attempts", f"{summary.attempts}"),
        ("crashes", f"{summary.crashes} survived ({play.rescue} was killed; its finished step was not run again)"),
        ("retries", f"{summary.retries} after failures"),
        ("cost", f"{usd(summary.cost_usd)} reported, {summary.tokens:,} tokens (pretended)"),
    ):
        say(f"  {name:<10}{figure}")
    if not summary.problems:
        once = f"all {summary.tasks} tasks finished exactly once, counted outside the store"
        say(f"  {'checked':<10}{once}")
    say()
    say("Look around in what it left, then start your own:", "bold")
    dibs = _command()
    say(f"  export DIBS_URL={summary.url}")
    say(f"  {dibs} tree {summary.dag_id}")
    say(f"  {dibs} ls")
    say(f"  {dibs} tail --no-follow")
    say(f"  {dibs} up            # the dashboard on it; or all of this with it: {dibs} demo --serve")
    say(f'  unset DIBS_URL; {dibs} add research "What is CORS?"')


def _command() -> str:
    """What to type to reach this dibs: `make demo` runs one that is not on the path."""
    installed = os.path.join(os.path.dirname(sys.executable), "dibs")
    if shutil.which("dibs") or not os.path.exists(installed):
        return "dibs"
    return min(installed, os.path.relpath(installed), key=len)
