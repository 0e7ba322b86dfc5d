"""How a parent hears of the end of its children. `Queue` has the verb; it is written here.

Nothing is sent, so nothing can be missed: a child that has ended has ended, and whoever holds the parent asks. That it
was told is a line in the parent's journal, under the fence of the claim that was told: each claim hears of each end
once, also if several of its calls ask at the same time, and a claim that takes over from one that died hears of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dibs.errors import Unavailable
from dibs.model.status import FINAL
from dibs.requests import held
from dibs.stores.values import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dibs.model.heard import Heard
    from dibs.queue import Queue
    from dibs.requests import Held
    from dibs.stores.contract import Store

KIND = "step"
_DIGEST = "heard"


class Hearing:
    """How the work of a queue learns what became of what it made."""

    store: Store
    new_id: Callable[[str], str]
    _unsure: Mapping[str, bytes] = {}
    """What may have been noted as told although the store did not answer, by whose mark."""

    async def hear(self, claim: Held) -> list[Heard]:
        """Which of the tasks that this one spawned have ended since this claim last asked, with their outputs, in the
        order in which they were spawned. Each end is told once to a claim. Raises LeaseLost if there is something to
        tell and the claim has ended.
        """
        from msgspec.json import decode, encode

        task_id, fence = held(claim)
        queue = cast("Queue", self)
        entries = await queue.journal(task_id)
        spawned = [id for entry in entries if entry.kind == "spawn" for id in decode(entry.value, type=list[str])]
        if not spawned:
            return []
        prefix = f"{_DIGEST}:{fence}:"
        told = {entry.name: entry.value for entry in entries if entry.kind == KIND and entry.name.startswith(prefix)}
        # Of several that ask at once, the one whose mark is found tells.
        ours = encode(self.new_id("ear"))
        names = {}
        for task in await self.store.get(list(dict.fromkeys(spawned)), listed=True):
            # A child that was retried ends once more.
            if task is not None and task.status in FINAL:
                name = f"{prefix}{task.id}:{task.fence}"
                if name not in told or told[name] == self._unsure.get(name):
                    names[name] = task.id
        if not names:
            return []
        notes = [Entry(kind=KIND, name=name, digest=_DIGEST, value=ours) for name in names]
        ours_before = {name: self._unsure[name] for name in names if name in self._unsure}
        try:
            recorded = await queue.record(claim, notes)
            mine = zip(names.items(), recorded, strict=True)
            heard = await self._ends([id for (name, id), entry in mine if entry.value in (ours, ours_before.get(name))])
        except Unavailable:
            # Noted or not: it was not told yet.
            self._unsure = {**self._unsure, **dict.fromkeys(names, ours), **ours_before}
            raise
        self._unsure = {name: mark for name, mark in self._unsure.items() if name not in names}
        return heard

    async def _ends(self, ids: list[str]) -> list[Heard]:
        from dibs.model.heard import Heard

        found = [task for task in await self.store.get(ids) if task is not None]
        return [
            Heard(
                task_id=task.id,
                type=task.type,
                status=task.status,
                ref=task.ref,
                title=task.title,
                output=task.output,
                error=task.error,
                reason=task.reason,
            )
            for task in found
        ]
