"""Forget what ended long ago."""

from __future__ import annotations

from dibs.duties.desk import BATCH, Desk


async def prune(desk: Desk) -> int:
    """Delete a batch of what retention no longer keeps; how many tasks."""
    return await desk.store.prune(desk.retention_s, BATCH)
