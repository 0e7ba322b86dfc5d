"""Opening a server: finding the one that has the keys, refusing what would lose tasks, saying what a crash can lose.

What a server says of itself is read in one go and judged apart, so that each judgement can be tested by itself.
Managed servers forbid some of the questions; what cannot be known is a warning, never a reason to refuse.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import redis
from redis import exceptions
from redis.backoff import NoBackoff
from redis.connection import Connection, ConnectionPool, SSLConnection
from redis.retry import Retry

from dibs.errors import DibsError, Unavailable
from dibs.stores.redis import trouble

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.stores.redis.address import Address

OLDEST = (6, 2)
"""The oldest version of Redis that will do."""

OLDEST_ON_DISK = (7, 2)
"""The oldest version that can say when a write is on disk."""

LAYOUT = 1
"""The version of the keys' layout that this dibs writes."""

MOST_MOVES = 5
"""How many nodes of a cluster may send us on before something must be wrong."""

_SETTINGS = ("appendfsync", "maxmemory-policy", "no-appendfsync-on-rewrite", "save")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a server says of itself. What it may not say is None or missing."""

    name: str = "Redis"
    version: tuple[int, ...] | None = None
    is_cluster: bool = False
    is_replica: bool = False
    facts: dict[str, Any] = field(default_factory=dict)
    """The answer to INFO; empty if there was none."""
    settings: dict[str, str] = field(default_factory=dict)
    """From redis.conf, those that were told."""
    layout: int | None = None
    """The version of the keys' layout; None: the namespace is empty."""

    @property
    def policy(self) -> str | None:
        """What it does when its memory is full; None: it does not say."""
        found = self.facts.get("maxmemory_policy") or self.settings.get("maxmemory-policy")
        return None if found is None else str(found)

    @property
    def keeps_a_log(self) -> bool | None:
        """Whether it writes each change to a file (appendonly); None: it does not say."""
        found = self.facts.get("aof_enabled")
        return None if found is None else bool(found)


@dataclass(frozen=True, slots=True)
class Opened:
    """A server that will do."""

    client: redis.Redis
    host: tuple[str, int]
    seen: Seen
    warnings: tuple[str, ...]
    """What can be lost there, a sentence each."""


def connection_options(address: Address) -> dict[str, Any]:
    """What the driver needs to know to connect, besides host and port.

    It is to repeat nothing by itself: it cannot know whether a script that was sent has run.
    """
    options: dict[str, Any] = {
        "db": address.database,
        "username": address.user,
        "password": address.password,
        "socket_connect_timeout": address.connect_timeout_s,
        "retry": Retry(NoBackoff(), 0),
        # Neither a newer protocol nor the driver's name is worth more round trips at each connection.
        "protocol": 2,
        **({"driver_info": None} if redis.VERSION >= (7, 2) else {"lib_name": None, "lib_version": None}),
    }
    return options | (address.tls or {})


def opened(address: Address, *, meta: str, layout: int = LAYOUT) -> Opened:
    """Connect to the server that has the keys of this namespace, and check that it will do.

    Of several hosts the first that is there and can be written to is taken; in a cluster, the node that owns the keys.
    `meta` is the hash whose field `layout` says how the keys are laid out. Raises Unavailable, and changes nothing.
    """
    first: DibsError | None = None
    for host in address.hosts:
        try:
            return _opened_at(host, address, meta, layout)
        except Unavailable as error:
            # Of what several servers say, the first is told: it is the one that should have done.
            first = first or error
    assert first is not None
    raise first


def _opened_at(host: tuple[str, int], address: Address, meta: str, layout: int) -> Opened:
    for _ in range(MOST_MOVES):
        client = _client(host, address)
        try:
            seen = look(client, address, meta)
            check(seen, address, layout)
        except Exception as error:
            client.close()
            if owner := trouble.moved_to(error):
                host = (owner[0] or host[0], owner[1])
                continue
            failure = trouble.told(error, address)
            raise failure from failure.__cause__
        else:
            return Opened(client, host, seen, tuple(warnings(seen, address)))
    raise Unavailable(
        f"The nodes of the cluster at {address.place} send us from one to the other: wait until they agree on who has"
        " the keys, and try again."
    )


class _Fresh(ConnectionPool):
    """Each connection is used as it was opened. The driver's own pool refuses one on which anything has arrived, and
    over TLS a server sends tickets at once."""

    def get_connection(self, *_: Any, **__: Any) -> Any:
        connection: Any = self.make_connection()
        connection.connect()
        return connection

    def release(self, connection: Any) -> None:
        connection.disconnect()


