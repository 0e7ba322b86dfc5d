"""What a duty works with."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dibs.rules.schedule import RETENTION_S, slept

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.model.trigger import Trigger
    from dibs.rules.retry import PoisonPolicy
    from dibs.stores.contract import Store

BATCH = 500
"""How much one pass of a duty takes on; the next pass goes on."""


class Desk:
    """A store, and the choices the duties need: the random draw, the poison rule, how long things are kept."""

    __slots__ = ("_looked_at", "draw", "poison", "retention_s", "store", "triggers")

    def __init__(
        self,
        store: Store,
        *,
        draw: Callable[[], float],
        poison: PoisonPolicy | None = None,
        retention_s: float = RETENTION_S,
    ) -> None:
        self.store = store
        self.draw = draw
        self.poison = poison
        self.retention_s = retention_s
        self._looked_at = (time.time(), time.monotonic())
        self.triggers: tuple[int, list[tuple[str, Trigger]]] | None = None
        """Every trigger with its project, as of this version of their clock document."""

    def woke_up(self) -> bool:
        """Whether the machine slept since this was asked before. The monotonic clock stands still in sleep."""
        (wall, running), self._looked_at = self._looked_at, (time.time(), time.monotonic())
        return slept(self._looked_at[0] - wall, self._looked_at[1] - running)
