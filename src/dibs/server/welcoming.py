"""The tokens that a server makes itself: one for whoever starts it first, and one for the shell on its own machine."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from dibs import localtokens
from dibs.errors import Conflict
from dibs.model.role import Role

if TYPE_CHECKING:
    from dibs.queue import Queue
    from dibs.server.callers import Authority

log = logging.getLogger("dibs.server")

KIND, NAME = "server", "first_start"
"""The document that says that the first token was made; where several start at once, who writes it shows his own."""
ADMIN = "admin"
BY = "dibs up"
_LOCAL = "local "


async def first_token(queue: Queue) -> str | None:
    """The secret of an admin token, if this store never had one; None if it had, or another server was first.

    The token is made before the mark: whoever dies between them leaves one that nobody knows, and the next start makes
    another one.
    """
    if await queue.store.documents("", KIND, name=NAME):
        return None
    known = await queue.tokens(ended=True)
    if any(token.role is Role.ADMIN and token.created_by != BY for token in known):
        return None
    token = await queue.create_token(ADMIN, role=Role.ADMIN, by=BY)
    try:
        await queue.store.write_document("", KIND, NAME, b"{}", 0)
    except Conflict:
        await queue.revoke_token(token.id, by=BY)
        return None
    return token.secret


async def first_login(queue: Queue, url: str) -> str:
    """A link to the dashboard for whoever starts the first server: it logs one browser in, once."""
    login = await queue.create_login(ADMIN, role=Role.ADMIN, by=BY)
    return f"{url}/login?once={login.code}"


async def keep_local_token(queue: Queue, authority: Authority, url: str) -> None:
    """See to it that the shell on this machine needs no token for the server at this URL."""
    if localtokens.path_of(url) is None:
        log.info("the shell needs a token for %s: that is no address of this machine alone", url)
        return
    kept = localtokens.find(url)
    if kept is not None:
        caller = await authority.identify(kept)
        if caller is not None and caller.role is Role.ADMIN and caller.project == queue.project:
            return
    name = f"{_LOCAL}{os.uname().nodename}:{url.rpartition(':')[2]}"
    for token in await queue.tokens():
        if token.name == name:
            await queue.revoke_token(token.id, by=BY)
    made = await queue.create_token(name, role=Role.ADMIN, by=BY)
    try:
        localtokens.keep(url, made.secret)
    except OSError as error:
        await queue.revoke_token(made.id, by=BY)
        log.warning("the shell on this machine needs a token: none could be kept for it (%s)", error)
