"""Slots of types: how many tasks of a type may be held at once. functions/slots.sql counts, and claims go by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dibs.model.views import TypeSlots

if TYPE_CHECKING:
    from dibs.stores.postgres.engine import Engine

_decode = msgspec.json.Decoder(list[tuple[str, int, int]]).decode


async def set_type_slots(engine: Engine, project: str, type: str, slots: int | None) -> TypeSlots | None:
    """How many may be held at once; None: any number."""
    found = _shown(await engine.value("SELECT dibs.set_type_slots($1, $2, $3)", project, type, slots))
    engine.changed()
    return found[0] if found else None


async def type_slots(engine: Engine, project: str) -> list[TypeSlots]:
    """Of each type that has slots, how many, and how many are taken; by type."""
    return _shown(await engine.value("SELECT dibs.type_slots_of($1, NULL)", project))


def _shown(text: str) -> list[TypeSlots]:
    return [TypeSlots(type=type, slots=slots, held=held) for type, slots, held in _decode(text)]
