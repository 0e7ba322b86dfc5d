"""Finish cascades that a crash cut short."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.duties.desk import Desk


async def spread(desk: Desk) -> int:
    """Cancel what must end because of something that ended; how many."""
    ended = 0
    while batch := await desk.store.spread():
        ended += len(batch)
    return ended
