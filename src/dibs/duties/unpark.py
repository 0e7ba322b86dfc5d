"""See to those who wait for locks."""

from __future__ import annotations

from dibs.duties.desk import BATCH, Desk


async def unpark(desk: Desk) -> int:
    """What was passed over for long gets its turn; how many were forgotten on an open lock, which should be none."""
    return await desk.store.unpark(BATCH)
