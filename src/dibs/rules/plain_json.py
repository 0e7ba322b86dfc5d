"""JSON that every store can keep: refused from people when it is not, repaired from agents.

Payloads are checked on every add, so the common case costs one encode, one decode and one comparison, all
in C: a value that comes back equal held nothing but JSON. Only suspicious values are walked in Python, and
never by recursion deeper than the limit.
"""

from __future__ import annotations

from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING, Any

from msgspec import json as _json

from dibs.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_DEPTH = 64

_TOO_DEEP = "[nested too deeply]"
_CIRCULAR = "[contains itself]"
_REPLACEMENT = "\ufffd"

_encode = _json.Encoder().encode
_decode = _json.Decoder().decode

# Python refuses to write longer numbers in decimal (4,300 digits).
_MAX_INT_BITS = 14_280


def json_bytes(value: Any, field: str, *, max_bytes: int, max_depth: int = MAX_DEPTH) -> bytes:
    """The value as JSON, else `Invalid` that says where and why.

    Refused: anything but JSON, NaN and infinities, keys that are not text, NUL and lone surrogates, nesting
    deeper than `max_depth`, more than `max_bytes`. Tuples are lists.
    """
    encoded = _sound(value, max_depth)
    if encoded is None:
        fault = _find_fault(value, max_depth)
        if fault:
            raise Invalid(f"{field}{fault}.", field=field)
        encoded = _encode_odd(value)
    if len(encoded) > max_bytes:
        raise Invalid(
            f"{field} has {len(encoded):,} bytes as JSON; at most {max_bytes:,} are allowed. "
            "Keep it elsewhere and pass a reference.",
            field=field,
        )
    return encoded


def many_json_bytes(values: list[Any], *, max_bytes: int, max_depth: int = MAX_DEPTH) -> list[bytes] | None:
    """Each value as JSON; None if one of them might be refused, which `json_bytes` will tell of each.

    For what comes in thousands: all of them are decoded and compared at once, at half the cost.
    """
    try:
        encoded = [_encode(value) for value in values]
        together = b"[" + b",".join(encoded) + b"]"
        if _decode(together) != values or b"\\u0000" in together:
            return None
    except (TypeError, ValueError, RecursionError):
        return None
    for each in encoded:
        if len(each) > max_depth and (len(each) > max_bytes or each.count(b"[") + each.count(b"{") > max_depth):
            return None
    return encoded


def clean(value: Any) -> tuple[Any, bool]:
    """An agent's output as something every store can keep, and whether it had to be changed.

    NUL and lone surrogates become U+FFFD; NaN and infinities None; bytes text; anything that is not JSON its
    `str()`; what is nested too deeply, or inside itself, a note. Tuples become lists, which is no change.
    """
    if value is None or _sound(value, MAX_DEPTH) is not None:
        return value, False
    cleaner = _Cleaner()
    return cleaner.value(value, 0), cleaner.changed


def clean_text(value: str | bytes, max_chars: int) -> tuple[str, bool]:
    """An agent's text without NUL and lone surrogates, cut to `max_chars`, and whether it was changed."""
    broken = False
    if isinstance(value, bytes):
        try:
            given = value.decode()
        except UnicodeDecodeError:
            given = value.decode("utf-8", "replace")
            broken = True
    else:
        given = value
    kept = _repaired(given)
    if len(kept) > max_chars:
        kept = kept[: max_chars - 1] + "…" if max_chars > 0 else ""
    return kept, broken or kept != given


def content_key(type: str, payload_json: bytes) -> str:
    """The idempotency key that equal work shares: SHA-256 over the type and the payload with sorted keys."""
    canonical = _json.encode(_json.decode(payload_json), order="sorted")
    # No type contains a NUL, so it separates.
    return sha256(type.encode() + b"\0" + canonical).hexdigest()


def _sound(value: Any, max_depth: int) -> bytes | None:
    """The value as JSON if it is beyond doubt; None if it must be looked at more closely."""
    try:
        encoded: bytes = _encode(value)
        # Whatever is not JSON comes back as something else: NaN as None, a set as a list, a key 1 as "1".
        if _decode(encoded) != value:
            return None
    except (TypeError, ValueError, RecursionError):
        return None
    # A NUL is always escaped like this (and a text about escapes looks the same: the walk tells).
    if b"\\u0000" in encoded:
        return None
    # With no more brackets than levels, nothing can be nested too deeply.
    if encoded.count(b"[") + encoded.count(b"{") > max_depth and not _shallow(value, max_depth):
        return None
    return encoded


