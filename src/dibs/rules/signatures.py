"""Who sent a webhook: signatures over what was received, made with a secret that both know.

| scheme | signed | header |
|---|---|---|
| `github` | the body | `X-Hub-Signature-256: sha256=HEX` |
| `slack` | `v0:TIMESTAMP:BODY` | `X-Slack-Signature: v0=HEX`, `X-Slack-Request-Timestamp` |
| `standard` | `ID.TIMESTAMP.BODY` | `Webhook-Signature: v1,BASE64 …`, `Webhook-Id`, `Webhook-Timestamp` |

A delivery is known by what is signed: so that one that was recorded and is sent again, with other headers around it, is
the same one. Where a time is signed, it must be within five minutes of ours. Whatever is wrong, nothing more is said
than that; signatures are compared in constant time, with each of the secrets.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING

from msgspec import Struct

from dibs.errors import Denied, Invalid
from dibs.model.instants import seconds
from dibs.rules import validation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GITHUB, SLACK, STANDARD = "github", "slack", "standard"
SCHEMES = (GITHUB, SLACK, STANDARD)
TOLERANCE_S = 300.0
PREFIX = "whsec_"
MIN_SECRET_CHARS = 16
MAX_SECRETS = 5
"""Several hold at once while one takes the place of another."""


class Delivery(Struct, frozen=True):
    """What was received, from whom it says it is: `id` tells it apart from all others of its sender."""

    id: str
    type: str | None = None


def parse_scheme(scheme: object) -> str:
    if not isinstance(scheme, str) or scheme not in SCHEMES:
        raise Invalid(f"scheme must be one of {', '.join(SCHEMES)}, not {scheme!r:.80}.", field="scheme")
    return scheme


def parse_secrets(secrets: object, scheme: str) -> tuple[str, ...]:
    """One secret or several, checked."""
    given = [secrets] if isinstance(secrets, str) else secrets
    if not isinstance(given, list | tuple) or not 1 <= len(given) <= MAX_SECRETS:
        raise Invalid(f"secret must be a text, or a list of up to {MAX_SECRETS} of them.", field="secret")
    for secret in given:
        text = validation.text(secret, "secret")
        if scheme == STANDARD:
            _standard_key(text)
        elif len(text) < MIN_SECRET_CHARS:
            raise Invalid(f"secret must have at least {MIN_SECRET_CHARS} characters.", field="secret")
    return tuple(given)


def secret_from(drawn: bytes, scheme: str) -> str:
    """A secret made of random bytes."""
    return PREFIX + b64encode(drawn).decode() if scheme == STANDARD else drawn.hex()


def verify(scheme: str, secrets: Sequence[str], headers: Mapping[str, str], body: bytes, now: int) -> Delivery:
    """Whose signature is right. Headers are found whatever their case. Raises Denied."""
    found = {name.lower(): value for name, value in headers.items()}
    if scheme == GITHUB:
        _check(secrets, body, [found.get("x-hub-signature-256", "")], "sha256=")
        return Delivery(_digest(body), found.get("x-github-event"))
    if scheme == SLACK:
        stamp = _stamp(found.get("x-slack-request-timestamp"), now)
        _check(secrets, b"v0:%s:%s" % (stamp, body), [found.get("x-slack-signature", "")], "v0=")
        return Delivery(_digest(stamp + b":" + body))
    id = found.get("webhook-id", "")
    stamp = _stamp(found.get("webhook-timestamp"), now)
    signed = b"%s.%s.%s" % (id.encode("utf-8", "replace"), stamp, body)
    keys = [_standard_key(secret) for secret in secrets]
    given = found.get("webhook-signature", "").split()[: 2 * MAX_SECRETS]
    right = [f"v1,{b64encode(hmac.new(key, signed, sha256).digest()).decode()}" for key in keys]
    if not id or not _any_equal(given, right):
        raise _refused()
    return Delivery(_digest(id.encode("utf-8", "replace")))


def sign(scheme: str, secret: str, body: bytes, *, id: str, stamp: int) -> dict[str, str]:
    """The headers that a sender of this scheme would add; for trying out triggers."""
    text = b"%d" % stamp
    if scheme == GITHUB:
        return {"X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, sha256).hexdigest()}
    if scheme == SLACK:
        made = hmac.new(secret.encode(), b"v0:%s:%s" % (text, body), sha256).hexdigest()
        return {"X-Slack-Request-Timestamp": text.decode(), "X-Slack-Signature": f"v0={made}"}
    made = b64encode(hmac.new(_standard_key(secret), b"%s.%s.%s" % (id.encode(), text, body), sha256).digest()).decode()
    return {"Webhook-Id": id, "Webhook-Timestamp": text.decode(), "Webhook-Signature": f"v1,{made}"}


def _check(secrets: Sequence[str], signed: bytes, given: list[str], prefix: str) -> None:
    right = [prefix + hmac.new(secret.encode(), signed, sha256).hexdigest() for secret in secrets]
    if not _any_equal(given, right):
        raise _refused()


def _any_equal(given: Sequence[str], right: Sequence[str]) -> bool:
    """Whether one of the given is one of the right ones; all are compared, so that the time says nothing."""
    equal = False
    for each in given:
        for other in right:
            equal |= hmac.compare_digest(each.encode("utf-8", "replace"), other.encode())
    return equal


def _stamp(written: str | None, now: int) -> bytes:
    """The seconds that were signed, if they are about now."""
    if written is None or not (written.isascii() and written.isdigit() and len(written) <= 12):
        raise _refused()
    if abs(int(written) * 1_000_000 - now) > seconds(TOLERANCE_S):
        raise Denied("The signature of this webhook is too old, or from the future.", code="stale_signature")
    return written.encode()


def _standard_key(secret: str) -> bytes:
    try:
        key = b64decode(secret.removeprefix(PREFIX), validate=True)
    except (NotBase64, ValueError):
        key = b""
    if not 16 <= len(key) <= 128:
        raise Invalid(f"secret must be {PREFIX} and 16 to 128 bytes in base64.", field="secret")
    return key


def _digest(signed: bytes) -> str:
    return blake2b(signed, digest_size=16).hexdigest()


def _refused() -> Denied:
    return Denied("The signature of this webhook is missing or wrong.", code="bad_signature")
