"""Where a peer is measured: a database of its own, a folder for what its processes leave, and its commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.children import environment, running, wait_until
from benchmarks.hits import Hits
from benchmarks.peers.peer import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benchmarks.bench import Bench
    from benchmarks.children import Child
    from benchmarks.contest.server import Server
    from benchmarks.contest.sizes import Sizes
    from benchmarks.environments import Environment
    from benchmarks.peers.peer import Peer

COMMAND_LIMIT_S = 900.0
READY_LIMIT_S = 60.0
QUIET_S = 0.3
"""From the last worker's being ready to the opening of the gate."""
ERROR_NAMED = re.compile(r"[\w.]*(error|exception)\w*:", re.IGNORECASE)
IN_MEMORY = Path("/dev/shm")


class Unable(Exception):
    """It turned out that a peer cannot do a measure; says why."""


@dataclass(frozen=True)
class Contestant:
    """A peer that can be run: its environment is there."""

    peer: Peer
    environment: Environment

    @property
    def name(self) -> str:
        return self.peer.name

    @property
    def is_dibs(self) -> bool:
        return self.peer.script == "dibs_peer.py"


@dataclass(frozen=True)
class Contest:
    """What all contestants share: one server, one set of sizes."""

    bench: Bench[Sizes]
    server: Server

    @property
    def sizes(self) -> Sizes:
        return self.bench.sizes

    @contextmanager
    def stage(
        self, contestant: Contestant, settings: Mapping[str, Any] | None = None, *, suffix: str = ""
    ) -> Iterator[Stage]:
        """A fresh database with the contestant's schema."""
        if contestant.peer.server > self.server.version:
            raise Unable("needs a server of version {}.{}".format(*contestant.peer.server))
        url = self.server.fresh(suffix)
        parent = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else self.bench.folder
        folder = Path(tempfile.mkdtemp(prefix="dibs-bench-", dir=parent))
        try:
            stage = Stage(self.server, contestant, url, folder, dict(settings or {}))
            stage.command("install")
            yield stage
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class Stage:
    """One contestant on one database."""

    def __init__(
        self, server: Server, contestant: Contestant, url: str, folder: Path, settings: dict[str, Any]
    ) -> None:
        self.server = server
        self.peer = contestant.peer
        self.url = url
        self.folder = folder
        self.hits = Hits(folder / "hits")
        self._runs = contestant.environment.runs
        self._variables = {**dict(contestant.environment.variables), **self.peer.variables}
        self._settings = {**self.peer.settings, **settings}

    def command(self, *words: object) -> dict[str, Any]:
        """Run one of the script's commands to its end; what it answered."""
        answer = self.folder / "answer.json"
        answer.unlink(missing_ok=True)
        done = subprocess.run(
            self._argv(*words),
            cwd=self.folder,
            env=environment(self._environment()),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMMAND_LIMIT_S,
        )
        if done.returncode:
            raise RuntimeError(f"`{words[0]}` ended with {done.returncode}: {last_line(done.stderr or done.stdout)}")
        found: dict[str, Any] = json.loads(answer.read_text()) if answer.exists() else {}
        return found

    def load(self, count: int, lanes: int = 1) -> None:
        self.command("load", count, lanes)

    def tidy(self) -> None:
        """What was loaded is written and at rest; what earlier processes left in the folder is gone."""
        self.server.tidy(self.url)
        self.sweep()

    def sweep(self) -> None:
        for name in ("hits", "go", "ready.*", "produced.*"):
            for path in self.folder.glob(name):
                path.unlink()

    @contextmanager
    def workers(self, count: int = 1, *, hang: bool = False, **settings: Any) -> Iterator[list[Child]]:
        """Worker processes that all begin at the same moment, and are killed at the end of the block."""
        with ExitStack() as stack:
            children = [stack.enter_context(self.process("work", hang=hang, **settings)) for _ in range(count)]
            self.open_gate(children)
            yield children

    @contextmanager
    def process(self, *words: object, hang: bool = False, **settings: Any) -> Iterator[Child]:
        """A process that runs until it is killed."""
        extra = self._environment(settings) | ({"BENCH_HANG": "1"} if hang else {})
        with running(self._argv(*words), self.folder, extra, grace_s=0) as child:
            yield child

    def open_gate(self, children: list[Child]) -> None:
        """Wait until all have come as far as the gate, then let them in."""

        def all_ready() -> bool:
            return all((self.folder / f"ready.{child.pid}").exists() for child in children)

        wait_until(all_ready, what="the processes to be ready", timeout_s=READY_LIMIT_S, alive=children)
        time.sleep(QUIET_S)
        (self.folder / "go").touch()

    def await_hits(self, count: int, children: list[Child], limit_s: float) -> None:
        what = f"{count:,} handler starts"
        try:
            wait_until(lambda: self.hits.count() >= count, what=what, timeout_s=limit_s, alive=children)
        except TimeoutError as error:
            raise TimeoutError(f"{error}; there were {self.hits.count():,}") from error

    def await_outcomes(self, children: list[Child]) -> float:
        """The instant at which the store itself has nothing left that waits or runs."""
        with self.server.watching(self.url, self.peer) as unfinished:
            wait_until(
                lambda: not unfinished(),
                what="the outcomes",
                timeout_s=self.peer.stall_s,
                alive=children,
                every_s=0.003,
            )
            return time.time()

    def release(self) -> None:
        """Give back what killed workers still hold."""
        self.server.release(self.url, self.peer)

    def _argv(self, *words: object) -> list[str]:
        return [*self._runs, str(SCRIPTS / self.peer.script), *map(str, words)]

    def _environment(self, settings: Mapping[str, Any] | None = None) -> dict[str, str]:
        return {
            **self._variables,
            "BENCH_URL": self.url,
            "BENCH_FOLDER": str(self.folder),
            "BENCH_SETTINGS": json.dumps({**self._settings, **(settings or {})}),
        }


def last_line(text: str) -> str:
    """The last line that names an error, else the last one."""
    # In a group of errors each line begins with a bar.
    lines = [line.strip(" |") for line in text.splitlines() if line.strip(" |")] or ["no output"]
    naming = [line for line in lines if ERROR_NAMED.match(line)]
    return (naming or lines)[-1][:300]
