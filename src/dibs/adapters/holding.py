"""What an adapter's workers hold: claims by the id of their task, since the other designs' verbs know no fences.

A claim is remembered from the moment it was taken until it is settled. So `complete(task_id)` proves with the fence of
whoever took the task that it is still theirs, and is refused with LeaseLost once somebody else has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dibs.errors import Conflict, DibsError, LeaseLost, NotFound
from dibs.rules import validation
from dibs.stores.values import Renewal

if TYPE_CHECKING:
    from dibs.model.claim import Claim
    from dibs.queue import Queue
    from dibs.requests import Held


class Holdings:
    """The claims that were taken through one adapter and are not settled yet."""

    def __init__(self, queue: Queue, lease_s: float) -> None:
        self._queue = queue
        self._lease_s = lease_s
        self._claims: dict[str, Claim] = {}

    def remember(self, claim: Claim) -> None:
        self._claims[claim.task.id] = claim

    def forget(self, task_id: str) -> None:
        self._claims.pop(task_id, None)

    def find(self, task_id: str) -> Claim | None:
        return self._claims.get(task_id)

    def proof(self, task_id: str, fence: int | None) -> Held:
        """The claim of this task; with `fence`, the one that another process took."""
        if fence is not None:
            return task_id, validation.whole(fence, "fence", 0, 2**63 - 1)
        return self.of(task_id)

    def of(self, task_id: str) -> Claim:
        """The claim of this task. Raises LeaseLost if there is none here."""
        claim = self._claims.get(task_id)
        if claim is None:
            raise LeaseLost(
                f"Task {task_id} was not dequeued here, or is settled already; whoever dequeued it passes its fence.",
                field="task_id",
            )
        return claim

    async def renew(self, agent: str) -> list[str]:
        """Extend every lease of this agent in one call. The ids of those it must stop: they are no longer its own."""
        mine = [claim for claim in self._claims.values() if claim.agent == agent]
        if not mine:
            return []
        renewals = [Renewal(task_id=claim.task.id, fence=claim.fence, lease_s=self._lease_s) for claim in mine]
        stop = []
        for claim, answer in zip(mine, await self._queue.renew_many(renewals), strict=True):
            if isinstance(answer, DibsError) or answer.cancel:
                self.forget(claim.task.id)
                stop.append(claim.task.id)
        return stop

    async def give_back(self, agent: str) -> list[str]:
        """Release all that this agent holds, unharmed. The ids of those that were still its own."""
        released = []
        for claim in [claim for claim in self._claims.values() if claim.agent == agent]:
            try:
                await self._queue.release(claim)
            except (Conflict, NotFound):
                pass  # It was taken away or cancelled meanwhile.
            else:
                released.append(claim.task.id)
            self.forget(claim.task.id)
        return released


def lease_of(lease_ms: object) -> float:
    """A lease in milliseconds, in seconds."""
    return milliseconds(lease_ms, "lease_ms", validation.MIN_LEASE_S, validation.MAX_LEASE_S)


def milliseconds(value: object, field: str, low_s: float, high_s: float) -> float:
    """A whole number of milliseconds, in seconds."""
    return validation.whole(value, field, int(low_s * 1000), int(high_s * 1000)) / 1000


def text_id(value: object, field: str) -> str:
    """An id as text: the other designs use UUIDs."""
    from uuid import UUID

    return validation.text(str(value) if isinstance(value, UUID) else value, field)
