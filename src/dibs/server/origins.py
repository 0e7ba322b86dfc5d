"""Whether a request was meant for this server: its Host is one that the server goes by, and no other site sent it.

A page on another site can make a browser ask a server on the same machine. It cannot send a token, but with DNS that
changes its answer it could read what needs none. So a name that is not the server's own is refused (421), and so is
whatever says that it comes from a page of another origin (403). Nothing is ever allowed by CORS: no header says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from litestar.enums import ScopeType

from dibs.errors import Denied
from dibs.server.refusing import problem
from dibs.wire.problems import MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from litestar.types import ASGIApp, Receive, Scope, Send

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ANY = "*"
"""Any name: for a server behind a proxy that looks at them itself."""
OPEN = frozenset({"/healthz", "/readyz"})
"""What probes ask for, by whatever name they know the machine; it says nothing."""


class Origins:
    """Lets through what is meant for one of these hosts. A name is without its port, and `*.example.org` is any below
    it; `*` alone is any at all."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = LOOPBACK) -> None:
        self._app = app
        self._hosts = {host.lower() for host in hosts}
        self._below = tuple(host[1:] for host in self._hosts if host.startswith("*."))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP or scope["path"] in OPEN:
            await self._app(scope, receive, send)
            return
        hosts, origins = [], []
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value.decode("latin-1").lower())
            elif name == b"origin":
                origins.append(value.decode("latin-1").lower())
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            await _refuse(scope, send, _wrong_host(hosts[0] if hosts else ""))
        elif any(not _is_same(origin, hosts[0]) for origin in origins):
            await _refuse(scope, send, _wrong_origin())
        else:
            await self._app(scope, receive, send)

    def _is_ours(self, host: str) -> bool:
        name = _without_port(host)
        return ANY in self._hosts or name in self._hosts or (bool(self._below) and name.endswith(self._below))


def hosts_of(address: str, allowed: Iterable[str] = ()) -> tuple[str, ...]:
    """The names of a server that listens at this address: those of this machine, the address itself unless it stands
    for all there are, and what the operator says."""
    own = () if address in ("", "0.0.0.0", "::") else (f"[{address}]" if ":" in address else address,)  # noqa: S104
    return (*LOOPBACK, *own, *allowed)


def _wrong_host(host: str) -> Denied:
    return Denied(
        f"This server does not go by the name {_without_port(host)[:80]!r}: start it with --allow-host if it should.",
        code="wrong_host",
        field="Host",
    )


def _wrong_origin() -> Denied:
    return Denied("Pages of other sites may not use this server.", code="wrong_origin", field="Origin")


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() and (":" not in name or name.endswith("]")) else host


def _is_same(origin: str, host: str) -> bool:
    """Whether a page of this origin came from the very host it asks."""
    try:
        return origin != "null" and urlsplit(origin).netloc == host
    except ValueError:
        return False


async def _refuse(scope: Scope, send: Send, error: Denied) -> None:
    status, headers, body = problem(error, scope)
    told = [(name.encode(), value.encode()) for name, value in headers.items()]
    told += [(b"content-type", MEDIA_TYPE.encode()), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body, "more_body": False})
