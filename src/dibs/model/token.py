"""A token: what whoever has its secret may do on a server."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from dibs.model.role import Role


class Token(Struct, kw_only=True):
    """A token as it is shown. Its secret is kept nowhere.

    `types` are those that an agent may claim, and add below a task that it holds; None: any. `max_depth`,
    `max_children` and `max_cost` say how far it may add tasks (None: as far as anybody). `last_used_at` is behind by
    some minutes.
    """

    id: str
    name: str
    role: Role
    project: str = "default"
    types: tuple[str, ...] | None = None
    max_depth: int | None = None
    max_children: int | None = None
    max_cost: float | None = None
    created_at: datetime | None = None
    created_by: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None


class IssuedToken(Token, kw_only=True):
    """A token that was just made, with its secret: nobody can show that again."""

    secret: str