def _shallow(value: Any, max_depth: int) -> bool:
    """Whether no container is nested deeper than `max_depth`, looking level by level."""
    level = [value]
    for _ in range(max_depth):
        level = [
            child
            for container in level
            if isinstance(container, (dict, list))
            for child in (container.values() if isinstance(container, dict) else container)
        ]
        if not level:
            return True
    return not any(isinstance(child, (dict, list)) for child in level)


def _find_fault(root: Any, max_depth: int) -> str | None:
    """Something that keeps a value from being plain JSON: where, and what it is; None if nothing does."""
    stack: list[tuple[Any, int, str]] = [(root, 0, "")]
    while stack:
        value, depth, path = stack.pop()
        if not isinstance(value, (dict, list, tuple)):
            fault = _leaf_fault(value)
            if fault:
                return f"{path} {fault}"
        elif depth >= max_depth:
            return f" is nested more than {max_depth} levels deep; flatten it"
        elif isinstance(value, dict):
            for key, item in value.items():
                if not isinstance(key, str):
                    return f"{path} has the key {ascii(key)[:60]}; keys must be text"
                fault = _text_fault(key)
                if fault:
                    return f"{path} has a key that contains {fault}; remove it"
                stack.append((item, depth + 1, f"{path}.{key[:40]}"))
        else:
            stack.extend((item, depth + 1, f"{path}[{index}]") for index, item in enumerate(value))
    return None


def _leaf_fault(value: object) -> str | None:
    if isinstance(value, str):
        fault = _text_fault(value)
        return fault and f"contains {fault}; remove it"
    if isinstance(value, int):
        return "has too many digits; pass it as text" if value.bit_length() > _MAX_INT_BITS else None
    if isinstance(value, float):
        return None if isfinite(value) else "is not a finite number; JSON has no NaN and no infinity"
    return None if value is None else f"is of type {type(value).__name__}, which JSON does not have; convert it"


def _text_fault(value: str) -> str | None:
    if "\0" in value:
        return "a NUL character"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "a lone surrogate"
    return None


def _encode_odd(value: Any) -> bytes:
    """JSON of a value without faults, also where msgspec hesitates (subclasses of str and int)."""
    try:
        return _json.encode(value)
    except TypeError:
        import json

        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _repaired(value: str) -> str:
    """The text with NUL and lone surrogates replaced; surrogates that form a pair become their character."""
    kept = value.replace("\0", _REPLACEMENT)
    try:
        kept.encode()
    except UnicodeEncodeError:
        kept = kept.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return kept


class _Cleaner:
    """One repair of one value. `changed` tells whether anything had to be."""

    def __init__(self) -> None:
        self.changed = False
        self._inside: set[int] = set()

    def value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int):
            return int(value) if value.bit_length() <= _MAX_INT_BITS else self._instead(hex(value))
        if isinstance(value, float):
            return float(value) if isfinite(value) else self._instead(None)
        if isinstance(value, (dict, list, tuple)):
            return self._container(value, depth)
        if isinstance(value, (bytes, bytearray)):
            return self._instead(self._text(value.decode("utf-8", "replace")))
        return self._instead(self._text(_described(value)))

    def _container(self, value: Any, depth: int) -> Any:
        if id(value) in self._inside:
            return self._instead(_CIRCULAR)
        if depth >= MAX_DEPTH:
            return self._instead(_TOO_DEEP)
        self._inside.add(id(value))
        kept: Any = (
            self._entries(value.items(), depth)
            if isinstance(value, dict)
            else [self.value(item, depth + 1) for item in value]
        )
        self._inside.discard(id(value))
        return kept

    def _entries(self, items: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, item in items:
            name = self._text(key) if isinstance(key, str) else self._instead(self._text(_described(key)))
            # Two keys may look alike once repaired; neither value may be lost.
            while name in kept:
                name = self._instead(name + _REPLACEMENT)
            kept[name] = self.value(item, depth + 1)
        return kept

    def _text(self, value: str) -> str:
        kept = _repaired(str.__str__(value))
        if kept != value:
            self.changed = True
        return kept

    def _instead(self, kept: Any) -> Any:
        self.changed = True
        return kept


def _described(value: object) -> str:
    """`str()` of something that is not JSON, whatever its author did to `__str__`."""
    try:
        return str(value)
    except Exception:
        return f"[{type(value).__name__}]"
