"""Looking after the store, for those who run the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.server.handling import router_of

if TYPE_CHECKING:
    from dibs.server.desk import Asking


async def ask_the_store(asking: Asking, **given: Any) -> Any:
    return await getattr(asking.queue.store, asking.verb.name)(**given)


router = router_of("upkeep", {"check": ask_the_store, "advise": ask_the_store})
