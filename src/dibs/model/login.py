"""A way in for one browser."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from dibs.model.role import Role


class Login(Struct, kw_only=True):
    """A link that was just made: its `code` is good once, until `expires_at`, and kept nowhere."""

    code: str
    name: str
    role: Role
    expires_at: datetime
