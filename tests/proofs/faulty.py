"""A store that fails on purpose: at its n-th call it is away, before the call or after it took effect.

`Faulty` is for clients that repeat a verb; `Away` is a store that cannot be reached for a while.
"""

from __future__ import annotations

from typing import Any

from dibs.errors import Unavailable

NEVER_FAILS = ("now", "close", "url", "schema_version", "clock", "late_drafts")


class Faulty:
    """The n-th call raises Unavailable: `before` it is made, or `after` it was made (its answer is lost)."""

    def __init__(self, store: Any, failing: int, when: str) -> None:
        self._store = store
        self._failing = failing
        self._when = when
        self.called: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in NEVER_FAILS:
            return found

        async def call(*args: Any, **kwargs: Any) -> Any:
            self.called.append(name)
            fails = len(self.called) == self._failing
            if fails and self._when == "before":
                raise Unavailable("The store is away.")
            answer = await found(*args, **kwargs)
            if fails:
                raise Unavailable("The answer was lost.")
            return answer

        return call


class Away:
    """A store that is away while `.away` is true: no call is made, all (or those named) are answered Unavailable."""

    def __init__(self, store: Any, *only: str) -> None:
        self._store = store
        self._only = only
        self.away = False
        self.refused: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in NEVER_FAILS:
            return found

        async def call(*args: Any, **kwargs: Any) -> Any:
            if self.away and (not self._only or name in self._only):
                self.refused.append(name)
                raise Unavailable("The store is away.")
            return await found(*args, **kwargs)

        return call
