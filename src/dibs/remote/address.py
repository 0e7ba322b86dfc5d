"""Where a server is, from its URL."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

from dibs.errors import Invalid

PORTS = {"http": 80, "https": 443}


class Address(Struct, frozen=True):
    """A server. `prefix` is the path below which it serves, without a slash at its end."""

    scheme: str
    host: str
    port: int
    prefix: str = ""

    @property
    def place(self) -> str:
        """As people are told."""
        return f"{self.scheme}://{self.authority}{self.prefix}"

    @property
    def authority(self) -> str:
        """Host and port as the header `Host` has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def parse(url: str) -> Address:
    """The server that a URL names; Invalid, field `url`, if it names none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Invalid(f"{url!r} is not a URL: {error}.", field="url") from None
    if parts.username is not None or parts.password is not None:
        raise Invalid("a token is not part of the URL: pass it as token, or in $DIBS_TOKEN.", field="url")
    if parts.query or parts.fragment:
        raise Invalid("the URL of a server has no query: write http://host:port.", field="url")
    if not parts.hostname:
        raise Invalid(f"{url!r} names no host; write {parts.scheme}://host:port.", field="url")
    if not url.isascii() or any(char <= " " for char in url):
        raise Invalid(f"{url!r} has characters that no URL has.", field="url")
    scheme = parts.scheme.lower()
    return Address(scheme, parts.hostname, PORTS[scheme] if port is None else port, parts.path.rstrip("/"))
