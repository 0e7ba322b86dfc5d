"""The token of a browser: in a cookie that no script can read and no other site can send.

A cookie comes with every request to its host, whoever made the browser send it. So what a cookie is to allow must also
have been sent by a page of this very server: browsers say so themselves (Sec-Fetch-Site, else Origin), and no page can
make them lie. Cookies do not tell ports apart, so the name does: two servers on one machine have a login each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dibs.errors import Denied

if TYPE_CHECKING:
    from litestar.types import Scope

NAME = "dibs"
HOST_ONLY = "__Host-"
"""Over https: no other host, and no page that came over http, can set a cookie with this prefix."""
LASTS_S = 30 * 86_400
BY_COOKIE = "dibs_by_cookie"
"""In the scope: the request's token was in a cookie."""
READING = frozenset({"GET", "HEAD"})
_FLAGS = "Path=/; HttpOnly; SameSite=Strict"
_OWN = (b"same-origin", b"none")
"""What the browser says of requests by our pages, and of what a person typed into it."""


def secret_of(scope: Scope) -> str | None:
    """The token in the cookie of a request; None if there is none, or more than one. Over https only the one counts
    that nobody else can set: else another host of the same domain could make somebody work under a token of its own."""
    sent = b";".join(value for name, value in scope["headers"] if name == b"cookie")
    if not sent:
        return None
    name = _name(scope).encode()
    for wanted in (HOST_ONLY.encode() + name, name)[: 1 if _is_https(scope) else 2]:
        found = {
            value.strip()
            for part in sent.split(b";")
            for key, _, value in [part.partition(b"=")]
            if key.strip() == wanted
        }
        if found:
            secret = found.pop()
            return secret.decode() if not found and secret.isascii() and 0 < len(secret) <= 500 else None
    return None


def refuse_others(scope: Scope) -> None:
    """Refuse what a page of another site (or of another port) made the browser send: Denied, code `wrong_origin`."""
    if not is_own(scope):
        raise Denied(
            "Only the dashboard's own pages may ask by its cookie; send a token: Authorization: Bearer dibs_…",
            code="wrong_origin",
            field="Origin",
        )


def is_own(scope: Scope) -> bool:
    """Whether a page of this server sent it. What only reads may also come from no page at all."""
    headers = {name: value for name, value in scope["headers"] if name in (b"sec-fetch-site", b"origin", b"host")}
    reads = scope.get("method") in READING
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        return site == b"same-origin" or (reads and site in _OWN)
    origin = headers.get(b"origin")
    if origin is None:
        return reads
    return _netloc(origin) == headers.get(b"host", b"").decode("latin-1").lower()


def given(scope: Scope, secret: str) -> str:
    """The header that gives a browser its cookie."""
    return _written(scope, secret, LASTS_S)


def taken(scope: Scope) -> str:
    """The header that takes it away."""
    return _written(scope, "", 0)


def _written(scope: Scope, value: str, lasts_s: int) -> str:
    secure = _is_https(scope)
    name = (HOST_ONLY if secure else "") + _name(scope)
    return f"{name}={value}; Max-Age={lasts_s}; {_FLAGS}" + ("; Secure" if secure else "")


def _name(scope: Scope) -> str:
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
    port = host.rpartition(":")[2]
    return f"{NAME}_{port}" if port.isdecimal() and port.isascii() else NAME


def _is_https(scope: Scope) -> bool:
    """Whether the browser came over https: to us, or to a proxy in front. Who lies about it only harms itself."""
    headers = {name: value for name, value in scope["headers"] if name in (b"x-forwarded-proto", b"origin")}
    return (
        scope.get("scheme") == "https"
        or headers.get(b"x-forwarded-proto") == b"https"
        or headers.get(b"origin", b"").startswith(b"https://")
    )


def _netloc(origin: bytes) -> str | None:
    try:
        return urlsplit(origin.decode("latin-1").lower()).netloc
    except ValueError:
        return None
