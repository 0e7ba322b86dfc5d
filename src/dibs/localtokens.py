"""The token that a server on this machine leaves for its own user, so that the shell works with no more than its URL.

One file for each address (`127.0.0.1-3427`) in the user's configuration folder, readable by nobody else. It is only
looked for where the address is this machine itself, and one that others could read or write is not used.
"""

from __future__ import annotations

import os

FOLDER = "servers"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_OTHERS = 0o077


def find(url: str) -> str | None:
    """The token for the server at this URL; None if there is none for us."""
    path = path_of(url)
    if path is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with open(descriptor, encoding="ascii", errors="replace") as file:
        status = os.fstat(descriptor)
        if hasattr(os, "getuid") and (status.st_mode & _OTHERS or status.st_uid != os.getuid()):
            return None
        return file.read(1_000).strip() or None


def keep(url: str, secret: str) -> str | None:
    """Keep the token of the server at this URL, in place of the one before; where. None: it is not on this machine."""
    path = path_of(url)
    if path is None:
        return None
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    # Written beside and moved: whoever reads sees the old one or the new one.
    beside = f"{path}.{os.getpid()}"
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="ascii") as file:
        file.write(f"{secret}\n")
    os.replace(beside, path)
    return path


def path_of(url: str) -> str | None:
    """Where the token of this server is kept; None if it is not one of this machine's own addresses."""
    scheme, found, rest = url.partition("://")
    if not found or scheme not in ("http", "https"):
        return None
    address = rest.partition("/")[0].rpartition("@")[2]
    host, colon, port = address.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")) or not port.isdigit():
        host, port = address, "443" if scheme == "https" else "80"
    host = host.strip("[]").lower()
    if host not in LOOPBACK:
        return None
    # These three are one machine, and mostly one server.
    return os.path.join(_home(), "dibs", FOLDER, f"localhost-{port}")


def _home() -> str:
    """The user's configuration folder."""
    return os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
