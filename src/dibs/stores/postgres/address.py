"""A PostgreSQL URL, read: what is ours is taken out, the rest is for the driver.

Ours are `schema` (default `dibs`), `pooler=transaction` (behind pgbouncer and its like), `notify=off` (send no
hints), `pool` (how many connections at most, default 10) and `connect_timeout` (seconds, default 5).
What people are shown never contains the password.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from dibs.errors import Invalid

SCHEMA = "dibs"
POOL = 10
CONNECT_TIMEOUT_S = 5.0

_SCHEMA_NAME = re.compile(r"[a-z_][a-z0-9_]{0,49}")
_EXAMPLE = "postgresql://user:password@localhost:5432/dibs"
_OURS = {"schema", "pooler", "notify", "pool", "connect_timeout"}
_PLACE = {"host", "port", "user", "password", "dbname", "database"}
_DRIVERS = {
    "application_name",
    "gsslib",
    "krbsrvname",
    "options",
    "passfile",
    "service",
    "sslcert",
    "sslcrl",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslpassword",
    "sslrootcert",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "target_session_attrs",
}
_TLS = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")


@dataclass(frozen=True, slots=True)
class Address:
    """Where the tasks are and how to get there. Made by `Address.parse`."""

    url: str = field(repr=False)
    """As it was given, password and all: connecting to it again leads to the same tasks."""
    place: str
    """For people: `host:port/database`."""
    host: str
    user: str | None
    password: str | None = field(repr=False)
    database: str
    dsn: str = field(repr=False)
    """For the driver, together with user, password and database."""
    schema: str = SCHEMA
    pooled: bool = False
    """Whether each transaction may get another session: nothing of a session is relied on then."""
    notify: bool = True
    pool: int = POOL
    connect_timeout_s: float = CONNECT_TIMEOUT_S
    named: bool = False
    """Whether the URL says an application_name of its own."""

    @classmethod
    def parse(cls, url: str) -> Address:
        """Read a URL. Raises Invalid, field `url`, with what to write instead."""
        _, _, rest = url.partition(":")
        if not rest.startswith("//"):
            _refuse(f"A PostgreSQL URL begins with postgresql://, such as {_EXAMPLE}")
        try:
            parts = urlsplit(url)
        except ValueError as error:
            _refuse(f"The PostgreSQL URL cannot be read ({error}); write {_EXAMPLE}")
        login, at, hosts = parts.netloc.rpartition("@")
        if parts.fragment or (not at and "@" in parts.path + parts.query):
            # Nothing of it is shown: what looks like a port may be the beginning of a password.
            _refuse(
                "The user or password in the PostgreSQL URL has a character that must be escaped:"
                " / as %2F, ? as %3F, # as %23, @ as %40"
            )
        given = _parameters(parts.query)
        user, colon, password = login.partition(":")
        hosts = hosts or _hosts(given)
        database = unquote(parts.path.removeprefix("/")) or given.get("dbname") or given.get("database") or ""
        if not database:
            _refuse(f"The PostgreSQL URL names no database; write it after the host, as in {_EXAMPLE}")
        first = _check_hosts(hosts)
        schema = given.get("schema", SCHEMA)
        if not _SCHEMA_NAME.fullmatch(schema):
            _refuse(
                f"schema={schema:.60} cannot be a schema's name; use up to 50 small letters, digits and _,"
                " beginning with a letter"
            )
        return cls(
            url=url,
            place=f"{hosts or 'localhost'}/{database}",
            host=first or "localhost",
            user=unquote(user) or given.get("user"),
            password=unquote(password) if colon else given.get("password"),
            database=database,
            dsn=_dsn(hosts, {name: value for name, value in given.items() if name in _DRIVERS}),
            schema=schema,
            pooled=_choice(given, "pooler", ("session", "transaction")) == "transaction",
            notify=_choice(given, "notify", ("on", "off")) == "on",
            pool=_whole(given, "pool", POOL, 1, 1000),
            connect_timeout_s=_whole(given, "connect_timeout", int(CONNECT_TIMEOUT_S), 1, 3600),
            named="application_name" in given,
        )


def _parameters(query: str) -> dict[str, str]:
    try:
        given = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query)))
    except ValueError:
        _refuse("What follows the ? of the PostgreSQL URL cannot be read; write ?name=value&name=value")
    for name in given:
        if name not in _OURS | _PLACE | _DRIVERS:
            _refuse(_unknown(name))
    if given.get("sslmode", "prefer") not in _TLS:
        _refuse(f"sslmode={given['sslmode']:.60} is not known; use {', '.join(_TLS[:-1])} or {_TLS[-1]}")
    return given


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    if name in ("pgbouncer", "prepared_statements", "prepare_threshold", "statement_cache_size"):
        return f"The PostgreSQL URL has an unknown parameter {name}; behind a pooler write pooler=transaction"
    if name == "channel_binding":
        return "channel_binding is not supported by the driver; leave it out of the PostgreSQL URL"
    known = sorted(_OURS | _PLACE | _DRIVERS)
    near = get_close_matches(name, known, 1)
    meant = f"did you mean {near[0]}?" if near else f"leave it out; dibs itself knows {', '.join(sorted(_OURS))}"
    return f"The PostgreSQL URL has an unknown parameter {name:.60}; {meant}"


def _hosts(given: dict[str, str]) -> str:
    """Hosts that were given as parameters, in the way that a URL has them."""
    names = given.get("host", "").split(",") if given.get("host") else []
    ports = given.get("port", "").split(",") if given.get("port") else []
    if len(ports) == 1:
        ports *= max(1, len(names))
    if not names and ports:
        names = ["localhost"] * len(ports)
    if ports and len(ports) != len(names):
        _refuse("The PostgreSQL URL has not as many ports as hosts; give one port, or one for each host")
    return ",".join(f"{name}:{port}" for name, port in zip(names, ports, strict=True)) if ports else ",".join(names)


def _check_hosts(hosts: str) -> str:
    """Refuse what is no port; the first host's name."""
    first = ""
    for spec in hosts.split(",") if hosts else ():
        name, colon, port = (spec, "", "") if spec.endswith("]") else spec.rpartition(":")
        if not colon:
            name, port = spec, ""
        if colon and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            _refuse(
                f"The PostgreSQL URL has a port {port[:20]!r}; a port is a number from 1 to 65535, as in {_EXAMPLE}"
            )
        first = first or unquote(name.strip("[]"))
    return first


def _dsn(hosts: str, parameters: dict[str, str]) -> str:
    """The URL without user, password and database, which the driver is told apart; sockets are named by parameter."""
    query = urlencode(parameters)
    if "/" in hosts:
        names = [spec.rpartition(":")[0] or spec for spec in hosts.split(",")]
        ports = [spec.rpartition(":")[2] for spec in hosts.split(",") if ":" in spec]
        more = {"host": ",".join(names)} | ({"port": ",".join(ports)} if ports else {})
        return f"postgresql:///?{urlencode(parameters | more)}"
    return f"postgresql://{hosts}/?{query}" if query else f"postgresql://{hosts}/"


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
