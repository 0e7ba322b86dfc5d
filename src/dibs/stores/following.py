"""A store that is followed when everything in it moves elsewhere, so that whoever uses it need not be started again.

A call that is refused because its store has moved is made once more where everything is now: nothing was done, so
nothing happens twice. While a store is being left, which takes moments, calls wait for that. Reading is never refused;
so whoever reads, or waits for news, looks once a second whether this is still the right store.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from dibs.errors import Moved, Unavailable
from dibs.stores import chances
from dibs.stores.standing import CLOSED, FILLING, MOVED, refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dibs.stores.chances import Chance
    from dibs.stores.contract import Store
    from dibs.stores.standing import Standing

PATIENCE_S = 10.0
"""How long a call waits for a store that is being left."""
PAUSE_S = 0.1
LOOK_EVERY_S = 1.0
MOST_MOVES = 5
"""How often a call follows: stores that send it to each other are a mistake of somebody's."""

_PLAIN = frozenset({"url", "late_drafts", "schema_version", "clock"})
"""What is no verb."""
_READS = frozenset(
    {
        *("agents", "artifacts", "backoffs", "breakers", "budgets", "dag", "dead_letter_ids", "dead_letters"),
        *("dags", "documents", "ends", "events", "find_ids", "histories", "ready", "spending"),
        *("find", "get", "history", "inbox", "ladders", "last_seq", "locks", "metrics", "pauses", "questions"),
        *("projects", "rates", "read_journal", "stats", "type_slots", "wait_for_news"),
    }
)
"""What a store that has moved still answers, as of then."""


def following(store: Store, reopen: Callable[[str], Store], *, blocking: bool = False) -> Store:
    """The store, and wherever it moves to."""
    return cast("Store", Follower(store, reopen, blocking=blocking))


class Follower:
    """The store that everything is in, as far as is known."""

    def __init__(self, store: Store, reopen: Callable[[str], Store], *, blocking: bool) -> None:
        self._store = store
        self._left: list[Store] = []
        self._reopen = reopen
        self._blocking = blocking
        self._look_at = 0.0
        self.on_move: Callable[[str], None] | None = None
        """Told the new URL, once everything is there."""

    def now(self) -> int:
        """By the clock of the store."""
        return self._store.now()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in _PLAIN or name.startswith("_"):
            return found
        call = self._followed(name, found)
        # Found without this way the next time.
        self.__dict__[name] = call
        return call

    def _followed(self, name: str, verb: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return await verb(*args, **kwargs)
            except Unavailable as error:
                if error.code not in ("moved", "moving"):
                    raise
                return await self._elsewhere(name, args, kwargs, error)

        async def read(*args: Any, **kwargs: Any) -> Any:
            if time.monotonic() >= self._look_at:
                await self._look()
            return await getattr(self._store, name)(*args, **kwargs)

        async def wait_for_chance(chance: Chance, since: int, timeout_s: float) -> int:
            if time.monotonic() >= self._look_at:
                await self._look()
            # Everything may be in a store by now that has no such thing.
            waits = chances.wait_for_chance(self._store)
            waiting = self._store.wait_for_news(since, timeout_s) if waits is None else waits(chance, since, timeout_s)
            return await waiting

        if name == "wait_for_chance":
            return wait_for_chance
        return read if name in _READS else call

    async def connect(self) -> None:
        """Reach the store; if everything in it has moved, the one where it is."""
        await self._store.connect()
        await self._look()

    async def close(self) -> None:
        """Let go of all of them."""
        for store in (*self._left, self._store):
            await store.close()

    async def _look(self) -> None:
        self._look_at = time.monotonic() + LOOK_EVERY_S
        for _ in range(MOST_MOVES):
            standing = await self._store.standing()
            if standing.state != MOVED:
                return
            await self._move(self._store, standing)

    async def _elsewhere(self, name: str, args: Any, kwargs: Any, error: Unavailable) -> Any:
        """Make a refused call where everything is by now."""
        until = time.monotonic() + PATIENCE_S
        moves = 0
        while True:
            store = self._store
            standing = await store.standing()
            if standing.state in (CLOSED, FILLING):
                # Of two that are being switched, one is left before the other opens.
                if time.monotonic() > until:
                    raise refusal(standing) or error
                await self._pause()
                continue
            if standing.state == MOVED:
                moves += 1
                if moves > MOST_MOVES:
                    raise refusal(standing) or error
                await self._move(store, standing)
            try:
                return await getattr(self._store, name)(*args, **kwargs)
            except Unavailable as again:
                if again.code not in ("moved", "moving", "filling"):
                    raise
                error = again

    async def _move(self, left: Store, standing: Standing) -> None:
        """Use the other store from now on."""
        if not standing.url:
            raise Moved(f"Everything moved from here to {standing.peer}: connect to that.", url="")
        if self._blocking:
            store = self._reopen(standing.url)
        else:
            import asyncio

            store = await asyncio.to_thread(self._reopen, standing.url)
        await store.connect()
        if self._store is not left:
            # Somebody else was here meanwhile.
            await store.close()
            return
        self._left.append(left)
        self._store = store
        for name in [name for name in self.__dict__ if not name.startswith("_") and name != "on_move"]:
            del self.__dict__[name]
        if self.on_move is not None:
            self.on_move(store.url)

    async def _pause(self) -> None:
        if self._blocking:
            time.sleep(PAUSE_S)  # noqa: ASYNC251 - a blocking store suspends nobody
        else:
            import asyncio

            await asyncio.sleep(PAUSE_S)
