"""Tokens: how a secret is written, what is kept of it, and until when it is good for anything.

A secret is `dibs_`, 256 random bits in base 62, and a checksum of those characters. So it is found by scanners, told
from a slip of the finger without a look at the store, and cannot be guessed; what is kept is its SHA-256, which needs
no salt for as many bits.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any
from zlib import crc32

from msgspec import Struct

from dibs.errors import Invalid, NotFound
from dibs.model.instants import from_micros, seconds
from dibs.model.role import Role
from dibs.model.token import Token
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Sequence

KIND = "token"
"""The kind of their documents, which are of the whole store and named after the digest of the secret."""
USED = "token_used"
"""The kind of the documents that say when each was last used, named after its id."""

PREFIX = "dibs_"
RANDOM_BYTES = 32
MIN_EXPIRY_S = 1.0
MAX_TOKENS = 10_000
FORGOTTEN_AFTER = seconds(90 * 86_400)
"""So long after its end a token is still shown."""
NOTED_EVERY = seconds(600)
"""How often it is written down that a token was used."""

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BODY_CHARS = 43
_CHECK_CHARS = 6
_CHARS = frozenset(_ALPHABET)


class Kept(Struct, kw_only=True, omit_defaults=True):
    """What a store keeps of a token; instants are micros."""

    id: str
    name: str
    role: Role
    project: str = "default"
    types: tuple[str, ...] | None = None
    max_depth: int | None = None
    max_children: int | None = None
    max_cost: float | None = None
    created_at: int = 0
    created_by: str | None = None
    expires_at: int | None = None
    revoked_at: int | None = None

    def is_live(self, now: int) -> bool:
        """Whether it is good for anything now."""
        return self.ends_at is None or now < self.ends_at

    @property
    def ends_at(self) -> int | None:
        """From when on it is good for nothing."""
        ends = [at for at in (self.expires_at, self.revoked_at) if at is not None]
        return min(ends) if ends else None

    def shown(self, used_at: int | None = None) -> Token:
        """The token as people see it."""
        plain = {name: getattr(self, name) for name in _ALIKE}
        return Token(
            **plain,
            created_at=from_micros(self.created_at),
            expires_at=None if self.expires_at is None else from_micros(self.expires_at),
            revoked_at=None if self.revoked_at is None else from_micros(self.revoked_at),
            last_used_at=None if used_at is None else from_micros(used_at),
        )


_ALIKE = ("id", "name", "role", "project", "types", "max_depth", "max_children", "max_cost", "created_by")


def secret_of(random: bytes) -> str:
    """The secret that these bytes make."""
    body = _base62(int.from_bytes(random), _BODY_CHARS)
    return PREFIX + body + _checksum(body)


def is_secret(text: str) -> bool:
    """Whether this can be the secret of a token: one that was written down wrong is not."""
    rest = text.removeprefix(PREFIX)
    if rest == text or len(rest) != _BODY_CHARS + _CHECK_CHARS or not _CHARS.issuperset(rest):
        return False
    return _checksum(rest[:_BODY_CHARS]) == rest[_BODY_CHARS:]


def digest_of(secret: str) -> str:
    """What is kept in the place of a secret."""
    return sha256(secret.encode()).hexdigest()


def role_of(value: Any) -> Role:
    """One of the four roles."""
    try:
        return Role(value)
    except ValueError:
        raise Invalid(f"role must be one of {', '.join(Role)}, not {value!r:.80}.", field="role") from None


def wanted(
    id: str,
    name: Any,
    role: Any,
    now: int,
    *,
    project: str,
    types: Any = None,
    expires: Any = None,
    max_depth: Any = None,
    max_children: Any = None,
    max_cost: Any = None,
    by: Any = None,
) -> Kept:
    """A token as somebody asks for it, checked. Only agents are limited to types, and in what they may add."""
    kind = role_of(role)
    for field, value in (
        ("types", types),
        ("max_depth", max_depth),
        ("max_children", max_children),
        ("max_cost", max_cost),
    ):
        if value is not None and kind is not Role.AGENT:
            raise Invalid(f"{field} is for agents: a token of role {kind} is not limited by it.", field=field)
    most = {"max_depth": validation.MAX_SPAWN_DEPTH, "max_children": validation.MAX_CHILDREN}
    chosen = None if types is None else validation.names(types, "types")
    if chosen == ():
        raise Invalid("types must name at least one type; leave it out for any.", field="types")
    called = validation.text(name, "name")
    if kind is Role.AGENT and ":" in called:
        # What follows on a colon is what an agent calls itself: this token would be another one's agent.
        raise Invalid("name of an agent's token must not contain a colon.", field="name")
    return Kept(
        id=id,
        name=called,
        role=kind,
        project=project_name(project),
        types=chosen,
        max_depth=None if max_depth is None else validation.whole(max_depth, "max_depth", 0, most["max_depth"]),
        max_children=(
            None if max_children is None else validation.whole(max_children, "max_children", 0, most["max_children"])
        ),
        max_cost=None if max_cost is None else validation.number(max_cost, "max_cost", 0, 1e9),
        created_at=now,
        created_by=None if by is None else validation.text(by, "by"),
        expires_at=None if expires is None else expiry(expires, now),
    )


def project_name(value: Any) -> str:
    """The name of a project: letters, digits, `.`, `_` and `-`, so that it can stand in names of other things."""
    name = validation.text(value, "project")
    if not all(char.isalnum() or char in "._-" for char in name):
        raise Invalid(f"project must be made of letters, digits, '.', '_' and '-', not {name!r:.80}.", field="project")
    return name


def expiry(value: Any, now: int) -> int:
    """An instant to come, or a duration from now."""
    at = validation.instant(value, "expires", now, durations=True)
    if at < now + seconds(MIN_EXPIRY_S):
        raise Invalid("expires must lie ahead: nobody could use the token.", field="expires")
    return at


def named(tokens: Sequence[Kept], name: str, now: int) -> Kept:
    """The token of this id, else the one live token of this name."""
    for token in tokens:
        if token.id == name:
            return token
    live = [token for token in tokens if token.name == name and token.is_live(now)]
    if len(live) > 1:
        ids = ", ".join(token.id for token in live[:5])
        raise Invalid(f"{len(live)} tokens have the name {name!r}: say which by its id ({ids}).", field="token")
    if not live:
        raise NotFound(f"There is no token {name!r:.80}. `dibs token ls` shows the ones there are.", field="token")
    return live[0]


def is_forgotten(token: Kept, now: int) -> bool:
    """Whether it ended so long ago that nobody asks for it."""
    return token.ends_at is not None and token.ends_at + FORGOTTEN_AFTER < now


def _checksum(body: str) -> str:
    return _base62(crc32(body.encode()), _CHECK_CHARS)


def _base62(number: int, chars: int) -> str:
    found = []
    for _ in range(chars):
        number, rest = divmod(number, 62)
        found.append(_ALPHABET[rest])
    return "".join(reversed(found))
