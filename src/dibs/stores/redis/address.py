"""A Redis URL, read: `redis://user:password@host:port/database?namespace=name`, or `rediss://` for TLS.

Several hosts, `a:6379,b:6379`, are tried in their order: the nodes of a cluster, or a primary and its replicas.
Parameters are `namespace` (default `dibs`), `wait` (how many replicas must have a write before it counts, default 0),
`aof=on` (it counts when it is on the server's disk, too), `wait_ms` (how long that may take, default 1000),
`connect_timeout` (seconds, default 5) and, with TLS, what the driver calls `ssl_…`.
What people are shown never contains the password.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import parse_qsl, unquote, urlsplit

from dibs.errors import Invalid
from dibs.stores.redis import naming

PORT = 6379
CONNECT_TIMEOUT_S = 5.0
WAIT_MS = 1000

_EXAMPLE = "redis://user:password@localhost:6379/0"
_OURS = {"namespace", "wait", "wait_ms", "aof", "connect_timeout"}
_TLS = {"ssl_ca_certs", "ssl_certfile", "ssl_cert_reqs", "ssl_check_hostname", "ssl_keyfile", "ssl_password"}
_INSTEAD = {
    "cluster": "a cluster is recognised by itself, leave it out",
    "db": "write the database after the host, as in redis://localhost:6379/2",
    "password": f"write it before the host, as in {_EXAMPLE}",
    "schema": "did you mean namespace?",
    "socket_connect_timeout": "did you mean connect_timeout?",
    "socket_timeout": "did you mean connect_timeout?",
    "ssl": "write rediss:// for TLS",
    "username": f"write it before the host, as in {_EXAMPLE}",
    "waitaof": "did you mean aof?",
}


@dataclass(frozen=True, slots=True)
class Address:
    """Where the tasks are and how to get there. Made by `Address.parse`."""

    url: str = field(repr=False)
    """As it was given, password and all: connecting to it again leads to the same tasks."""
    place: str
    """For people: `host:port/database`."""
    hosts: tuple[tuple[str, int], ...]
    """To be tried in this order."""
    user: str | None
    password: str | None = field(repr=False)
    database: int = 0
    tls: dict[str, Any] | None = field(default=None, repr=False, hash=False)
    """What the driver is told about certificates; None: no TLS."""
    namespace: str = naming.NAMESPACE
    replicas: int = 0
    """How many replicas must have a write before it counts."""
    on_disk: bool = False
    """Whether a write counts only when it is on the server's disk."""
    wait_ms: int = WAIT_MS
    connect_timeout_s: float = CONNECT_TIMEOUT_S

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read a URL. Raises Invalid, field `url`, with what to write instead."""
        scheme, _, rest = url.partition(":")
        if scheme not in ("redis", "rediss") or not rest.startswith("//"):
            _refuse(f"A Redis URL begins with redis:// or rediss://, such as {_EXAMPLE}")
        if any(character <= " " or character == "\x7f" for character in url):
            # Whoever reads URLs drops some of these without a word.
            _refuse("The Redis URL has a space or a control character; escape it, a space as %20, a line's end as %0A")
        try:
            parts = urlsplit(url)
        except ValueError as error:
            _refuse(f"The Redis URL cannot be read ({error}); write {_EXAMPLE}")
        login, at, names = parts.netloc.rpartition("@")
        if parts.fragment or (not at and "@" in parts.path + parts.query):
            # Nothing of it is shown: what looks like a port may be the beginning of a password.
            _refuse(
                "The user or password in the Redis URL has a character that must be escaped:"
                " / as %2F, ? as %3F, # as %23, @ as %40"
            )
        given = _parameters(parts.query)
        tls = _certificates(given, scheme == "rediss")
        user, colon, password = login.partition(":")
        hosts = tuple(_host(name) for name in names.split(","))
        database = _database(parts.path.removeprefix("/"))
        if "wait_ms" in given and "wait" not in given and "aof" not in given:
            _refuse("wait_ms says how long to wait, and nothing is waited for; add wait=1 or aof=on, or leave it out")
        return cls(
            url=url,
            place=f"{','.join(map(_shown, hosts))}/{database}",
            hosts=hosts,
            user=unquote(user) or None,
            password=unquote(password) if colon else None,
            database=database,
            tls=tls,
            namespace=_namespace(given),
            replicas=_whole(given, "wait", 0, 0, 100),
            on_disk=_choice(given, "aof", ("off", "on")) == "on",
            wait_ms=_whole(given, "wait_ms", WAIT_MS, 1, 30_000),
            connect_timeout_s=_whole(given, "connect_timeout", int(CONNECT_TIMEOUT_S), 1, 3600),
        )

    @property
    def tag(self) -> str:
        """What the names of all keys and channels begin with."""
        return naming.tag(self.namespace)

    @property
    def is_plain(self) -> bool:
        """Whether nothing stands between a call and its answer: no TLS, and nothing to wait for."""
        return self.tls is None and self.confirmation is None

    @property
    def confirmation(self) -> tuple[str | int, ...] | None:
        """The command that waits until the writes of this connection count; None: they count when they are answered.

        It answers how many have them; `is_confirmed` says whether these are enough.
        """
        if self.on_disk:
            return "WAITAOF", 1, self.replicas, self.wait_ms
        return ("WAIT", self.replicas, self.wait_ms) if self.replicas else None

    def is_confirmed(self, answer: Any) -> bool:
        """Whether the answer to `confirmation` says that the writes count."""
        if self.on_disk:
            here, elsewhere = answer
            return bool(here >= 1 and elsewhere >= self.replicas)
        return bool(answer >= self.replicas)


def _parameters(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), errors="strict")
    except ValueError:
        _refuse("What follows the ? of the Redis URL cannot be read; write ?name=value&name=value")
    given = dict(pairs)
    if len(given) < len(pairs):
        _refuse("What follows the ? of the Redis URL says something twice; say it once")
    for name in given:
        if name not in _OURS | _TLS:
            _refuse(f"The Redis URL has an unknown parameter {name:.60}; {_meant(name)}")
    return given


def _meant(name: str) -> str:
    from difflib import get_close_matches

    if name in _INSTEAD:
        return _INSTEAD[name]
    near = get_close_matches(name, sorted(_OURS | _TLS), 1)
    return f"did you mean {near[0]}?" if near else f"leave it out; dibs knows {', '.join(sorted(_OURS))}"


def _certificates(given: dict[str, str], is_tls: bool) -> dict[str, Any] | None:
    named: dict[str, Any] = {name: value for name, value in given.items() if name in _TLS}
    if not is_tls:
        if named:
            _refuse(f"{min(named)} says something about TLS; write rediss:// for TLS, or leave it out")
        return None
    if "ssl_cert_reqs" in named:
        _choice(given, "ssl_cert_reqs", ("required", "none"))
        if named["ssl_cert_reqs"] == "none":
            # Whose name would be checked in a certificate that is not?
            named.setdefault("ssl_check_hostname", "off")
    if "ssl_check_hostname" in named:
        named["ssl_check_hostname"] = _choice(named, "ssl_check_hostname", ("on", "off")) == "on"
    return named


def _host(spec: str) -> tuple[str, int]:
    name, colon, port = (spec, "", "") if spec.endswith("]") else spec.rpartition(":")
    if not colon:
        name, port = spec, str(PORT)
    if not (port.isascii() and port.isdigit() and len(port) < 6 and 0 < int(port) < 65536):
        _refuse(f"The Redis URL has a port {port[:20]!r}; a port is a number from 1 to 65535, as in {_EXAMPLE}")
    return unquote(name.strip("[]")) or "localhost", int(port)


def _shown(host: tuple[str, int]) -> str:
    name, port = host
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def _database(path: str) -> int:
    if not path:
        return 0
    if not (path.isascii() and path.isdigit() and len(path) < 6):
        _refuse("A Redis database is a number, written after the host, as in redis://localhost:6379/2; "
                "a name goes into ?namespace=name")  # fmt: skip
    return int(path)


def _namespace(given: dict[str, str]) -> str:
    name = given.get("namespace", naming.NAMESPACE)
    if not 0 < len(name) <= naming.LONGEST:
        _refuse(f"A namespace has 1 to {naming.LONGEST} characters, as in ?namespace=team")
    try:
        name.encode()
    except UnicodeEncodeError:
        _refuse("The namespace in the Redis URL has a character that cannot be written; use another one")
    return name


def _choice(given: dict[str, str], name: str, values: tuple[str, str]) -> str:
    value = given.get(name, values[0])
    if value not in values:
        _refuse(f"{name}={value:.60} is not known; write {name}={values[0]} or {name}={values[1]}")
    return value


def _whole(given: dict[str, str], name: str, default: int, low: int, high: int) -> int:
    value = given.get(name, str(default))
    if not (value.isascii() and value.isdigit() and len(value) < 10 and low <= int(value) <= high):
        _refuse(f"{name}={value:.60} must be a whole number from {low} to {high}")
    return int(value)


def _refuse(what: str) -> NoReturn:
    raise Invalid(what if what.endswith("?") else f"{what}.", field="url")
