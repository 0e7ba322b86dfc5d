"""Signatures of what is sent, as Standard Webhooks has them: the receiver learns who sent it, when, and that nobody
changed it.

Signed are the message's id, the second in which it was sent, and the body, with a full stop between: HMAC-SHA256 with
the secret's bytes. A request may carry several signatures, one of which must be right: so a secret can be replaced
while both are known.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PREFIX = "whsec_"
SECRET_BYTES = 32


def secret_of(key: bytes) -> str:
    """Random bytes as a secret that people can copy."""
    return PREFIX + b64encode(key).decode()


def headers(message_id: str, second: int, body: bytes, secrets: Iterable[str]) -> dict[str, str]:
    """The three headers of Standard Webhooks."""
    content = f"{message_id}.{second}.".encode() + body
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(second),
        "webhook-signature": " ".join(f"v1,{_signature(secret, content)}" for secret in secrets),
    }


def _signature(secret: str, content: bytes) -> str:
    key = b64decode(secret.removeprefix(PREFIX))
    return b64encode(hmac.new(key, content, sha256).digest()).decode()
