"""Commands of the shell, and processes that are spoken with: forked, since everything is imported here."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tests.doors import command as shell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.compare.program import Scene

LIMIT_S = 30.0


class Ran(shell.Ran):
    """How a command ended, and what it printed."""

    @property
    def seen(self) -> dict[str, object]:
        """What a program notes of it; lines of JSON as what they say."""
        return {"exit": self.code, "out": _lines(self.out), "err": _lines(self.err)}


def _lines(text: str) -> list[object]:
    found: list[object] = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line) if line[:1] in "[{" else line)
        except ValueError:
            found.append(line)
    return found


class Server(NamedTuple):
    """Where a server is, and the token of its admin."""

    url: str
    token: str


def command(scene: Scene, *argv: object, stdin: bytes = b"") -> Ran:
    """Run `dibs` with these arguments on the program's store, in this process, which is the program's own."""
    os.environ["DIBS_URL"] = scene.url
    return Ran(*shell.run([str(each) for each in argv], stdin))


def apart(scene: Scene, *argv: object) -> Ran:
    """Run a command that needs a process of its own: it has children, or waits for signals."""
    folder = scene.folder.parent
    given, said, told = (folder / name for name in ("stdin", "stdout", "stderr"))
    given.touch()
    child = _forked([str(each) for each in argv], given, said, told, {"DIBS_URL": scene.url})
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            code = os.waitstatus_to_exitcode(status)
            return Ran(code, said.read_text(errors="replace"), told.read_text(errors="replace"))
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return Ran(-1, said.read_text(errors="replace"), f"it did not end within {LIMIT_S:.0f} s")


@contextmanager
def server(store_url: str, folder: Path) -> Iterator[Server]:
    """A server on a store, as `dibs up` starts it, until the block ends."""
    given, said, told = (folder / f"server-{name}" for name in ("stdin", "stdout", "stderr"))
    given.touch()
    child = _forked(["up", "--port", "0", "--json", "--url", store_url], given, said, told, {})
    try:
        until = time.monotonic() + LIMIT_S
        while not (said.exists() and said.read_text().endswith("\n")):
            if time.monotonic() > until or os.waitpid(child, os.WNOHANG)[0]:
                raise RuntimeError(f"the server did not start: {told.read_text()}")
            time.sleep(0.002)
        where = json.loads(said.read_text().splitlines()[0])
        yield Server(where["url"], where["token"])
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


class Conversation:
    """A command that is spoken with in lines of JSON, such as `dibs mcp`."""

    def __init__(self, scene: Scene, *argv: str) -> None:
        theirs, self._to = os.pipe()
        self._from, ours = os.pipe()
        told = os.open(scene.folder.parent / "conversation-stderr", os.O_WRONLY | os.O_CREAT, 0o600)
        self._child = os.fork()
        if self._child == 0:
            os.close(self._to)
            os.close(self._from)
            _become(list(argv), theirs, ours, told, {"DIBS_URL": scene.url})
        for handle in (theirs, ours, told):
            os.close(handle)
        self._rest = b""

    def say(self, message: object) -> None:
        """Send one line."""
        os.write(self._to, json.dumps(message).encode() + b"\n")

    def hear(self) -> dict[str, object]:
        """Return the next line; an empty one at the end."""
        until = time.monotonic() + LIMIT_S
        while b"\n" not in self._rest:
            if not select.select([self._from], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("nothing was answered")
            more = os.read(self._from, 65_536)
            if not more:
                return {}
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, object] = json.loads(line)
        return found

    def end(self) -> int:
        """Close its input and return its exit code."""
        os.close(self._to)
        _, status = os.waitpid(self._child, 0)
        os.close(self._from)
        return os.waitstatus_to_exitcode(status)


def _forked(argv: list[str], given: Path, said: Path, told: Path, env: Mapping[str, str]) -> int:
    child = os.fork()
    if child == 0:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        _become(argv, os.open(given, os.O_RDONLY), os.open(said, flags, 0o600), os.open(told, flags, 0o600), env)
    return child


def _become(argv: list[str], stdin: int, stdout: int, stderr: int, env: Mapping[str, str]) -> NoReturn:
    """Be `dibs` with these arguments, to the end."""
    code = 1
    try:
        for target, handle in enumerate((stdin, stdout, stderr)):
            os.dup2(handle, target)
        os.closerange(3, 256)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, "w" if n else "r", encoding="utf-8") for n in range(3))
        os.environ |= env
        sys.argv = ["dibs", *argv]
        from dibs.cli import main

        code = main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                pass
        os._exit(code)
