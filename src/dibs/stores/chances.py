"""A claim that is sent the moment its store hears of news, before whoever waits for it is woken.

A process that has slept takes a while to come to its claim. A store may offer `wait_for_chance` beside `wait_for_news`;
one that does not is waited for, and then asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio

    from dibs.stores.contract import Store
    from dibs.stores.values import Claimed, ClaimRequest


class Chance:
    """What to claim when there is news. Whoever makes one looks at `taking` in any case, also if it is cancelled: what
    was taken is its own."""

    __slots__ = ("asked", "request", "seen", "taking")

    def __init__(self, request: ClaimRequest) -> None:
        self.request = request
        self.taking: asyncio.Future[Claimed | None] | None = None
        """The claim under way; None: there is none. It ends with None where nothing was decided: claim as ever."""
        self.asked = 0.0
        """When it was sent, by the monotonic clock of this process."""
        self.seen = 0
        """The news that it was sent for: what came later it may not have seen."""


class WaitForChance(Protocol):
    """As `Store.wait_for_news`, with a chance that may have been used when it returns."""

    async def __call__(self, chance: Chance, since: int, timeout_s: float) -> int: ...


def wait_for_chance(store: Store) -> WaitForChance | None:
    """How to wait for a chance in a store; None: it has no such thing."""
    found: WaitForChance | None = getattr(store, "wait_for_chance", None)
    return found
