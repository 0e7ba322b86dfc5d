"""Who may use the server, and for what."""

from __future__ import annotations

from dibs.model.login import Login
from dibs.model.role import OPERATING
from dibs.model.token import IssuedToken, Token
from dibs.wire.verbs import Duration, Moment, Verb

VERBS = (
    Verb(
        name="tokens",
        method="GET",
        path="/v1/tokens",
        roles=OPERATING,
        about="The tokens of the project, oldest first; for admins of the project `default` those of all projects.",
        takes={"ended": bool},
        reply=list[Token],
    ),
    Verb(
        name="create_token",
        method="POST",
        path="/v1/tokens",
        roles=OPERATING,
        about="Make a token. Its secret is in this answer, and can never be shown again.",
        needs={"name": str},
        takes={
            "role": str,
            "project": str | None,
            "types": list[str] | None,
            "expires": Moment | None,
            "max_depth": int | None,
            "max_children": int | None,
            "max_cost": float | None,
        },
        reply=IssuedToken,
        status=201,
    ),
    Verb(
        name="revoke_token",
        method="DELETE",
        path="/v1/tokens/{token}",
        roles=OPERATING,
        about="End a token, by its id or its name: within a second no server takes it any more.",
        reply=Token,
    ),
    Verb(
        name="rotate_token",
        method="POST",
        path="/v1/tokens/{token}/rotate",
        roles=OPERATING,
        about="A new token with the rights of this one, which ends after `grace`.",
        takes={"grace": Duration},
        reply=IssuedToken,
        status=201,
    ),
    Verb(
        name="create_login",
        method="POST",
        path="/v1/logins",
        roles=OPERATING,
        about="A code that logs one browser in, at /login?once=CODE: once, within `valid`.",
        takes={"name": str, "role": str, "valid": Duration, "lasts": Duration},
        reply=Login,
        status=201,
    ),
)
