"""The claims that this server handed out lately, so that ending one needs no look at what it was.

They are what an agent inside the process would hold itself. A claim that is not here any more, or was handed out by
another server, is looked up in the store.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dibs.model.claim import Claim

MAX_CLAIMS = 50_000
MAX_BYTES = 64 << 20

Key = tuple[str, str, int]


class HeldClaims:
    """The newest claims, up to so many, and so many bytes as they were sent."""

    def __init__(self) -> None:
        self._claims: OrderedDict[Key, tuple[Claim, int]] = OrderedDict()
        self._bytes = 0

    def keep(self, project: str, claims: Iterable[Claim], each_bytes: int) -> None:
        """Remember claims, each with about so many bytes; without what only the work itself needs."""
        for claim in claims:
            bare = replace(
                claim, inputs={}, children={}, answers={}, checkpoint=None, context=None, group=[], made=None
            )
            key = (project, claim.task.id, claim.fence)
            self._drop(key)
            self._claims[key] = (bare, each_bytes)
            self._bytes += each_bytes
        while self._claims and (len(self._claims) > MAX_CLAIMS or self._bytes > MAX_BYTES):
            self._bytes -= self._claims.popitem(last=False)[1][1]

    def find(self, project: str, task_id: str, fence: int) -> Claim | None:
        """The claim, if it is remembered."""
        found = self._claims.get((project, task_id, fence))
        return None if found is None else found[0]

    def forget(self, project: str, task_id: str, fence: int) -> None:
        """It has ended. Whoever says so again is answered from the store."""
        self._drop((project, task_id, fence))

    def _drop(self, key: Key) -> None:
        found = self._claims.pop(key, None)
        if found is not None:
            self._bytes -= found[1]
