"""The demo's processes: started here, and ended by their own id whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from dibs.demo import agents

if TYPE_CHECKING:
    from types import TracebackType

LEASE_S = 2.0
PATIENCE_S = 3.0


class Member:
    """One agent: its name, what it can do, and the process it is."""

    def __init__(self, name: str, can: str, process: subprocess.Popen[bytes]) -> None:
        self.name = name
        self.can = can
        self.process = process
        self.killed = False

    @property
    def pid(self) -> int:
        return self.process.pid


class Fleet:
    """All agents of one demo, each an ordinary `dibs worker`. Leaving the `with` block ends every one."""

    def __init__(self, url: str, *, folder: str, pace: float, prefix: str) -> None:
        self.members: dict[str, Member] = {}
        self.ledger = os.path.join(folder, "ledger.tsv")
        self.log = os.path.join(folder, "agents.log")
        self._harm = os.path.join(folder, "harm-was-done")
        self._environment = os.environ | {
            # Not as an argument, which everybody on this machine could read: it may contain a password.
            "DIBS_URL": url,
            agents.LEDGER: self.ledger,
            agents.HARM: self._harm,
            agents.PACE: str(pace),
            agents.PREFIX: prefix,
            agents.STAGE: str(os.getpid()),
        }

    def start(self, name: str, can: str) -> Member:
        """Start one more agent. Its own session keeps the terminal's Ctrl-C from reaching it before us."""
        command = [
            *(sys.executable, "-m", "dibs.cli", "worker", "dibs.demo.agents:app"),
            *("--agent", name, "--can", can, "--lease", f"{LEASE_S:g}s", "--concurrency", "1"),
        ]
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        member = self.members[name] = Member(name, can, process)
        return member

    def kill(self, name: str) -> Member:
        """`kill -9`: it gets no chance to say goodbye. Whoever does its work next need not wait for the same."""
        member = self.members[name]
        member.process.send_signal(signal.SIGKILL)
        member.process.wait()
        with open(self._harm, "w", encoding="utf-8") as file:
            file.write(name)
        member.killed = True
        return member

    def lost(self) -> list[Member]:
        """Agents that ended although nobody killed them: something is wrong."""
        return [each for each in self.members.values() if not each.killed and each.process.poll() is not None]

    def stop(self) -> None:
        """Ask every agent to leave, then insist."""
        alive = [each.process for each in self.members.values() if each.process.poll() is None]
        for process in alive:
            process.terminate()
        deadline = time.monotonic() + PATIENCE_S
        for process in alive:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
