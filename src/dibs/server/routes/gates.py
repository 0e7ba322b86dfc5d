"""What stops ready tasks; breakers and rates are changed by people who may say what they have seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dibs.errors import NotFound
from dibs.server.handling import in_their_name, router_of
from dibs.server.versions import edited, looked_at

if TYPE_CHECKING:
    from dibs.model.closures import Breaker
    from dibs.model.views import TypeRate
    from dibs.server.desk import Asking


async def _breaker(asking: Asking, given: dict[str, Any]) -> Breaker:
    for breaker in await asking.queue.breakers():
        if breaker.type == given["type"]:
            return breaker
    raise NotFound(f"The breaker of {given['type']} was not set and has counted nothing.", field="type")


async def _rate(asking: Asking, given: dict[str, Any]) -> TypeRate:
    for rate in await asking.queue.rates():
        if rate.type == given["type"]:
            return rate
    raise NotFound(f"There is no rate for {given['type']}.", field="type")


router = router_of(
    "gates",
    {
        "pause": in_their_name,
        "get_breaker": looked_at(_breaker),
        "set_breaker": edited(_breaker),
        "get_rate": looked_at(_rate),
        "set_rate": edited(_rate),
        "remove_rate": edited(_rate),
    },
)
