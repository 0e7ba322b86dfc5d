"""Slots of types: how many tasks of a type may be held at once, counted from what is held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.model.views import TypeSlots
from dibs.rules import slots as rules

if TYPE_CHECKING:
    from dibs.stores.ledger.state import State


def rooms(state: State, project: str) -> dict[str, int]:
    """How many more tasks of each type that has slots may be handed out."""
    slots = {type: most for (home, type), most in state.type_slots.items() if home == project}
    return rules.rooms(slots, _held(state, project)) if slots else {}


def set_type_slots(state: State, project: str, type: str, slots: int | None) -> TypeSlots | None:
    """How many may be held at once; None: any number."""
    if slots is None:
        state.type_slots.pop((project, type), None)
    else:
        state.type_slots[project, type] = slots
    state.changed = True
    return next((found for found in type_slots(state, project) if found.type == type), None)


def type_slots(state: State, project: str) -> list[TypeSlots]:
    """Of each type that has slots, how many, and how many are taken; by type."""
    held = _held(state, project)
    return [
        TypeSlots(type=type, slots=most, held=held.get(type, 0))
        for (home, type), most in sorted(state.type_slots.items())
        if home == project
    ]


def _held(state: State, project: str) -> dict[str, int]:
    """How many tasks of each type are held, or were cancelled and not stopped yet."""
    held: dict[str, int] = {}
    for record in state.occupied():
        if record.spec.project == project:
            held[record.spec.type] = held.get(record.spec.type, 0) + 1
    return held
