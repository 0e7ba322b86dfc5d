"""The verbs about locks and their slots, and slots of types. `Queue` has them; they are written here.

A lock is taken and given back with a claim (`add(locks=…)`), never by a verb.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import Invalid
from dibs.rules import locks, validation

if TYPE_CHECKING:
    from dibs.model.views import Lock, TypeSlots
    from dibs.stores.contract import Store


class Locks:
    """What the tasks of a queue hold, some at a time."""

    store: Store
    project: str

    async def locks(self) -> list[Lock]:
        """Locks that are held or waited for, and those with slots of their own: who holds them, how many wait."""
        return await self.store.locks(self.project)

    async def set_slots(self, name: str | None = None, slots: int | None = None, *, type: str | None = None) -> Any:
        """How many tasks may hold a lock at once (1 unless this was called), or how many of a type may run.

        Whoever holds the lock keeps it, and what runs goes on, also if that is more. For a type, None: any number.
        Answers with the `Lock`, or with the `TypeSlots` (None: there is no limit any more).
        """
        if (name is None) == (type is None):
            given = "not both" if name is not None else "and the slots it has"
            raise Invalid(f"name a lock or a type, {given}.", field="type" if name is not None else "name")
        if type is not None:
            kind = validation.text(type, "type")
            most = None if slots is None else validation.whole(slots, "slots", 1, locks.MAX_SLOTS)
            return await self.store.set_type_slots(self.project, kind, most)
        lock = validation.text(name, "name")
        locks.check_name(lock, "name")
        return await self.store.set_slots(self.project, lock, validation.whole(slots, "slots", 1, locks.MAX_SLOTS))

    async def type_slots(self) -> list[TypeSlots]:
        """The types of which only so many tasks may run at once, and how many do."""
        return await self.store.type_slots(self.project)

    async def _give(self, agent: str, budget: Any) -> None:
        """What an agent may cost, in USD; None: as before. How it is set otherwise stays."""
        if budget is None:
            return
        from dibs.rules import budgets

        scope = budgets.of_agent(agent)
        limit = budgets.parse_amount(budget, "budget", "usd")
        reserve, window = 0, None
        for known in await self.store.budgets(self.project):
            if (known.scope, known.unit) == (scope, "usd"):
                reserve, window = budgets.to_parts(known.default_reserve, "usd"), budgets.window_of(known)
        await self.store.set_budget(self.project, scope, "usd", limit, reserve, window)
