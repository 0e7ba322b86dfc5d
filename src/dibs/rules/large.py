"""Large values: payloads and outputs above 64 KiB, kept out of line and read only where somebody asks for them.

A task that is got or claimed has them as they were handed in. Lists name them: `{"ref": "task:ID:output"}`.

Where somebody said where artifacts are kept, their bytes lie there, found by their content, and the store keeps a
*mark* in place of the value. What others hand in and looks like a mark is wrapped: every mark in a store is ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.json import decode, encode

from dibs.rules.validation import INLINE_OUTPUT_BYTES

LARGE_BYTES = INLINE_OUTPUT_BYTES
PAYLOAD, OUTPUT = "payload", "output"

KEPT_AS = "dibs:output"
"""The name of the artifact for which the bytes of an output are kept. Nobody is shown it, or may use it."""

AWAY = "artifacts_away"
"""The reason of a claim that was given back because what it needs could not be read from there."""

MARK = "dibs:kept"
"""The only key of a mark."""
_BEGINNING = b'{"dibs:kept":'
_WRAPPED = {"value"}
_KEPT = {"digest", "size", "ref"}
PAYLOAD_MARK = '"payload":{"dibs:kept":{"digest":"'
"""What every specification contains whose payload lies elsewhere."""


class Kept(NamedTuple):
    """Where the bytes of a value lie, how many they are, and whose they are: `task:ID:output`."""

    digest: str
    size: int
    ref: str


def named(task_id: str, part: str) -> dict[str, str]:
    """What stands for the payload or the output of a task where it is not carried."""
    return {"ref": f"task:{task_id}:{part}"}


def mark(kept: Kept) -> bytes:
    """What the store keeps (JSON) in place of a value whose bytes lie elsewhere."""
    return encode({MARK: kept._asdict()})


def is_noticed(body: bytes) -> bool:
    """Whether a value (JSON) is large, or looks like a mark: all others go to the store as they are."""
    return len(body) > LARGE_BYTES or body.startswith(_BEGINNING)


def is_mark(body: bytes) -> bool:
    """Whether what a store keeps (JSON) may be a mark: it says how large the value is."""
    return body.startswith(_BEGINNING)


def guarded(body: bytes) -> bytes:
    """A value (JSON) as the store keeps it: itself, unless it looks like a mark."""
    return encode({MARK: {"value": decode(body)}}) if is_mark(body) else body


def size_of(body: bytes) -> int:
    """How many bytes a value has that the store keeps like this, here or elsewhere."""
    if not is_mark(body):
        return len(body)
    kept = kept_as(decode(body))
    return kept.size if isinstance(kept, Kept) else len(body)


def kept_as(value: Any) -> Any:
    """A value from a store as it was handed in, or `Kept` if its bytes lie elsewhere."""
    if type(value) is not dict or len(value) != 1 or MARK not in value:
        return value
    inside = value[MARK]
    if type(inside) is dict:
        if inside.keys() == _WRAPPED:
            return inside["value"]
        if inside.keys() == _KEPT:
            return Kept(**inside)
    return value


def payload_digests(spec: str) -> list[str]:
    """The digest of a payload that lies elsewhere, found in its specification (JSON); perhaps more than that."""
    import re

    return re.findall(re.escape(PAYLOAD_MARK) + "(sha256:[0-9a-f]{64})", spec)
