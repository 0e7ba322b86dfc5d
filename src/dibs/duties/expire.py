"""Take back what nobody renewed, and end what outlived its timeout."""

from __future__ import annotations

from dibs import settling
from dibs.duties.desk import BATCH, Desk
from dibs.errors import DibsError
from dibs.model.claim import Settled
from dibs.model.status import Status


async def expire(desk: Desk) -> int:
    """Settle up to a batch of attempts whose time is over; how many. A lease renewed meanwhile stands."""
    found = await desk.store.expired(BATCH)
    if not found:
        return 0
    settlements = [settling.expired(item, draw=desk.draw(), poison=desk.poison) for item in found]
    groups = set()
    for item, settlement in zip(found, settlements, strict=True):
        # What one agent held of a group it worked on as one.
        key = (item.claim.agent, item.claim.task.type, item.claim.task.coalesce_key)
        settlement.together = key[2] is not None and key in groups
        groups.add(key)
    answers = await desk.store.settle(settlements)
    if any(isinstance(answer, Settled) and answer.status == Status.DEAD_LETTERED for answer in answers):
        while await desk.store.spread():
            pass
    return sum(not isinstance(answer, DibsError) for answer in answers)
