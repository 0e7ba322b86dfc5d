"""How a store stands: open, or on its way to or from another one. Kept in the store itself, for every process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from dibs.errors import Conflict, Moved, Unavailable

if TYPE_CHECKING:
    from dibs.errors import DibsError

OPEN, FILLING, CLOSED, MOVED = "open", "filling", "closed", "moved"
"""How a store stands. Open: as ever. Filling: another is copied into it. Closed: it is being left, this very moment.
Moved: everything is elsewhere now."""


class Standing(Struct, kw_only=True, omit_defaults=True):
    """How a store stands, and what is to be known to go on.

    `peer` is the other store as people see it, `url` what whoever comes here is told to connect to. `copied`: up to
    which number tasks were copied into this store, `whole` once all were; `seq`: the last event of the other store
    that was replayed here. `turn` counts the switches between the two: of two that have moved, the one with the higher
    turn was left last. `final`: there is no way back.
    """

    state: str = OPEN
    peer: str | None = None
    url: str | None = None
    copied: int = 0
    whole: bool = False
    seq: int = 0
    turn: int = 0
    final: bool = False

    @property
    def may_carry_in(self) -> bool:
        """Whether tasks of the other store may be written here."""
        return self.state == FILLING or (self.state == MOVED and not self.final)


def refusal(standing: Standing) -> DibsError | None:
    """What whoever wants to change something is told; None: go ahead."""
    if standing.state == OPEN:
        return None
    if standing.state == MOVED:
        return Moved(f"Everything moved from here: connect to {standing.url}.", url=standing.url or "")
    if standing.state == FILLING:
        return Unavailable(
            f"This store is being filled from {standing.peer}: use that one until `dibs migrate --cutover`.",
            code="filling",
        )
    return Unavailable(f"Everything is just moving from here to {standing.peer}: try again in a moment.", code="moving")


def check(standing: Standing, expected: str | None) -> None:
    """Somebody wants to change how a store stands that, as far as he knows, stands so. Raises Conflict."""
    if expected is not None and standing.state != expected:
        raise Conflict(
            f"This store is {standing.state}, not {expected}: somebody else is moving it.", code="stands_otherwise"
        )


def not_filling(standing: Standing) -> Unavailable:
    """What whoever carries tasks into a store is told that does not expect any."""
    return Unavailable(f"This store is {standing.state}: nothing is carried into it.", code="not_filling")
