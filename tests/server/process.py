"""`dibs up` as a process of its own, on a free port of loopback."""

from __future__ import annotations

import http.client
import json
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.servers import warm

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence
    from pathlib import Path

COMMAND = [sys.executable, "-m", "dibs.cli"]
PATIENCE_S = 60.0


class Answer(NamedTuple):
    """What a server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Up:
    """A server process: what it printed, and how to ask it."""

    def __init__(self, home: Path, url: str, *options: str, port: int = 0) -> None:
        self.home = home
        self.env = environment(home)
        argv = ["up", "--url", url, "--port", str(port), "--json", *options]
        self.process = warm.Command(argv, env=self.env, cwd=home)
        assert self.process.stderr is not None
        self.logged: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        line = self._first_line()
        self.started: dict[str, str] = json.loads(line)
        self.url = self.started["url"]
        self.port = int(self.url.rpartition(":")[2])
        self.token = self.started.get("token")

    def _first_line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"it ended with {self.process.wait(PATIENCE_S)}: {self.log}"
        return line

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.logged.extend(self.process.stderr)

    @property
    def log(self) -> str:
        return "".join(self.logged)

    def ask(self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str) -> Answer:
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        if body is not None:
            sent["Content-Type"] = "application/json"
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def shell(
        self, *argv: str, token: str | None = None, program: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """One command of the shell, of the same user, told nothing but where the server is. `program`: what stands
        after `--`."""
        env = self.env if token is None else {**self.env, "DIBS_TOKEN": token}
        command = [*argv, "--url", self.url, *(("--", *program) if program else ())]
        return warm.run(command, env=env, cwd=self.home)

    def until_ready(self) -> None:
        """Wait until it says that it is."""
        end = time.monotonic() + PATIENCE_S
        while (answer := self.ask("GET", "/readyz")).status != 200:
            assert time.monotonic() < end, answer.body
            time.sleep(0.02)

    def until_logged(self, text: str) -> None:
        """Wait until it has said this."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.log:
            assert time.monotonic() < end, self.log
            time.sleep(0.01)

    def signal(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def wait(self) -> int:
        """Its exit code, once it has ended."""
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return code


def environment(home: Path) -> dict[str, str]:
    """That of a user with nothing but this folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DIBS_", "OTEL_", "TRACE"))}
    path = os.pathsep.join(filter(None, sys.path))
    return {**kept, "XDG_CONFIG_HOME": str(home / "config"), "HOME": str(home), "PYTHONPATH": path}


def until(fact: Any, patience_s: float = PATIENCE_S) -> Any:
    """What the fact is, once it is one."""
    end = time.monotonic() + patience_s
    while not (found := fact()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


@contextmanager
def up(home: Path, url: str, *options: str, port: int = 0) -> Iterator[Up]:
    """A server for as long as the block lasts; it is killed at its end, if it still runs."""
    server = Up(home, url, *options, port=port)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
        server.process.wait()
        assert server.process.stdout is not None
        assert server.process.stderr is not None
        server._reader.join(PATIENCE_S)
        server.process.stdout.close()
        server.process.stderr.close()
