"""Which project things are in, remembered.

Where a task is at home never changes, so what was seen once is remembered, and so is what a claim handed out: ending
that needs no look at the store.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

from dibs.errors import Denied
from dibs.rules import access

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dibs.model.claim import Claim
    from dibs.rules.access import Rights
    from dibs.stores.contract import Store

MOST_KNOWN = 200_000
"""Ids, and claims, that are remembered; after that it begins anew."""
MOST_STRETCHES = 1_000


class Stretches:
    """Where in the events there is nothing of a project: what was read once in vain is not read again by anybody, from
    whatever place they begin."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[int] = []

    def past(self, after: int) -> int:
        """The number up to which nothing comes after this one."""
        place = bisect_right(self._begins, after) - 1
        return max(after, self._ends[place]) if place >= 0 and after <= self._ends[place] else after

    def add(self, begin: int, end: int) -> None:
        """No number above `begin`, up to `end`, is of the project."""
        if end <= begin:
            return
        first, last = bisect_left(self._ends, begin), bisect_right(self._begins, end)
        if first < last:
            begin, end = min(begin, self._begins[first]), max(end, self._ends[last - 1])
        self._begins[first:last], self._ends[first:last] = [begin], [end]
        if len(self._begins) > MOST_STRETCHES:
            self.forget()

    def forget(self) -> None:
        """Begin anew."""
        self._begins.clear()
        self._ends.clear()


class Homes:
    """Which project things are in, and which agent got which claim: what all callers of a process have seen."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._homes: dict[str, str] = {}
        self._holders: dict[tuple[str, int], str] = {}
        self._bytes: set[tuple[str, str]] = set()
        self._silent: dict[str, Stretches] = {}

    def silent(self, project: str) -> Stretches:
        """Where nothing happened in this project."""
        if len(self._silent) >= MOST_STRETCHES:
            self._silent.clear()
        return self._silent.setdefault(project, Stretches())

    def learn(self, id: str, project: str) -> None:
        """This is at home there."""
        if len(self._homes) >= MOST_KNOWN:
            self._homes.clear()
        self._homes[id] = project

    def learn_claims(self, claims: Iterable[Claim]) -> None:
        """These were handed out."""
        for claim in claims:
            if len(self._holders) >= MOST_KNOWN:
                self._holders.clear()
            self.learn(claim.task.id, claim.task.project)
            self._holders[claim.task.id, claim.fence] = claim.agent
            self.learn_claims(claim.group)

    @staticmethod
    def check_operators(project: str) -> None:
        """What is of all projects is for those who see to all."""
        if project != access.OPERATORS:
            raise Denied(f"Only those of the project {access.OPERATORS} see to the store as a whole.", field="project")

    def is_known(self, rights: Rights, task_id: str, fence: int) -> bool:
        """Whether this claim is the caller's, as far as was seen here: the usual case, and the quickest."""
        if self._homes.get(task_id) != rights.project:
            return False
        return rights.agent is None or access.acts_as(rights, self._holders.get((task_id, fence)))

    def learn_bytes(self, project: str, digests: Iterable[str]) -> None:
        """Somebody of this project brought these, or was told of them."""
        if len(self._bytes) >= MOST_KNOWN:
            self._bytes.clear()
        self._bytes.update((project, digest) for digest in digests)

    async def bytes_in(self, project: str, digests: Sequence[str]) -> set[str]:
        """Those of these that the project may know."""
        known = {digest for digest in digests if (project, digest) in self._bytes}
        rest = [digest for digest in digests if digest not in known]
        if rest:
            found = await self._store.kept_digests(rest, project)
            self.learn_bytes(project, found)
            known |= found
        return known

    async def of(self, ids: Iterable[str]) -> dict[str, str | None]:
        """The project of each of these tasks, dags and questions; None: nobody knows it."""
        wanted = list(dict.fromkeys(ids))
        new = [id for id in wanted if id not in self._homes]
        found = dict(zip(new, await self._store.projects(new), strict=True)) if new else {}
        for id, project in found.items():
            if project is not None:
                self.learn(id, project)
        return {id: found[id] if id in found else self._homes.get(id) for id in wanted}

    async def holder(self, task_id: str, fence: int) -> str | None:
        """The agent that got this claim; None if there was no such claim."""
        known = self._holders.get((task_id, fence))
        if known is not None:
            return known
        [task] = await self._store.get([task_id], listed=True)
        if task is None:
            return None
        if task.fence == fence and task.agent is not None:
            return task.agent
        attempts = await self._store.history(task_id)
        return next((attempt.agent for attempt in attempts if attempt.fence == fence), None)
