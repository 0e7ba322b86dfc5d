"""The verb about logging in: a link that lets one browser in, once. `Queue` has it; it is written here.

The server makes a token of the code when the link is followed (`dibs.server.logins`); nobody else can, and nobody can
twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dibs.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.model.login import Login
    from dibs.queue import Queue
    from dibs.stores.contract import Store

SHELL = "shell"
"""Who did it, where nobody says: somebody who can open the store itself."""


class Logins:
    """Letting people in."""

    store: Store
    project: str
    new_id: Callable[[str], str]

    async def create_login(
        self, name: str = "browser", *, role: str = "admin", valid: Any = 600, lasts: Any = "7d", by: str | None = None
    ) -> Login:
        """A code that logs one browser in: at `/login?once=CODE` of any server on this store, once, within `valid`.

        The browser gets a token of this `name` and `role`, in this queue's project, which ends after `lasts`. Raises
        Invalid.
        """
        import os

        from msgspec.json import decode, encode

        from dibs.model.instants import from_micros
        from dibs.model.login import Login
        from dibs.rules import logins

        now = self.store.now()
        kept = logins.wanted(name, role, now, project=self.project, valid=valid, lasts=lasts, by=by)
        own, last = 0, ""
        while known := await self.store.documents("", logins.KIND, after=last, limit=logins.MAX_OPEN):
            last = known[-1].name
            for document in known:
                link = decode(document.body, type=logins.Kept)
                if link.expires_at <= now:
                    await self.store.write_document("", logins.KIND, document.name, None)
                else:
                    own += link.project == self.project
        if own >= logins.MAX_OPEN:
            raise Invalid(
                f"There are {own:,} links already that nobody has used: wait until some have ended.", field="name"
            )
        code = logins.code_of(os.urandom(logins.RANDOM_BYTES))
        await self.store.write_document("", logins.KIND, logins.digest_of(code), encode(kept), 0)
        await cast("Queue", self).record_act(
            "create_login", f"{kept.name}, {kept.role}", by=by or SHELL, project=self.project
        )
        return Login(code=code, name=kept.name, role=kept.role, expires_at=from_micros(kept.expires_at))
