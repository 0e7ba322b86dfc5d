"""Look after agents: who has not been heard of, and who is done with what it held."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dibs.duties.desk import Desk


async def watch(desk: Desk) -> int:
    """Mark who is lost, and who has drained; how many."""
    return await desk.store.watch_agents()
