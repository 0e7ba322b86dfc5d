"""`dibs(...)` runs a command inside the test's process, `shell(...)` as a process, `terminal(...)` on a pty."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import pytest

from dibs.cli import main
from tests.servers import warm

if TYPE_CHECKING:
    from pathlib import Path

COMMAND = [sys.executable, "-m", "dibs.cli"]


class Result(NamedTuple):
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, read as one JSON value."""
        return msgspec.json.decode(self.out)

    @property
    def error(self) -> Any:
        """Standard error, read as one JSON value."""
        return msgspec.json.decode(self.err)

    @property
    def line(self) -> str:
        """The one line that was printed."""
        [line] = self.out.splitlines()
        return line


Run = Callable[..., Result]


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store of its own for each test; what processes see as `$DIBS_URL`."""
    where = f"sqlite:{tmp_path / 'work.db'}"
    monkeypatch.setenv("DIBS_URL", where)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    return where


@pytest.fixture
def dibs(url: str, capfd: pytest.CaptureFixture[str]) -> Run:
    def run(*argv: object, ok: bool = False) -> Result:
        capfd.readouterr()
        code = main([str(argument) for argument in argv])
        captured = capfd.readouterr()
        assert not ok or code == 0, captured.err
        return Result(code, captured.out, captured.err)

    return run


@pytest.fixture
def shell(url: str) -> Run:
    def run(*argv: object, stdin: bytes = b"") -> Result:
        done = warm.run([str(argument) for argument in argv], stdin=stdin)
        return Result(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def terminal(url: str) -> Run:
    """On a pty; `keys` are typed once something was drawn. Standard error goes to the screen too."""

    def run(
        *argv: object, keys: bytes = b"", env: dict[str, str] | None = None, rows: int = 40, columns: int = 120
    ) -> Result:
        # Not pty.fork: forking a process that has threads, as pytest-xdist does, may deadlock.
        screen, inside = pty.openpty()
        process = warm.Command(
            [str(argument) for argument in argv],
            env={**os.environ, **(env or {}), "COLUMNS": str(columns), "LINES": str(rows)},
            streams=(inside, inside, inside),
            new_session=True,
        )
        os.close(inside)
        try:
            shown = _watch(screen, keys)
            return Result(process.wait(60), shown.decode(), "")
        finally:
            process.kill()
            process.wait()
            os.close(screen)

    return run


def _watch(screen: int, keys: bytes) -> bytes:
    shown = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([screen], [], [], 0.1)[0]:
            continue
        try:
            seen = os.read(screen, 65536)
        except OSError:  # Linux answers this when the other side of a pty is gone
            return shown
        if not seen:
            return shown
        shown += seen
        if keys:
            os.write(screen, keys)
            keys = b""
    raise AssertionError(f"the command did not end; it showed {shown!r}")


@pytest.fixture
def snapshot(dibs: Run) -> Callable[[], Any]:
    """Everything there is, to show that nothing has changed."""

    def take() -> Any:
        tasks = dibs("ls", "--json", ok=True).json["items"]
        for task in tasks:
            # This changes by itself, with age.
            del task["effective_priority"]
        return tasks, dibs("tail", "--no-follow", "--json", ok=True).out

    return take
