"""The verbs about locks and their slots. `Queue` has them; they are written here.

A lock is taken and given back with a claim (`add(locks=…)`), never by a verb.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.rules import locks, validation

if TYPE_CHECKING:
    from dibs.model.views import Lock
    from dibs.stores.contract import Store


class Locks:
    """What the tasks of a queue hold, some at a time."""

    store: Store
    project: str

    async def locks(self) -> list[Lock]:
        """Locks that are held or waited for, and those with slots of their own: who holds them, how many wait."""
        return await self.store.locks(self.project)

    async def set_slots(self, name: str, slots: int) -> Lock:
        """How many tasks may hold this lock at once; 1 unless this was called. Whoever holds it keeps it."""
        locks.check_name(validation.text(name, "name"), "name")
        return await self.store.set_slots(
            self.project,
            name,
            validation.whole(slots, "slots", 1, locks.MAX_SLOTS),
        )
