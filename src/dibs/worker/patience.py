"""Patience with a store that is away: the same call again after pauses that grow, for calls that can be repeated."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from dibs.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 2.0


async def patiently(ask: Callable[[], Awaitable[T]], may_wait: Callable[[], bool]) -> T:
    """The answer to `ask`. While it is Unavailable it is asked again, if `may_wait` says so after each pause."""
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            return await ask()
        except Unavailable:
            await asyncio.sleep(pause_s)
            if not may_wait():
                raise
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
