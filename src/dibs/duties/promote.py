"""Make ready what was scheduled for now, or whose backoff is over."""

from __future__ import annotations

from dibs.duties.desk import BATCH, Desk


async def promote(desk: Desk) -> int:
    """Promote all that is due, a batch at a time; how many."""
    promoted = 0
    while count := await desk.store.promote(BATCH):
        promoted += count
        if count < BATCH:
            break
    return promoted