def _client(host: tuple[str, int], address: Address) -> redis.Redis:
    options: dict[str, Any] = {"host": host[0], "port": host[1], "socket_timeout": address.connect_timeout_s}
    pool = _Fresh(connection_class=_kind(address), **options, **connection_options(address))
    return redis.Redis(connection_pool=pool)


def connection(host: tuple[str, int], address: Address, answer_s: float) -> Any:
    """A connection that is not open yet, whose answers may take so long."""
    return _kind(address)(host=host[0], port=host[1], socket_timeout=answer_s, **connection_options(address))


def _kind(address: Address) -> type[Connection]:
    return Connection if address.tls is None else SSLConnection


def look_at(host: tuple[str, int], address: Address, meta: str) -> Seen:
    """Ask the server there about itself. Raises Unavailable only if it cannot be asked."""
    with _client(host, address) as client:
        try:
            return look(client, address, meta)
        except Exception as error:
            failure = trouble.told(error, address)
            raise failure from failure.__cause__


def look(client: redis.Redis, address: Address, meta: str) -> Seen:
    """Ask a server about itself, in one round trip. Raises what the driver raises, if the tasks cannot be read."""
    asked: Any = client.pipeline(transaction=False)
    asked.execute_command("HELLO")
    asked.info()
    for name in _SETTINGS:
        asked.config_get(name)
    asked.hget(meta, "layout")
    hello, facts, *settings, layout = asked.execute(raise_on_error=False)
    said = _pairs(hello)
    if said.get("mode") == "sentinel":
        raise Unavailable(
            f"What is at {address.place} is a Sentinel, which keeps no tasks: connect to the servers that it watches,"
            " all of them named in the URL, as in redis://a:6379,b:6379/0."
        )
    if isinstance(layout, Exception):
        raise layout
    told: dict[str, Any] = facts if isinstance(facts, dict) else {}
    name, version = _version(
        said, told, is_ancient=isinstance(hello, Exception) and trouble.word_of(hello) == "UNKNOWN"
    )
    return Seen(
        name=name,
        version=version,
        is_cluster="cluster" in (said.get("mode"), told.get("redis_mode"), told.get("server_mode")),
        is_replica=said.get("role") == "replica" or told.get("role") == "slave",
        facts=told,
        settings={key: value for answer in settings if isinstance(answer, dict) for key, value in _texts(answer)},
        layout=_layout(layout, address),
    )


def _layout(found: bytes | str | None, address: Address) -> int | None:
    if found is None:
        return None
    if not found.isdigit():
        raise Unavailable(
            f"The namespace {address.namespace} of Redis at {address.place} holds keys that are not from dibs: name"
            " another one in the URL, such as ?namespace=dibs_tasks."
        )
    return int(found)


def check(seen: Seen, address: Address, layout: int = LAYOUT) -> None:
    """Refuse what cannot be used."""
    for reason in reasons_against(seen, address, layout):
        # Of a replica that may become the primary in a moment, one can tell as if it had refused to be written to.
        raise Unavailable(reason) from exceptions.ReadOnlyError() if seen.is_replica else None


def reasons_against(seen: Seen, address: Address, layout: int = LAYOUT) -> Iterable[str]:
    """Why this server will not do, a sentence each."""
    there = f"{seen.name} at {address.place}"
    if seen.version is not None and seen.version < OLDEST and seen.name == "Redis":
        yield (
            f"dibs needs Redis 6.2 or newer, or Valkey; the one at {address.place} is {_dotted(seen.version)}:"
            " upgrade it, or connect to another one."
        )
    if seen.is_replica:
        yield (
            f"{there} is a replica, which cannot be written to: connect to the primary, or name all servers in the"
            " URL, as in redis://a:6379,b:6379/0."
        )
    if seen.policy not in (None, "noeviction"):
        yield (
            f"{there} throws keys away when its memory is full (maxmemory-policy {seen.policy}), and tasks with them:"
            " set maxmemory-policy to noeviction, or connect to another server."
        )
    if seen.layout is not None and seen.layout > layout:
        yield (
            f"The namespace {address.namespace} of {there} was written by a newer dibs (layout {seen.layout}; this one"
            f" knows {layout}): upgrade dibs."
        )
    if address.on_disk and seen.version is not None and seen.version < OLDEST_ON_DISK:
        yield (
            f"{there} cannot say when a write is on its disk, which aof=on asks for: upgrade it to Redis 7.2 or newer,"
            " or leave aof out of the URL and set appendfsync to always."
        )
    elif address.on_disk and seen.keeps_a_log is False:
        yield (
            f"{there} writes no log (appendonly no), so aof=on would wait in vain: set appendonly to yes, or leave aof"
            " out of the URL."
        )
    connected = seen.facts.get("connected_slaves")
    if connected is not None and connected < address.replicas:
        yield (
            f"{there} has {_replicas(connected)}, and wait={address.replicas} asks for {address.replicas}: connect"
            " more, or lower wait in the URL."
        )


