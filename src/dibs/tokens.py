"""The verbs about tokens: who may use a server, and for what. `Queue` has them; they are written here.

Tokens are kept in the store, as digests of their secrets: every server on it knows the same ones, and the shell makes
them where there is no server yet. Whatever is done to one is in the audit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dibs.errors import Conflict, Denied, Invalid
from dibs.rules import validation
from dibs.rules.access import OPERATORS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dibs.model.token import IssuedToken, Token
    from dibs.queue import Queue
    from dibs.rules.tokens import Kept
    from dibs.stores.contract import Store
    from dibs.stores.values import Document

PORTION = 1_000
"""How many are read at once."""
SHELL = "shell"
"""Who did it, where nobody says: somebody who can open the store itself."""


class Tokens:
    """Who may use a queue through a server."""

    store: Store
    project: str
    new_id: Callable[[str], str]

    async def create_token(
        self,
        name: str,
        *,
        role: str = "agent",
        project: str | None = None,
        types: Iterable[str] | None = None,
        expires: Any = None,
        max_depth: int | None = None,
        max_children: int | None = None,
        max_cost: float | None = None,
        by: str | None = None,
    ) -> IssuedToken:
        """Make a token; its `secret` is in the answer and can never be shown again.

        `role`: viewer, agent, orchestrator or admin. `project`: the only one whose tasks it sees; by default this
        queue's. `types`: what an agent may claim and add. `expires`: an instant, or a duration from now; default never.
        `max_depth`, `max_children`, `max_cost`: how far below a task an agent may add more, how many below one, and
        for how many USD at once. Raises Invalid, and Denied for another project (only `default` may name one).
        """
        from dibs.rules import tokens

        home = self.project if project is None else self._may_manage(validation.text(project, "project"))
        token = tokens.wanted(
            self.new_id("tok"),
            name,
            role,
            self.store.now(),
            project=home,
            types=types,
            expires=expires,
            max_depth=max_depth,
            max_children=max_children,
            max_cost=max_cost,
            by=by,
        )
        await self._forget_old_tokens()
        return await self._issue(token, "create_token", by)

    async def tokens(self, *, ended: bool = False) -> list[Token]:
        """The tokens of this project, oldest first; in the project `default` those of all projects. With `ended` also
        those that have expired or were revoked, for 90 days."""
        from dibs.rules import tokens

        now = self.store.now()
        used = {
            document.name: int(document.body) for document in await self._all(tokens.USED) if document.body.isdigit()
        }
        return [token.shown(used.get(token.id)) for _, _, token in await self._tokens() if ended or token.is_live(now)]

    async def revoke_token(self, token: str, *, by: str | None = None) -> Token:
        """End a token, by its id or its name: within a second no server takes it any more. Raises NotFound."""
        _, found = await self._end(token, "revoke_token", 0.0, by)
        return found.shown()

    async def rotate_token(self, token: str, *, grace: Any = 0, by: str | None = None) -> IssuedToken:
        """A new token with the rights of this one, which ends after `grace` (a duration; default at once)."""
        from msgspec.structs import replace

        grace_s = validation.duration_s(grace, "grace", high=90 * 86_400.0)
        now = self.store.now()
        _, _, known = await self._find(token)
        if not known.is_live(now):
            raise Invalid(f"The token {known.name!r} has ended: make a new one.", field="token")
        fresh = replace(known, id=self.new_id("tok"), created_at=now, created_by=by, revoked_at=None)
        issued = await self._issue(fresh, "rotate_token", by)
        await self._end(known.id, "revoke_token", grace_s, by)
        return issued

    async def _issue(self, token: Kept, act: str, by: str | None) -> IssuedToken:
        import os

        from msgspec.json import encode
        from msgspec.structs import asdict

        from dibs.model.token import IssuedToken
        from dibs.rules import tokens

        secret = tokens.secret_of(os.urandom(tokens.RANDOM_BYTES))
        await self.store.write_document("", tokens.KIND, tokens.digest_of(secret), encode(token), 0)
        await self._audit(act, token, by)
        return IssuedToken(secret=secret, **asdict(token.shown()))

    async def _end(self, name: str, act: str, after_s: float, by: str | None) -> tuple[str, Kept]:
        """Let a token end after so many seconds; one that ended before stays as it is."""
        from msgspec.json import encode
        from msgspec.structs import replace

        from dibs.model.instants import seconds
        from dibs.rules import tokens

        while True:
            digest, version, known = await self._find(name)
            now = self.store.now()
            if not known.is_live(now):
                return digest, known
            at = now + seconds(after_s)
            ended = replace(known, expires_at=at) if after_s else replace(known, revoked_at=at)
            if known.expires_at is not None and known.expires_at <= at and after_s:
                return digest, known
            try:
                await self.store.write_document("", tokens.KIND, digest, encode(ended), version)
            except Conflict:
                continue
            await self._audit(act, ended, by)
            return digest, ended

    async def _find(self, name: str) -> tuple[str, int, Kept]:
        from dibs.rules import tokens

        wanted = validation.text(name, "token")
        known = await self._tokens()
        found = tokens.named([token for _, _, token in known], wanted, self.store.now())
        return next(each for each in known if each[2] is found)

    async def _tokens(self) -> list[tuple[str, int, Kept]]:
        """Digest, version and token, of all that this project may see; oldest first."""
        from msgspec.json import decode

        from dibs.rules import tokens

        found = [
            (document.name, document.version, decode(document.body, type=tokens.Kept))
            for document in await self._all(tokens.KIND)
        ]
        seen = [each for each in found if self.project in (OPERATORS, each[2].project)]
        return sorted(seen, key=lambda each: (each[2].created_at, each[2].id))

    async def _all(self, kind: str) -> list[Document]:
        found: list[Document] = []
        while some := await self.store.documents("", kind, after=found[-1].name if found else "", limit=PORTION):
            found += some
        return found

    async def _forget_old_tokens(self) -> None:
        """Those that ended long ago; and there is a limit to how many there may be."""
        from dibs.rules import tokens

        now = self.store.now()
        known = await self._tokens()
        for digest, _, token in known:
            if tokens.is_forgotten(token, now):
                await self.store.write_document("", tokens.KIND, digest, None)
                await self.store.write_document("", tokens.USED, token.id, None)
        if len(known) >= tokens.MAX_TOKENS:
            raise Invalid(
                f"There are {len(known):,} tokens; at most {tokens.MAX_TOKENS:,} are kept. Share one among agents that"
                " may do the same.",
                field="name",
            )

    def _may_manage(self, project: str) -> str:
        if project != self.project and self.project != OPERATORS:
            raise Denied(f"Only an admin of the project {OPERATORS} makes tokens for other projects.", field="project")
        return project

    async def _audit(self, act: str, token: Kept, by: str | None) -> None:
        target = f"{token.id} ({token.name}, {token.role})"
        await cast("Queue", self).record_act(act, target, by=by or SHELL, project=token.project)
