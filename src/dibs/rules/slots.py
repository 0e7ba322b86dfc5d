"""Slots of a type: at most so many of its tasks are worked on at once. A lane gate.

A claim counts once what is held of each such type, and takes no more of it than there are slots left; whatever it
leaves stays ready, and no task is parked or written for it. What was cancelled counts until its agent has stopped.
Where fewer slots are set than are taken, nothing is stopped; nothing new begins until enough have ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.closures import Closure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dibs.model.views import Lane, TypeSlots

PREFIX = "slots:"
"""How the gate of a type that has no slot left is called: `slots:render`."""


def rooms(slots: Mapping[str, int], held: Mapping[str, int]) -> dict[str, int]:
    """How many more tasks of each type that has slots may be handed out."""
    return {type: max(0, most - held.get(type, 0)) for type, most in slots.items()}


def told(found: TypeSlots) -> Closure | None:
    """The gate of a type as people see it while no slot is left; None while there is one."""
    if found.held < found.slots:
        return None
    return Closure(
        gate=f"{PREFIX}{found.type}",
        kind="slots",
        type=found.type,
        reason=f"{found.held} of {found.slots} tasks of this type run",
        help=f"wait for one to end, or let more run: dibs slots --type {found.type} {found.held + 1}",
    )


def mark(lanes: Iterable[Lane], known: Iterable[TypeSlots]) -> None:
    """Write to each lane how many slots its type has, and how many are taken; nothing where there is no such limit."""
    by_type = {found.type: found for found in known}
    for lane in lanes:
        found = by_type.get(lane.type)
        if found is not None:
            lane.slots, lane.held = found.slots, found.held
