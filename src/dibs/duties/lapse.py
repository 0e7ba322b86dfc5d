"""Do not wait for people for ever."""

from __future__ import annotations

from dibs.duties.desk import BATCH, Desk


async def lapse(desk: Desk) -> int:
    """End up to a batch of questions that nobody answered in time, and what follows from that; how many."""
    lapsed = await desk.store.lapse(BATCH)
    if lapsed:
        while await desk.store.spread():
            pass
    return lapsed
