"""What attempts write down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.requests import get_task
from dibs.server import given as givens
from dibs.server.handling import router_of

if TYPE_CHECKING:
    from dibs.server.desk import Asking


async def journal(asking: Asking, task_id: str) -> list[dict[str, Any]]:
    found = await asking.queue.journal(task_id)
    if not found:
        await get_task(asking.queue.store, task_id, listed=True)
    return givens.lines(found)


async def record(asking: Asking, task_id: str, fence: Any, entries: Any) -> list[dict[str, Any]]:
    held = asking.claim_of(task_id, fence)
    return givens.lines(await asking.queue.record(held, givens.entries(entries)))


router = router_of("journal", {"journal": journal, "record": record})
