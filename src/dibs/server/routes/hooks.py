"""Who is told when something happens; whoever changes a hook may say what they have seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.server.handling import router_of
from dibs.server.versions import edited, looked_at

if TYPE_CHECKING:
    from dibs.model.hook import Hook
    from dibs.server.desk import Asking


async def _hook(asking: Asking, given: dict[str, Any]) -> Hook:
    return await asking.queue.get_hook(given["name"])


router = router_of("hooks", {"get_hook": looked_at(_hook), "set_hook": edited(_hook)})
