"""What a duty works with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules.schedule import RETENTION_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from dibs.rules.retry import PoisonPolicy
    from dibs.stores.contract import Store

BATCH = 500
"""How much one pass of a duty takes on; the next pass goes on."""


class Desk:
    """A store, and the choices the duties need: the random draw, the poison rule, how long things are kept."""

    __slots__ = ("draw", "poison", "retention_s", "store")

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
