"""Ports that stay free until somebody takes them, also while a server is stopped and started again.

What the system gives to whoever asks for any port, and to every connection that is opened, comes from a range of its
own. A port of that range may be gone a moment after it was found free; so these lie below it.
"""

from __future__ import annotations

import random
import socket
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_OURS = range(10_000, 20_000)
BUS = 10_000
"""How far above its port a node of a Redis Cluster has the one for other nodes."""
_draw = random.SystemRandom()


def free_port() -> int:
    """A port of 127.0.0.1 that nobody has, nor the one `BUS` above it."""
    while True:
        with socket.socket() as found, socket.socket() as bus:
            try:
                found.bind(("127.0.0.1", _draw.choice(_OURS) if _is_ours() else 0))
                port: int = found.getsockname()[1]
                bus.bind(("127.0.0.1", port + BUS))
            except (OSError, OverflowError):
                continue
            return port


@contextmanager
def nobody_at() -> Iterator[int]:
    """A port that nobody listens at, and that nobody else can take meanwhile: whoever connects is refused."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@cache
def _is_ours() -> bool:
    """Whether the system gives none of ours away."""
    try:
        lowest = int(_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return False
    return lowest >= _OURS.stop + BUS
