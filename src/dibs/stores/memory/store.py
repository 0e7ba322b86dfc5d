"""The memory store: the steps of the ledger, on a state in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dibs.errors import Unavailable
from dibs.stores.ledger.carrying import guarded
from dibs.stores.ledger.store import LedgerStore
from dibs.stores.memory.sharing import Shared, open_shared

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dibs.stores.ledger.state import State

T = TypeVar("T")


class MemoryStore(LedgerStore):
    """Tasks in this process; with a name, shared by all stores of that name. `stores.contract` says the rest."""

    def __init__(
        self, name: str | None = None, *, clock: Callable[[], int] | None = None, blocking: bool = False
    ) -> None:
        self.url = f"memory:{name or ''}"
        self._blocking = blocking
        self._open: Shared | None = open_shared(name, clock)

    @property
    def schema_version(self) -> None:
        return None

    @property
    def _shared(self) -> Shared:
        if self._open is None:
            raise Unavailable("This memory store is closed: open it again.")
        return self._open

    async def connect(self) -> None:
        """It is connected already."""

    async def _step(self, step: Callable[[State], T], tasks: Sequence[str] = ()) -> T:
        with self._shared as state:
            return guarded(state, step)

    async def _look(self, look: Callable[[State], T], tasks: Sequence[str] = ()) -> T:
        return await self._anyway(look)

    async def _anyway(self, step: Callable[[State], T]) -> T:
        with self._shared as state:
            return step(state)

    def now(self) -> int:
        return self._shared.now()

    @property
    def clock(self) -> Callable[[], int]:
        return self.now

    async def news(self) -> int:
        return self._shared.news

    async def wait_for_news(self, since: int, timeout_s: float) -> int:
        if self._blocking:
            return self._shared.block_until_news(since, timeout_s)
        return await self._shared.sleep_until_news(since, timeout_s)

    async def advise(self) -> list[str]:
        return []

    async def close(self) -> None:
        self._open = None
