"""Schedules; whoever changes one may say what they have seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.server.handling import router_of
from dibs.server.versions import edited, looked_at

if TYPE_CHECKING:
    from dibs.model.schedule import Schedule
    from dibs.server.desk import Asking


async def _schedule(asking: Asking, given: dict[str, Any]) -> Schedule:
    return await asking.queue.get_schedule(given["name"])


router = router_of(
    "schedules",
    {
        "get_schedule": looked_at(_schedule),
        "add_schedule": edited(_schedule),
        "remove_schedule": edited(_schedule),
    },
)
