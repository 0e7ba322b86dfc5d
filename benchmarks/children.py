"""Processes that a measure starts. Each is a group of its own, has a log, and is ended by its id."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

ROOT = Path(__file__).resolve().parent.parent
GRACE_S = 5.0


class Ended(RuntimeError):
    """A process that was needed has ended by itself; says how, with the end of its log."""


class Child:
    """A running process and the file it writes to."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, grace_s: float) -> None:
        self.process = process
        self.log = log
        self.grace_s = grace_s

    @property
    def pid(self) -> int:
        return self.process.pid

    def check(self) -> None:
        """Raise if it has ended by itself, with the end of its log."""
        code = self.process.poll()
        if code is not None:
            tail = self.log.read_text(errors="replace").strip()[-2_000:] or "it said nothing"
            raise Ended(f"{self.process.args!r} ended with {code}:\n{tail}")

    def end(self) -> None:
        """Ask it to leave, then end its group."""
        if self.grace_s and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(self.grace_s)
            except subprocess.TimeoutExpired:
                pass
        self.kill()

    def kill(self) -> None:
        """End its group at once, as a crash would."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment, with `benchmarks` importable and nobody's own queue in reach."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("DIBS_")}
    # An installed command has its bytecode; one that must compile itself at every start measures the compiler.
    inherited.pop("PYTHONDONTWRITEBYTECODE", None)
    inherited_paths = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    paths = [str(ROOT), *map(os.path.abspath, inherited_paths)]
    return {**inherited, "PYTHONPATH": os.pathsep.join(paths), **(extra or {})}


def python(*arguments: str) -> list[str]:
    return [sys.executable, *arguments]


def dibs(*arguments: str) -> list[str]:
    """The `dibs` command of this environment."""
    script = Path(sys.executable).with_name("dibs")
    return [str(script), *arguments] if script.exists() else python("-m", "dibs.cli", *arguments)


@contextmanager
def running(
    argv: Sequence[str], folder: Path, extra: Mapping[str, str] | None = None, *, grace_s: float = GRACE_S
) -> Iterator[Child]:
    """Start a process; it and all that it started have ended when the block is left.

    It is asked first and has `grace_s` to leave; with 0 it is killed.
    """
    log = folder / f"{time.monotonic_ns()}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            argv,
            cwd=folder,
            env=environment(extra),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    child = Child(process, log, grace_s)
    try:
        yield child
    finally:
        child.end()


def wait_until(
    fact: Callable[[], bool],
    *,
    what: str,
    timeout_s: float,
    alive: Sequence[Child] = (),
    every_s: float = 0.01,
) -> None:
    """Return once `fact()` is true; raise when it is not in time or a process that it needs has died."""
    deadline = time.monotonic() + timeout_s
    while not fact():
        for child in alive:
            child.check()
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s:.0f} s for {what}")
        time.sleep(every_s)
