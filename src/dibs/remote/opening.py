"""Opening a queue on a server."""

from __future__ import annotations

import os
from typing import Any

from dibs.errors import Invalid
from dibs.remote.address import parse
from dibs.remote.queue import RemoteQueue
from dibs.remote.server import Server
from dibs.rules import repeating, validation


def open_remote(url: str, *, token: str | None = None, blocking: bool = False, **settings: Any) -> RemoteQueue:
    """The queue at a server. `settings` are those of a queue on a store: given, they are refused, because whoever runs
    the server says them there."""
    for name, value in settings.items():
        if value is not None:
            raise Invalid(f"{name} is for whoever opens a store: say it where the server runs.", field=name)
    address = parse(url)
    secret = _token(token, address.place)
    if blocking:
        from dibs.remote.blocking import BlockingLine

        line: Any = BlockingLine(address)
    else:
        from dibs.remote.looping import LoopingLine

        line = LoopingLine(address)
    return RemoteQueue(Server(address, line, secret, patience_s=repeating.PATIENCE_S), blocking=blocking)


def _token(given: str | None, place: str) -> str | None:
    """The token that was given, else `$DIBS_TOKEN`, else the one that a server on this machine left for its user."""
    token = given or os.environ.get("DIBS_TOKEN") or None
    if token is None:
        from dibs import localtokens

        return localtokens.find(place)
    secret = validation.text(token, "token").strip()
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise Invalid("token has characters that no token has; is it quoted twice?", field="token")
    return secret
