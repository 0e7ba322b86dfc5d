"""Documents: small values beside the tasks, which a store keeps by project, kind and name, and counts the versions of.

Whoever writes one says which version they have seen; so of two that change the same one, one is told.
"""

from __future__ import annotations

from dibs.errors import Conflict, Invalid
from dibs.rules import validation

MAX_BODY_BYTES = 64 << 10
MAX_VERSION = 1 << 53
MAX_LISTED = 10_000


def check(kind: object, name: object, body: object, expected: object) -> None:
    """What may be written; the field at fault is named."""
    validation.text(kind, "kind")
    validation.text(name, "name")
    if body is not None and not isinstance(body, bytes):
        raise Invalid("body must be bytes, or None to remove the document.", field="body")
    if body is not None and len(body) > MAX_BODY_BYTES:
        raise Invalid(
            f"body has {len(body):,} bytes; at most {MAX_BODY_BYTES:,} are kept. Make it shorter.", field="body"
        )
    if expected is not None:
        validation.whole(expected, "expected", 0, MAX_VERSION)


def next_version(version: int, expected: int | None, name: str, *, removes: bool, now: int) -> int:
    """The version after a write; 0: there is none any more. `version` is what is there now, 0 for nothing.

    The first version is the time: who still knows one that was removed cannot take a later one for it.

    Raises Conflict (code `version_conflict`) if that is not what was expected.
    """
    if expected is not None and expected != version:
        raise changed_meanwhile(name, version, expected)
    if removes:
        return 0
    return version + 1 if version else max(now, 1)


def changed_meanwhile(name: str, version: int, expected: int) -> Conflict:
    """Somebody else wrote it."""
    found = f"has version {version}" if version else "does not exist"
    wanted = f"version {expected}" if expected else "none"
    return Conflict(
        f"{name} {found}, and {wanted} was expected: read it again.", code="version_conflict", field="expected"
    )
