"""Keep the order true: deadlines that came closer, graphs that grew, deadlines that passed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.duties.desk import Desk

STEPS = 1_000


async def rerank(desk: Desk) -> int:
    """Refresh what time changed, and mark what is overdue; how many tasks were touched."""
    moved = await desk.store.rerank(STEPS)
    late = await desk.store.overdue(STEPS)
    if late:
        while await desk.store.spread():
            pass
    return moved + len(late)