def warnings(seen: Seen, address: Address) -> list[str]:
    """What can be lost there, a sentence each, with what to do about it."""
    there = f"{seen.name} at {address.place}"
    said = []
    if seen.policy is None:
        said.append(
            f"{there} does not say whether it throws keys away when its memory is full: make sure that its"
            " maxmemory-policy is noeviction, or tasks can vanish."
        )
    lost = _lost_by_a_crash(seen, there)
    if lost is not None and not address.on_disk:
        said.append(lost)
    connected = seen.facts.get("connected_slaves", 0)
    if connected and not address.replicas:
        said.append(
            f"{there} has {_replicas(connected)}, to which writes go only after they were answered: when one takes"
            " over, the last of them can be lost, usually less than a second's; add wait=1 to the URL to wait for one."
        )
    return said


def _lost_by_a_crash(seen: Seen, there: str) -> str | None:
    every, points = seen.settings.get("appendfsync"), seen.settings.get("save")
    if seen.keeps_a_log is None or (seen.keeps_a_log and every is None):
        return (
            f"{there} does not say how it writes to its disk, so what a crash of it can lose is unknown: ask whoever"
            " runs it for appendonly yes and appendfsync everysec or always."
        )
    if not seen.keeps_a_log:
        if points == "":
            return (
                f"{there} keeps everything in memory only (appendonly no, no snapshots): when it stops, every task is"
                " lost; set appendonly to yes."
            )
        since = "its last snapshot" if points is None else f"its last snapshot ({_snapshots(points)})"
        return (
            f"{there} writes nothing but snapshots (appendonly no): when it crashes, everything since {since} is lost;"
            " set appendonly to yes."
        )
    if every == "no":
        return (
            f"{there} leaves it to its system when the log reaches the disk (appendfsync no): when its machine crashes,"
            " what was answered in the last 30 seconds or so can be lost; set appendfsync to everysec or always."
        )
    if every == "everysec":
        return (
            f"{there} brings its log to the disk once a second (appendfsync everysec): when its machine crashes, what"
            " was answered in the last 2 seconds can be lost, and when it is killed while its disk is slow, too;"
            " set appendfsync to always if none of it may be."
        )
    if seen.settings.get("no-appendfsync-on-rewrite") == "yes":
        return (
            f"{there} does not bring its log to the disk while it rewrites it (no-appendfsync-on-rewrite yes): when its"
            " machine crashes meanwhile, what was answered in the last 30 seconds or so can be lost; set it to no."
        )
    return None


def _snapshots(points: str) -> str:
    """`3600 1 300 100`: as few changes as possible take the longest."""
    longest = max((int(word) for word in points.split()[::2]), default=0)
    return f"up to {longest} seconds ago, or longer if they fail"


def _replicas(count: int) -> str:
    return "no replica" if count == 0 else "1 replica" if count == 1 else f"{count} replicas"


def _version(said: dict[str, Any], facts: dict[str, Any], *, is_ancient: bool) -> tuple[str, tuple[int, ...] | None]:
    if "valkey_version" in facts or said.get("server") == "valkey":
        name, version = "Valkey", facts.get("valkey_version") or said.get("version")
    else:
        name, version = "Redis", facts.get("redis_version") or said.get("version")
    if version is None:
        # HELLO came with Redis 6; who may only not answer it at least knows the word.
        return name, (5,) if is_ancient else None
    return name, tuple(int(part) for part in str(version).split(".")[:3] if part.isdigit()) or None


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _pairs(answer: Any) -> dict[str, Any]:
    """A map, as one protocol sends it and as the other does."""
    if isinstance(answer, list):
        answer = dict(zip(answer[::2], answer[1::2], strict=True))
    return dict(_texts(answer)) if isinstance(answer, dict) else {}


def _texts(answer: dict[Any, Any]) -> Iterable[tuple[str, Any]]:
    for key, value in answer.items():
        yield _text(key), _text(value) if isinstance(value, bytes | str) else value


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
