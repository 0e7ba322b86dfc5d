"""Commands as processes of their own that begin at once: forked from a process that has imported what they need.

An interpreter that starts takes half a second, one that imports a server several; a fork some milliseconds. What is
forked is a process like any other: it has its own environment, folder and streams, is signalled, stopped and killed.
Tests of how `dibs` starts start it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
from multiprocessing import reduction
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

WARM = multiprocessing.get_context("forkserver")
WARM.set_forkserver_preload(["pytest", "tests.servers.warming"])


class Command:
    """`dibs` with these arguments, in a process of its own; to be used as `subprocess.Popen` is.

    Without streams it gets pipes for what it prints, and nothing to read.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
        streams: tuple[int, int, int] | None = None,
        new_session: bool = False,
    ) -> None:
        given: list[int] = []
        self.stdout: TextIO | None = None
        self.stderr: TextIO | None = None
        if streams is None:
            out, said = os.pipe()
            err, told = os.pipe()
            self.stdout, self.stderr = os.fdopen(out, encoding="utf-8"), os.fdopen(err, encoding="utf-8")
            given = [os.open(os.devnull, os.O_RDONLY), said, told]
        self._process = WARM.Process(
            target=_become,
            args=(
                list(argv),
                dict(os.environ if env is None else env),
                str(cwd or os.getcwd()),
                [_Stream(fd) for fd in streams or given],
                new_session,
            ),
        )
        try:
            self._process.start()
        finally:
            for fd in given:
                os.close(fd)
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """How it ended; None while it runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """How it ended, once it has."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("dibs", timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Nothing, where it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _Stream:
    """A file descriptor on its way to the process."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __reduce__(self) -> tuple[Callable[[Any], _Stream], tuple[Any]]:
        return _arrived, (reduction.DupFd(self.fd),)


def _arrived(sent: Any) -> _Stream:
    return _Stream(sent.detach())


def _become(
    argv: list[str], environment: dict[str, str], folder: str, streams: list[_Stream], new_session: bool
) -> None:
    if new_session:
        os.setsid()
    for target, stream in enumerate(streams):
        os.dup2(stream.fd, target)
        os.close(stream.fd)
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = open(0, encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=encoding, closefd=False, buffering=1 if os.isatty(1) else -1)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding=encoding, errors="backslashreplace", closefd=False, buffering=1)  # noqa: SIM115
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.argv = ["dibs", *argv]
    settle(environment)
    from dibs.cli import main

    sys.exit(main())


def settle(environment: Mapping[str, str]) -> None:
    """Go on in this environment."""
    os.environ.clear()
    os.environ.update(environment)
    assert threading.active_count() == 1, "a thread of the parent would be missing here"


def run(
    argv: Sequence[str],
    *,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    cwd: Path | str | None = None,
    timeout: float = 100,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, as `subprocess.run` does; what it reads and prints are files."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as told:
        given.write(stdin)
        given.seek(0)
        command = Command(argv, env=env, cwd=cwd, streams=(given.fileno(), said.fileno(), told.fileno()))
        try:
            code = command.wait(timeout)
        finally:
            command.kill()
        said.seek(0)
        told.seek(0)
        return subprocess.CompletedProcess(list(argv), code, said.read().decode(), told.read().decode())
