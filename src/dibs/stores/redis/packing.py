"""Commands on their way to a script, as MessagePack.

The scripts' library reads no binary strings, only raw ones; these hold any bytes.
"""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.stores.redis.reading import Command

PORTION = 500
"""How many commands are packed into one argument."""


def packed(commands: Sequence[Command]) -> list[bytes]:
    """Arguments that each hold many commands."""
    return [array(_command(one) for one in commands[start : start + PORTION]) for start in _starts(commands)]


def packed_values(values: list[str | bytes | float]) -> bytes:
    """An array of texts and numbers."""
    return array(map(_value, values))


def _value(value: str | bytes | float) -> bytes:
    return b"\xcb" + pack(">d", value) if isinstance(value, float) else _text(value)


def _starts(commands: Sequence[Command]) -> range:
    return range(0, len(commands), PORTION)


def _command(command: Command) -> bytes:
    return array(_text(part) for part in command)


def array(parts: Iterable[bytes]) -> bytes:
    """An array of what is packed."""
    found = list(parts)
    count = len(found)
    head = bytes((0x90 | count,)) if count < 16 else b"\xdd" + count.to_bytes(4)
    return head + b"".join(found)


def _text(part: str | bytes | int | float) -> bytes:
    text = part if isinstance(part, bytes) else part.encode() if isinstance(part, str) else repr(part).encode()
    size = len(text)
    return (bytes((0xA0 | size,)) if size < 32 else b"\xdb" + size.to_bytes(4)) + text
