"""Links that log a person in, once: what a code is, what is kept of it, and until when it is good for anything.

A code is 192 random bits and stands in an address, so it is good for minutes and for one use. What is kept is its
SHA-256 and what the token may do that is made of it.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from msgspec import Struct

from dibs.model.instants import seconds
from dibs.model.role import Role
from dibs.rules import tokens, validation

KIND = "login"
"""The kind of their documents, which are of the whole store and named after the digest of the code."""
RANDOM_BYTES = 24
VALID_S = 600.0
"""How long a link is good, unless told otherwise."""
MAX_VALID_S = 86_400.0
LASTS_S = 7 * 86_400.0
"""How long a browser that came in by a link stays in."""
MAX_LASTS_S = 90 * 86_400.0
MIN_S = 1.0
MAX_OPEN = 1_000
"""How many links of a project there may be that nobody has used yet."""


class Kept(Struct, kw_only=True, omit_defaults=True):
    """What a store keeps of a link; instants are micros."""

    name: str
    role: Role
    project: str = "default"
    expires_at: int = 0
    lasts_s: float = LASTS_S
    created_by: str | None = None


def code_of(random: bytes) -> str:
    """The code that these bytes make."""
    return random.hex()


def is_code(text: Any) -> bool:
    """Whether this can be a code."""
    return isinstance(text, str) and len(text) == 2 * RANDOM_BYTES and set(text) <= set("0123456789abcdef")


def digest_of(code: str) -> str:
    """What is kept in the place of a code."""
    return sha256(code.encode()).hexdigest()


def wanted(name: Any, role: Any, now: int, *, project: str, valid: Any, lasts: Any, by: Any) -> Kept:
    """A link as somebody asks for it, checked."""
    return Kept(
        name=validation.text(name, "name"),
        role=tokens.role_of(role),
        project=project,
        expires_at=now + seconds(validation.duration_s(valid, "valid", low=MIN_S, high=MAX_VALID_S)),
        lasts_s=validation.duration_s(lasts, "lasts", low=MIN_S, high=MAX_LASTS_S),
        created_by=None if by is None else validation.text(by, "by"),
    )
