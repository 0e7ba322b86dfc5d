"""A code becomes a token, once: whoever takes its document away has it, however many servers are on the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.json import decode

from dibs.errors import Conflict, Denied
from dibs.rules import logins

if TYPE_CHECKING:
    from dibs.model.token import IssuedToken
    from dibs.queue import Queue

BY = "login link"
"""Who makes the tokens of browsers; by this they are told from others when one logs out."""


async def redeem(queue: Queue, code: Any) -> IssuedToken:
    """The token that a code stands for. Raises Denied, code `unknown_login`, for one that was used, or is too old.

    The code is gone before the token is made: whoever dies between them leaves a link that does not work.
    """
    if not logins.is_code(code):
        raise _unknown()
    digest = logins.digest_of(code)
    found = await queue.store.documents("", logins.KIND, name=digest)
    if not found:
        raise _unknown()
    try:
        await queue.store.write_document("", logins.KIND, digest, None, found[0].version)
    except Conflict:
        raise _unknown() from None
    kept = decode(found[0].body, type=logins.Kept)
    if kept.expires_at <= queue.store.now():
        raise _unknown()
    return await queue.create_token(kept.name, role=kept.role, project=kept.project, expires=f"{kept.lasts_s}s", by=BY)


async def leave(queue: Queue, token_id: str) -> None:
    """End the token of a browser that logs out, if it was made for that; others stay what they are."""
    if any(token.id == token_id and token.created_by == BY for token in await queue.tokens()):
        await queue.revoke_token(token_id, by=BY)


def _unknown() -> Denied:
    return Denied(
        "This link was used already, or is too old: ask for another one with `dibs login-link`.", code="unknown_login"
    )
